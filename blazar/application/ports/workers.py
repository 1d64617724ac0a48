"""Workers on other machines whose devices an engine computes on, asked whether they are there."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol


class State(Enum):
    """What became of the question."""

    SERVES = "it said which version of the protocol it speaks"
    SILENT = "nothing in time: it serves one engine at a time, or its machine is switched off"
    STRANGE = "it said what no worker says"
    ABSENT = "no connection"


class Worker(NamedTuple):
    """One of them. `why` is the system's word for a missing connection, `version` what a serving one speaks."""

    endpoint: str  # host:port, as it was asked for
    state: State
    why: str = ""
    version: str = ""


class Workers(Protocol):
    """Asks workers of ggml's RPC."""

    async def ask(self, endpoints: Sequence[str]) -> tuple[Worker, ...]:
        """In their order, all at the same time, bounded by seconds. Never raises on account of the network; keeps no connection."""
        ...
