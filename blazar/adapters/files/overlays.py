"""Overlays on disk: a small JSON file a model, and the keys that they mean in config.toml. Knows nothing of what is in either."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from blazar.adapters.files.configfile import change_config
from blazar.adapters.files.kept import translated
from blazar.application.config.edit import set_value, unset_value
from blazar.application.ports.overlays import Overlays
from blazar.domain.errors import BlazarError
from blazar.domain.overlay import OWNED, Overlay

TABLE = "model_overrides"


class DiskOverlays(Overlays):
    """`folder` is made when the first is kept."""

    def __init__(self, folder: Path, config_file: Path) -> None:
        self._folder, self._config_file = folder, config_file
        self._changing = Lock()  # or two creations of one name leave the note of the one and the keys of the other

    def find(self, name: str) -> Overlay | None:
        found = self._read(name)
        return found[0] if found is not None else None

    def keep(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> None:
        with self._changing:
            self._keep(name, overlay, settings)

    def _keep(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> None:
        before = OWNED if self.find(name) is not None else ()

        def edit(text: str) -> str:
            for key in before:
                if key not in settings:
                    text = unset_value(text, (TABLE, name, key))
            for key, value in settings.items():
                text = set_value(text, (TABLE, name, key), value)
            return text

        # The note comes first: whatever stands in the configuration without one would never be taken away again.
        path = self._path(name)
        with translated(path):
            old = path.read_bytes() if path.exists() else b""
            self._write(path, _spelled(name, overlay, settings))
        try:
            change_config(self._config_file, edit)
        except BlazarError:
            with translated(path):
                self._write(path, old)
            raise

    def carry(self, source: str, target: str) -> None:
        if (found := self._read(source)) is not None:
            self.keep(target, *found)

    def files(self) -> set[str]:
        """What all overlays together name of the disk."""
        found: set[str] = set()
        for path in self._folder.glob("*.json"):
            if (note := _note(path)) is not None:
                found.update(note[1].adapters)
        return found

    def forget(self, name: str) -> None:
        with self._changing:
            self._forget(name)

    def _forget(self, name: str) -> None:
        if self.find(name) is None:
            return

        def edit(text: str) -> str:
            for key in OWNED:
                text = unset_value(text, (TABLE, name, key))
            return text

        change_config(self._config_file, edit)
        with translated(self._folder):
            self._path(name).unlink(missing_ok=True)

    def _read(self, name: str) -> tuple[Overlay, dict[str, Any]] | None:
        found = _note(self._path(name))
        return found[1:] if found is not None and found[0] == name else None

    def _write(self, path: Path, note: bytes) -> None:
        """Whole or not at all; nothing leaves nothing."""
        if not note:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        draft.write_bytes(note)
        draft.replace(path)

    def _path(self, name: str) -> Path:
        """A name may hold slashes and be longer than a file's may be."""
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.json"


def _spelled(name: str, overlay: Overlay, settings: Mapping[str, Any]) -> bytes:
    told = {"name": name, "overlay": overlay._asdict(), "settings": dict(settings)}
    return json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _note(path: Path) -> tuple[str, Overlay, dict[str, Any]] | None:
    """Whose it is and what it says; None where it cannot be read."""
    try:
        note = json.loads(path.read_bytes())
        said = note["overlay"]
        said |= {"messages": tuple((role, text) for role, text in said["messages"])}
        said |= {field: tuple(said[field]) for field in ("license", "adapters")}
        return str(note["name"]), Overlay(**said), dict(note["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
