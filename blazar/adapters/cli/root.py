"""What the verbs need of the program around them. Composition builds it; verbs receive it and touch only what they use."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from blazar.adapters.cli.client import DaemonClient
    from blazar.adapters.cli.locate import Target
    from blazar.application.engines.build_engine import Order, Told
    from blazar.application.engines.build_release import Wish as BuildWish
    from blazar.application.engines.check_currency import Currency
    from blazar.application.engines.install_lane import Offers, Wish
    from blazar.application.engines.install_release import Installed
    from blazar.application.engines.install_release import Told as Fetched
    from blazar.application.engines.remove_engine import Removed
    from blazar.application.engines.update_engine import Update
    from blazar.application.engines.update_venv import VenvUpdate
    from blazar.application.models.pulling import Pulled
    from blazar.application.models.pulling import Told as PullTold
    from blazar.application.ports.processes import Processes
    from blazar.application.ports.venvs import Say
    from blazar.domain.kinds import EngineKind
    from blazar.domain.overlay import Overlay
    from blazar.domain.records import Engine, Model
    from blazar.domain.search import Hit

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

    def survey(self) -> "Sequence[tuple[Model, str, str]]":
        """The same, each with whether it fits here, about, and the kind of engine that would serve it; "" where nobody can say."""
        ...

    def add(self, path: str, name: str | None, parts: Sequence[tuple[str, str]] = ()) -> "tuple[Model, bool]":
        """Import a file, a set or a folder; the row, and whether it was that very model already. `parts`: role and path."""
        ...

    def show(self, name: str, *, verbose: bool) -> dict[str, Any]:
        """What is known about it, ready for JSON."""
        ...

    def projector(self, model: "Model") -> str:
        """The encoder for pictures that goes with its files, "" where there is none."""
        ...

    def unserved(self, model: "Model") -> str:
        """Why no engine here serves it, and what to do about that; "" where one does."""
        ...

    def remove(self, name: str) -> str:
        """The name of the row that went."""
        ...

    def copy(self, source: str, target: str) -> "Model":
        """The second row."""
        ...

    def pull(
        self, reference: str, name: str, parts: Sequence[tuple[str, str]], draft: str, *, told: "PullTold"
    ) -> "Pulled":
        """Fetch what a registry has, and enter it. `told` hears each step."""
        ...

    def create(self, name: str, overlay: "Overlay", *, fresh: bool) -> None:
        """A model on the weights of `overlay.base`. `fresh`: nothing of what lies over that is taken over."""
        ...


class Pruning(NamedTuple):
    """Builds that an install pushed out, why others are still there, and how many are kept."""

    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    keep: int = 0


class Engines(Protocol):
    """The builds of this data folder."""

    single: str
    """The build that serves everything, as of the last listing; empty but in manual mode."""
    trouble: str
    """Why the last listing lacks the engine that BLAZAR_ENGINE_PATH names; empty where it does not."""

    def list(self) -> "list[Engine]":
        """Active first within a kind."""
        ...

    def flaw(self, engine: "Engine") -> str:
        """What keeps it from running, as far as its files tell."""
        ...

    def install(self, file: str, sha256: str | None, tag: str | None, kind: "EngineKind") -> "Engine":
        """Unpack and enter a release archive."""
        ...

    def build(self, order: "Order", told: "Told") -> "Engine":
        """Make one from source and enter it."""
        ...

    def build_release(self, wish: "BuildWish", fetched: "Fetched", told: "Fetched") -> "Engine":
        """Fetch a release's own source, make a build of it and enter that."""
        ...

    def release_in(self, name: str) -> str | None:
        """The release that a file's name speaks of."""
        ...

    def fetch(
        self, kind: "EngineKind", tag: str | None, asset: str | None, sha256: str | None, told: "Fetched"
    ) -> "Installed":
        """Download and enter a release: of that tag, else what the channel has."""
        ...

    def update(self, kind: "EngineKind", told: "Fetched", say: Callable[[str], None], *, gate: bool) -> "Update":
        """Bring the active build up to what its channel has. `say` gets what takes long besides."""
        ...

    def check(self) -> "tuple[Currency, ...]":
        """Look for newer builds; install nothing."""
        ...

    def prune(self, fresh: "Engine") -> "Pruning":
        """Delete what is older than the builds that `keep_tags` keeps; `fresh` was just installed."""
        ...

    def use(self, tag: str) -> "Engine":
        """Make it the active one."""
        ...

    def rollback(self, kind: "EngineKind") -> "Engine":
        """Make the one active that was it before."""
        ...

    def pin(self, tag: str, *, pinned: bool) -> "Engine":
        """Hold it as it is, or let go."""
        ...

    def remove(self, tag: str) -> "Removed":
        """Row and folder."""
        ...

    @property
    def lanes(self) -> "Lanes":
        """What is installed from elsewhere than an archive."""
        ...


class Lanes(Protocol):
    """Engines that are no archive of a release: Python packages, and forks at one commit."""

    def available(self) -> "Offers":
        """What the capability registry lists."""
        ...

    def lane(self, name: str, wish: "Wish", told: "Fetched") -> "Engine":
        """Install one of these."""
        ...

    def fork(self, text: str, architectures: Sequence[str], wish: "Wish", told: "Fetched") -> "Engine":
        """Install a person's own, pinned."""
        ...

    def venv(self, kind: "EngineKind", tag: str | None, backend: str | None, say: "Say") -> "Engine":
        """Install a Python package in an environment of its own."""
        ...

    def update_venv(self, kind: "EngineKind", say: "Say") -> "VenvUpdate":
        """Its newest version beside it, and active."""
        ...


class Changed(NamedTuple):
    """What became of one key. `value` and `before`: what holds and held, secrets hidden; `toml`, `was`: the same as in the file.

    `changed`: the file had to be written; `shadow`: a variable of this shell that wins; `restart`: only a new daemon reads it;
    `warnings`: what should be known since.
    """

    key: str
    value: Any
    before: Any
    toml: str
    was: str
    changed: bool
    shadow: str
    restart: bool
    warnings: Sequence[str] = ()


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

    def change(self, wishes: Sequence[tuple[str, Sequence[str]]]) -> Sequence[Changed]:
        """Have the file say all of it, each a key with the words for its value, or nothing of it; raises for what it cannot say."""
        ...

    def unset(self, keys: Sequence[str]) -> Sequence[Changed]:
        """Have the file say nothing about them."""
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


class ApiKeys(Protocol):
    """The keys in the configuration file, for whoever may write it; rows as the gateway shows them."""

    def rows(self) -> list[dict[str, Any]]:
        """All of them, without their secrets."""
        ...

    def add(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A new one, with its secret."""
        ...

    def rotate(self, name: str) -> dict[str, Any]:
        """A new secret for one, and that."""
        ...

    def remove(self, name: str) -> str:
        """The name of the one that went."""
        ...

    def usage(self, name: str, days: int) -> list[dict[str, Any]]:
        """What one used on its last days, as far as it is written down."""
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

    @property
    def keys(self) -> ApiKeys: ...

    def fit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The body of POST /api/fit answered here, without a daemon."""
        ...

    def search(self, word: str, limit: int) -> "Sequence[Hit]":
        """Models elsewhere by a word, most downloaded first, each with what to take of it here."""
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

    def start_warnings(self, host: str | None, config: str | None) -> Sequence[str]:
        """What a daemon that was started like this says in its log alone, and should be known."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...
