"""Keys of how a model's thinking is read and bounded."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from blazar.application.config.knob import LARGEST, Keys, Knob


class ReasoningKeys(Keys):
    """Thinking: its format, its effort and its budget."""

    title: ClassVar[str] = "Reasoning"
    group: ClassVar[str] = "reasoning"

    reasoning: Annotated[Literal["", "on", "off", "auto"], Knob(per_model=True)] = ""
    """Whether models think before they answer; auto: as their template says."""
    reasoning_format: Literal["", "none", "deepseek", "deepseek-legacy"] = ""
    """How thinking is told from the answer: left in the text, moved to reasoning_content, or both."""
    reasoning_effort: Annotated[
        Literal["", "minimal", "low", "medium", "high", "xhigh", "max"], Knob(per_model=True)
    ] = ""
    """How much models think in chats, handed to their template; a request's own wins."""
    reasoning_budget: Annotated[int, Field(ge=-1, le=LARGEST), Knob(per_model=True)] = -1
    """Most tokens of thinking; -1: no limit, 0: none."""
    reasoning_budget_message: str = ""
    """What a model is made to think when its budget is spent."""
