"""What an engine kind is: a record. Its oddities are fields with a reason, not branches in the code that runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from blazar.application.ports.children import Buffer
from blazar.domain.argv import Flag
from blazar.domain.kinds import EngineKind


class MemoryLog(Protocol):
    """Hears a log in pieces and knows what was allocated."""

    @property
    def buffers(self) -> tuple[Buffer, ...]: ...

    def feed(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One upstream project: how its server is told things, and how it says that it is ready.

    Satisfies `ports.drivers.Driver` by shape only: inheriting its properties would make them this record's defaults.

    `server` is the program's file name inside an archive. `health` answers 200 once the model is loaded, `models` lists the
    served alias. The endpoint flags are spelled here because only the process adapter knows port and key file.
    `port_taken` is what it prints when its port is in use; `scrubbed` are prefixes of inherited variables that would
    change its settings behind our back (D30); `reserved` are flags that a person may not add. `memory_log` makes the reader
    of what its log says about memory, where it says anything.
    """

    kind: EngineKind
    flags: tuple[Flag, ...]
    server: str
    load_cap_secs: float = 180.0
    health: bytes = b"/health"
    models: bytes = b"/v1/models"
    host_flag: str = "--host"
    port_flag: str = "--port"
    key_file_flag: str = "--api-key-file"
    port_taken: str = ""
    scrubbed: tuple[str, ...] = ()
    reserved: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    memory_log: Callable[[], MemoryLog] | None = None
