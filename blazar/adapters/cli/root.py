"""What the verbs need of the program around them. Composition builds it; verbs receive it and touch only what they use."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from blazar.adapters.cli.client import DaemonClient
    from blazar.adapters.cli.locate import Target
    from blazar.application.ports.processes import Processes
    from blazar.domain.records import Engine, Model

Verb = Callable[[argparse.Namespace, "Root"], int]


class Places(Protocol):
    """The folders that verbs look into."""

    @property
    def config_file(self) -> Path: ...

    @property
    def data(self) -> Path: ...

    @property
    def run(self) -> Path: ...


class Models(Protocol):
    """The catalog of this data folder, without a daemon."""

    def list(self) -> "list[Model]":
        """All rows, by name."""
        ...

    def add(self, path: str, name: str | None) -> "tuple[Model, bool]":
        """Import a file or shard set; the row, and whether it was that very file already."""
        ...

    def show(self, name: str, *, verbose: bool) -> dict[str, Any]:
        """What is known about it, ready for JSON."""
        ...

    def remove(self, name: str) -> str:
        """The name of the row that went."""
        ...

    def copy(self, source: str, target: str) -> "Model":
        """The second row."""
        ...


class Engines(Protocol):
    """The builds of this data folder."""

    trouble: str
    """Why the last listing lacks the engine that BLAZAR_ENGINE_PATH names; empty where it does not."""

    def list(self) -> "list[Engine]":
        """Active first within a kind."""
        ...

    def install(self, file: str, sha256: str | None, tag: str | None) -> "Engine":
        """Unpack and enter a release archive."""
        ...

    def use(self, tag: str) -> "Engine":
        """Make it the active one."""
        ...

    def remove(self, tag: str) -> None:
        """Row and folder."""
        ...


class Changed(NamedTuple):
    """What became of one key. `value` and `before`: what holds and held, secrets hidden; `toml`, `was`: the same as in the file.

    `changed`: the file had to be written; `shadow`: a variable of this shell that wins; `restart`: only a new daemon reads it.
    """

    key: str
    value: Any
    before: Any
    toml: str
    was: str
    changed: bool
    shadow: str
    restart: bool


class Settings(Protocol):
    """The configuration as it is now."""

    def get(self, key: str) -> tuple[Any, str]:
        """A value, and how the file would spell it; raises for unknown keys."""
        ...

    def rows(self) -> Sequence[tuple[str, str, str]]:
        """(key, value as TOML, who says so) in the order of the documentation, secrets redacted."""
        ...

    def plain(self) -> dict[str, Any]:
        """Everything, ready for JSON, secrets redacted."""
        ...

    def warnings(self) -> Sequence[str]:
        """What is accepted and should be known all the same."""
        ...

    def defaults(self) -> str:
        """A configuration file that says what holds anyway."""
        ...

    def keys(self) -> Sequence[str]:
        """Every key, those of tables by their dotted names."""
        ...

    def schema(self) -> dict[str, Any]:
        """The file as JSON Schema."""
        ...

    def change(self, key: str, words: Sequence[str]) -> Changed:
        """Have the file say so; raises for what it cannot say."""
        ...

    def unset(self, key: str) -> Changed:
        """Have the file say nothing about it."""
        ...

    def migrate(self) -> Sequence[str] | None:
        """Rewrite what is written as it was once; names of the keys that moved, None where there was nothing to do."""
        ...

    def source(self) -> bytes:
        """The file as it is."""
        ...

    def check(self, data: bytes, path: str) -> None:
        """Raise everything that is wrong with these bytes, as if they stood at `path`."""
        ...

    def replace(self, before: bytes, after: bytes) -> bool:
        """Have the file be `after`; False, and nothing done, where it is not `before` any more."""
        ...


class Root(Protocol):
    """Everything is built on first use: `ps` must not pay for the catalog (D25)."""

    env: Mapping[str, str]

    @property
    def places(self) -> Places: ...

    @property
    def program(self) -> Sequence[str]:
        """The words that start this program once more."""
        ...

    @property
    def processes(self) -> "Processes":
        """What runs on this machine: whether a daemon's note is still true, and how it is stopped."""
        ...

    def target(self) -> "Target":
        """Which daemon is meant, looked up now."""
        ...

    def client(self) -> "DaemonClient":
        """A client of that daemon."""
        ...

    def serve(self, args: argparse.Namespace) -> int:
        """Be the daemon until it is told to stop; the exit code."""
        ...

    @property
    def models(self) -> Models: ...

    @property
    def engines(self) -> Engines: ...

    @property
    def settings(self) -> Settings: ...

    def fit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The body of POST /api/fit answered here, without a daemon."""
        ...

    def diagnose(self) -> dict[str, Any]:
        """What `doctor` finds without a daemon."""
        ...

    def remarks(self) -> dict[str, list[dict[str, Any]]]:
        """Rows that `doctor` adds to a daemon's report, by section: about what was named here, by option or environment."""
        ...

    def check_start(self, config: str | None) -> None:
        """Raise what would keep a daemon with this configuration file from starting."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...
