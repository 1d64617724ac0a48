"""Tables of the file that are more than a value: API keys, and what an override may say beside the per-model keys."""

from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from blazar.application.config.knob import Keys, Words
from blazar.domain import teaching


class ApiKey(Keys):
    """One `[[keys]]` entry. As soon as there is one, every request needs a key."""

    name: Annotated[str, Field(min_length=1)]
    """What the key is called in logs and listings."""
    key: Annotated[str, Field(min_length=1, repr=False)]
    """The secret that a client sends."""
    models: Words = ()
    """Models that this key may use; empty: all of them, and management."""


def _unique(keys: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
    names, secrets = [key.name for key in keys], [key.key for key in keys]
    for index, key in enumerate(keys):
        if key.name in names[:index] or key.key in secrets[:index]:
            # The secret is not repeated: the name is enough to find it.
            raise PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants("unique", key.name)})
    return keys


class TableKeys(Keys):
    """Entries that repeat."""

    title: ClassVar[str] = "Tables"

    keys: Annotated[tuple[ApiKey, ...], Strict(strict=False), AfterValidator(_unique)] = ()
    """API keys, one `[[keys]]` table each. Without any the gateway is open and refuses management."""


class OverrideOnly(Keys):
    """What only an override can say (D26); the per-model keys join it in `model.py`."""

    ctx: Annotated[int, Field(ge=256)] | None = None
    """Context window of one request in tokens, instead of default_ctx."""
    pin: bool = False
    """Never unload this model to make room for another."""
    engine: str = ""
    """Engine build (a tag) or kind that serves this model, whatever is active."""
    extra_args: Words = ()
    """Words added to the engine's command line in this order; the engine must know each flag, and its last one wins."""
    embeddings: bool | None = None
    """Serve it as an embedding model (mean pooling), or not, whatever its metadata says."""
    chat_template: str | None = None
    """Chat template, instead of the one in the model file."""
    chat_template_file: str | None = None
    """File with the chat template."""

    @model_validator(mode="after")
    def _one_template(self) -> Self:
        if self.chat_template is not None and self.chat_template_file is not None:
            why = teaching.config_wants("exclusive", "chat_template_file")
            raise PydanticCustomError("blazar", "{why}", {"why": why})
        return self
