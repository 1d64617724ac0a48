"""What the verbs need of the program around them. Composition builds it; verbs receive it and touch only what they use."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from blazar.adapters.cli.client import DaemonClient
    from blazar.adapters.cli.locate import Target
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

    def add(self, path: str, name: str | None) -> "Model":
        """Import a file or shard set."""
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

    def defaults(self) -> str:
        """A configuration file that says what holds anyway."""
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

    def diagnose(self) -> dict[str, Any]:
        """What `doctor` finds without a daemon."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...
