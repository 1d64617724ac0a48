"""Bodies and answers of the key routes, for the description: what is checked is checked by `domain.key_settings`."""

from typing import Annotated

from pydantic import Field

from blazar.adapters.http.schema.wire import Wire

Limit = Annotated[int, Field(ge=1)] | None


class KeySettings(Wire):
    """PATCH /api/keys/{name}. What is left out stays as it is; null takes a limit away."""

    models: list[str] | None = None
    """Models that it may use; none or an empty list: all of them, and management."""
    rpm: Limit = None
    """Requests per minute."""
    tpm: Limit = None
    """Tokens per minute, of prompts and answers."""
    daily_tokens: Limit = None
    """Tokens per UTC day, of prompts and answers."""
    max_concurrent: Limit = None
    """Requests at the same time, a stream counting until its end."""
    weight: Annotated[float, Field(gt=0)] | None = None
    """Share where several wait: twice the weight, twice the turns."""


class NewKey(KeySettings):
    """POST /api/keys. The secret is made here."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Letters, digits, `.`, `_` and `-`, the first a letter or a digit. Usage and limits follow it."""


class ApiKeyRow(Wire):
    """One API key. Its secret is not shown: of one of ours the last characters."""

    name: str
    key: str
    models: list[str]
    rpm: int | None
    tpm: int | None
    daily_tokens: int | None
    max_concurrent: int | None
    weight: float


class ApiKeyTold(ApiKeyRow):
    """The same with the whole secret in `key`, this once."""


class KeyList(Wire):
    """GET /api/keys."""

    keys: list[ApiKeyRow]


class KeyDeleted(Wire):
    """The name of the key that went."""

    deleted: str


class UsageDay(Wire):
    """One UTC day."""

    day: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class KeyUsage(Wire):
    """GET /api/keys/{name}/usage. Days without any use are left out; the newest stands first."""

    name: str
    days: list[UsageDay]
