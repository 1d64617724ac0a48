"""What an engine kind is: a record. Its oddities are fields with a reason, not branches in the code that runs it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from blazar.application.ports.children import Buffer
from blazar.domain.argv import Flag
from blazar.domain.child_metrics import Metrics
from blazar.domain.kinds import EngineKind
from blazar.domain.launch import Brief, Drafts, Resolved, as_configured
from blazar.domain.manners import LLAMACPP, Manners
from blazar.domain.told_paths import Paths


class MemoryLog(Protocol):
    """Hears a log in pieces and knows what was allocated."""

    @property
    def buffers(self) -> tuple[Buffer, ...]: ...

    def feed(self, text: str) -> None: ...


def nothing_drafted(_: Brief) -> Drafts:
    """Of a kind that does not speculate, or whose memory nobody counts."""
    return Drafts()


def nothing_guessed(_: Sequence[str]) -> bool:
    """Of a kind that does not guess, or tells the log probabilities of what it guessed."""
    return False


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One upstream project: how its server is told things, and how it says that it is ready.

    Satisfies `ports.drivers.Driver` by shape only: inheriting its properties would make them this record's defaults.

    `server` is the program's file name inside an archive, `starts` are words that follow it to make it serve; its answer to
    `--version` matches `versioned`, whose group is the version. `health` answers 200 once the model is loaded, `models` lists what
    `manners` say. Where `health` is no proof of that, `proof` is the smallest chat request: it is answered when the model is in.
    `failed` is what `health` answers when the load has failed and the process stays (0: it ends then). `props` tells how many
    requests at once it takes (`total_slots`), where it tells that. `alone`: it would share its
    port with another program instead of failing, so that it has to be looked at who listens there. The endpoint flags are spelled here because only the process adapter knows port and key file.
    `sockets`: what `host_flag` is told may be a file, whose name ends in `.sock`.
    `joins`: its parser takes `--flag=value` as well as two words. `repeats` are flags that may be said several times.
    `port_taken` is what it prints when its port is in use; `scrubbed` are prefixes of inherited variables that would
    change its settings behind our back (D30); `reserved` are flags that a person may not add, `because` has the reasons.
    `memory_log` makes the reader of what its log says about memory, where it says anything. `sleep_words` are in its log where it
    lets its memory go, and where it takes it back.

    `workers_flag` tells it of workers, and `paths` are flags whose words name files and folders: both are looked for before it starts.

    `metrics` are its names for what it counts.

    `resolve` turns what configuration leaves open into settings that `flags` read; `extra_keys` are settings with words of a
    person's own, the winning one last; `drafts` says who will guess tokens ahead (memory is planned with
    it), `guesses` whether a child with those words does so and has no log probabilities of such tokens.
    """

    kind: EngineKind
    flags: tuple[Flag, ...]
    server: str
    load_cap_secs: float = 180.0
    health: bytes = b"/health"
    models: bytes = b"/v1/models"
    props: bytes = b""
    host_flag: str = "--host"
    port_flag: str = "--port"
    key_file_flag: str = "--api-key-file"
    sockets: bool = False
    port_taken: str = ""
    scrubbed: tuple[str, ...] = ()
    reserved: frozenset[str] = frozenset()
    because: Mapping[str, str] = field(default_factory=dict, hash=False)
    joins: bool = False
    repeats: frozenset[str] = frozenset()
    memory_log: Callable[[], MemoryLog] | None = None
    sleep_words: tuple[str, str] = ("", "")
    resolve: Callable[[Brief], Resolved] = as_configured
    manners: Manners = LLAMACPP
    metrics: Metrics = Metrics()  # noqa: RUF009 - immutable
    failed: int = 0
    proof: bytes = b""
    alone: bool = False
    extra_keys: tuple[str, ...] = ("extra_args",)
    workers_flag: str = ""
    paths: Mapping[str, Paths] = field(default_factory=dict, hash=False)
    drafts: Callable[[Brief], Drafts] = nothing_drafted
    guesses: Callable[[Sequence[str]], bool] = nothing_guessed
    starts: tuple[str, ...] = ()
    versioned: str = r"^version:[ \t]*(\S.*)"
