"""What is said about a pull: the wish, each step of it, and what came of it. No behaviour."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from blazar.domain.errors import BlazarError
from blazar.domain.records import Model

MANIFEST: Final = "pulling manifest"
FILE: Final = "pulling"
VERIFYING: Final = "verifying sha256 digest"
WRITING: Final = "writing manifest"
DONE: Final = "success"
"""Statuses of a pull, in ollama's words and order: clients match on them. `FILE` is followed by the first 12 digits of the digest."""


class Wish(NamedTuple):
    """`name` is what the catalog shall call it ("": what the reference says). `parts` are the other files of a diffusion set, by role.

    `draft` is a reference, "auto" for the one that is known to go with it, "" for none.
    """

    reference: str
    name: str = ""
    parts: tuple[tuple[str, str], ...] = ()
    draft: str = ""


class Step(NamedTuple):
    """One thing that happened. Bytes; `file` is what people call what `digest` is of. `note` is a sentence for the one who pulls."""

    status: str
    digest: str = ""
    total: int = 0
    completed: int = 0
    file: str = ""
    note: str = ""


class Pulled(NamedTuple):
    """`model` is None where what came is no model by itself (a LoRA adapter): `path` is where it lies then.

    `fresh` is False where everything was there already. `unserved` says why no engine here serves it, and what to do about that.
    """

    model: Model | None
    fresh: bool
    path: str = ""
    notes: tuple[str, ...] = ()
    unserved: str = ""


Told = Callable[[Step], None]
"""Called from one thread, some ten times a second at most."""


class OnePull(Protocol):
    """One pull: made for one wish, called once. Blocking: in a thread of its own. PullModel is one."""

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        """Have it; `told` hears each step."""
        ...

    def stop(self, why: BlazarError) -> None:
        """From any thread: whatever it does raises `why` within a second; what came is kept."""
        ...
