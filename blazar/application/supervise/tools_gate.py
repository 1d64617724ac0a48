"""Whether a model's chat template has a place for tools. Reads headers, starts nothing; what cannot be known is not refused.

A template without one drops them without a word: the model answers as if none had been offered.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from blazar.application.ports.weights import WeightFiles
from blazar.domain.errors import BlazarError
from blazar.domain.kinds import Weights
from blazar.domain.launch import flags_of
from blazar.domain.records import Model

TEMPLATE: Final = "tokenizer.chat_template"
FOR_TOOLS: Final = TEMPLATE + ".tool_use"
"""A second template that the engine takes instead where tools are offered (common/chat.cpp)."""

_TOLD: Final = frozenset({"--chat-template", "--chat-template-file", "--no-jinja"})
"""A person's own words for a template; what stands behind them is not read here."""
_VARIABLES: Final = frozenset({"LLAMA_ARG_CHAT_TEMPLATE", "LLAMA_ARG_CHAT_TEMPLATE_FILE", "LLAMA_ARG_JINJA"})
_WORD: Final = "tool"


def toolless(model: Model, settings: Mapping[str, Any], files: WeightFiles) -> bool:
    """Whether tools would be lost on it, as it is served by llama.cpp."""
    if model.weights is not Weights.GGUF or _TOLD.intersection(flags_of(settings["extra_args"])):
        return False
    if settings["chat_template_file"] or _VARIABLES & settings["engine_env"].keys():
        return False
    if own := settings["chat_template"]:
        return "{" in own and _WORD not in own  # else the name of one that is built in
    with suppress(BlazarError):
        header = files.metadata(model.files[0])
        return FOR_TOOLS not in header and _WORD not in str(header.get(TEMPLATE, ""))
    return False
