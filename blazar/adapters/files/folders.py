"""Where everything lies (D1). Reads the environment it is given, creates folders only when asked."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from blazar.domain import teaching
from blazar.domain.errors import BadConfig


@dataclass(frozen=True, slots=True)
class Folders:
    """The configuration file and the data folder with its parts. `named`: the user said which file, so it has to be there."""

    config_file: Path
    data: Path
    named: bool = False

    @property
    def database(self) -> Path:
        return self.data / "blazar.db"

    @property
    def saved(self) -> Path:
        """What clients had kept: responses, completions, batches."""
        return self.data / "saved.db"

    @property
    def files(self) -> Path:
        """Files that clients sent, as they came."""
        return self.data / "files"

    @property
    def blobs(self) -> Path:
        """Weights that clients sent and that are to become models."""
        return self.data / "blobs"

    @property
    def overlays(self) -> Path:
        """What was said on top of models when they were created, a file a model."""
        return self.data / "overlays"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def engines(self) -> Path:
        return self.data / "engines"

    @property
    def manifests(self) -> Path:
        """What builds can be told, as their `--help` said it; no build's tag begins with a dot."""
        return self.engines / ".manifests"

    @property
    def downloads(self) -> Path:
        """Files on their way; what is incomplete stays for the next try."""
        return self.data / "downloads"

    @property
    def placing(self) -> Path:
        """Notes of models that are being entered; there only meanwhile."""
        return self.data / "placing"

    @property
    def run(self) -> Path:
        return self.data / "run"

    @property
    def log(self) -> Path:
        return self.data / "log"

    @property
    def sessions(self) -> Path:
        """Conversations as engines saved them."""
        return self.data / "sessions"

    @property
    def speccache(self) -> Path:
        """What was learnt to guess tokens by, a file a model."""
        return self.data / "speccache"

    def check_config(self) -> None:
        """Raise `BadConfig` for a file that was named and is not there: defaults in its place would go unnoticed."""
        if self.named and not self.config_file.exists():
            raise BadConfig([teaching.config_named_absent(str(self.config_file))])

    def ensure(self) -> "Folders":
        """Create what is missing; `run` holds secrets, `sessions` and `files` what people wrote: they are for the owner alone."""
        for folder in (self.data, self.models, self.engines, self.log, self.speccache):
            folder.mkdir(parents=True, exist_ok=True)
        for private in (self.run, self.sessions, self.files):
            private.mkdir(mode=0o700, exist_ok=True)
        return self


def folders_from(env: Mapping[str, str], config: str | None = None) -> Folders:
    """`$XDG_*_HOME`, else below `$HOME`, else the current folder with a loud warning on stderr, never silently."""
    home = env.get("HOME", "")
    config_home, data_home = env.get("XDG_CONFIG_HOME", ""), env.get("XDG_DATA_HOME", "")
    if not home and not (config_home and data_home):
        print(teaching.home_missing(str(Path.cwd())), file=sys.stderr)
    base = Path(home) if home else Path.cwd()
    config_root = Path(config_home) if config_home else base / ".config"
    data_root = Path(data_home) if data_home else base / ".local" / "share"
    file = Path(config) if config else config_root / "blazar" / "config.toml"
    return Folders(file.absolute(), (data_root / "blazar").absolute(), named=bool(config))
