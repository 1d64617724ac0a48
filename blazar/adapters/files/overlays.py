"""Overlays on disk: a small JSON file a model, and the keys that they mean in config.toml. Knows nothing of what is in either."""

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from blazar.adapters.files.configfile import change_config, read_text
from blazar.adapters.files.kept import translated
from blazar.application.config.dotted import value_at
from blazar.application.config.edit import set_value, unset_value
from blazar.application.ports.overlays import Overlays
from blazar.domain import teaching
from blazar.domain.errors import BlazarError
from blazar.domain.overlay import OWNED, Overlay

TABLE = "model_overrides"


class _Noted(NamedTuple):
    """`kept` are keys of `settings` in whose place a person's value stands.

    `was`, until the configuration has been written too, are the settings before: a process that died leaves either there.
    """

    name: str
    overlay: Overlay
    settings: dict[str, Any]
    kept: tuple[str, ...] = ()
    was: dict[str, Any] | None = None

    @property
    def written(self) -> dict[str, Any]:
        """What stands in the configuration by it."""
        return {key: value for key, value in self.settings.items() if key not in self.kept}

    def wrote(self, key: str, now: Any) -> bool:
        """Whether `now`, which stands there, is what the overlay wrote."""
        if self.was is not None and key in self.was and now == self.was[key]:
            return True
        return key in self.settings and key not in self.kept and now == self.settings[key]

    def taken_out(self, key: str, now: Any) -> bool:
        """Whether a person took away what the overlay wrote."""
        was_there = self.was is None or key in self.was
        return now is None and was_there and key in self.settings and key not in self.kept


class DiskOverlays(Overlays):
    """`folder` is made when the first is kept."""

    def __init__(self, folder: Path, config_file: Path) -> None:
        self._folder, self._config_file = folder, config_file
        self._changing = Lock()  # or two creations of one name leave the note of the one and the keys of the other

    def find(self, name: str) -> Overlay | None:
        found = self._read(name)
        return found.overlay if found is not None else None

    def keep(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> None:
        with self._changing:
            self._keep(_Noted(name, overlay, dict(settings)))

    def renew(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> tuple[str, ...]:
        with self._changing:
            found = self._read(name)
            before = found or _Noted(name, overlay, {})
            now = self._stands(name)
            out = {key for key in settings if before.taken_out(key, now[key])}
            kept = {key for key in settings if now[key] is not None and not before.wrote(key, now[key])}
            self._keep(_Noted(name, overlay, dict(settings), tuple(sorted(kept))), left=kept | out)
            return tuple(key for key in settings if key in kept | out and now[key] != settings[key])

    def _stands(self, name: str) -> dict[str, Any]:
        """What the override says now; a file that cannot be read is refused when it is to be changed."""
        raw: dict[str, Any] = {}
        with suppress(BlazarError, OSError, ValueError):
            raw = tomllib.loads(read_text(self._config_file))
        return {key: value_at(raw, (TABLE, name, key)) for key in OWNED}

    def _keep(self, told: _Noted, left: Collection[str] = ()) -> None:
        """`left` are keys that stay as they are."""
        name, settings = told.name, told.settings
        gone = self._gone(name, settings)
        before = self._read(name)
        was = {} if before is None else {**(before.was or {}), **before.written}

        def edit(text: str) -> str:
            text = gone(text)
            for key, value in settings.items():
                if key not in left:
                    text = set_value(text, (TABLE, name, key), value)
            return text

        # The note comes first: whatever stands in the configuration without one would never be taken away again.
        path = self._path(name)
        with translated(path, teaching.overlay_trouble):
            old = path.read_bytes() if path.exists() else b""
            self._write(path, _spelled(told._replace(was=was)))
        try:
            change_config(self._config_file, edit)
        except BlazarError:
            with translated(path, teaching.overlay_trouble):
                self._write(path, old)
            raise
        with translated(path, teaching.overlay_trouble):
            self._write(path, _spelled(told))

    def _gone(self, name: str, settings: Mapping[str, Any]) -> Callable[[str], str]:
        """The text without what the overlay before wrote and `settings` do not say; a person's own values stay."""
        before = self._read(name)

        def edit(text: str) -> str:
            raw = tomllib.loads(text)
            for key in OWNED:
                path = (TABLE, name, key)
                if before is not None and key not in settings and before.wrote(key, value_at(raw, path)):
                    text = unset_value(text, path)
            return text

        return edit

    def carry(self, source: str, target: str) -> None:
        if (found := self._read(source)) is not None:
            self.keep(target, found.overlay, found.settings)

    def files(self) -> set[str]:
        """What all overlays together name of the disk."""
        found: set[str] = set()
        for path in self._folder.glob("*.json"):
            if (note := _note(path)) is not None:
                found.update(note.overlay.adapters)
        return found

    def forget(self, name: str) -> None:
        with self._changing:
            self._forget(name)

    def _forget(self, name: str) -> None:
        if self._read(name) is None:
            return
        change_config(self._config_file, self._gone(name, {}))
        with translated(self._folder, teaching.overlay_trouble):
            self._path(name).unlink(missing_ok=True)

    def _read(self, name: str) -> _Noted | None:
        found = _note(self._path(name))
        return found if found is not None and found.name == name else None

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


def _spelled(told: _Noted) -> bytes:
    said = {**told._asdict(), "overlay": told.overlay._asdict()}
    return json.dumps(said, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _note(path: Path) -> _Noted | None:
    """Whose it is and what it says; None where it cannot be read."""
    try:
        note = json.loads(path.read_bytes())
        said = note["overlay"]
        said |= {"messages": tuple((role, text) for role, text in said["messages"])}
        said |= {field: tuple(said[field]) for field in ("license", "adapters")}
        was = note.get("was")
        kept = tuple(note.get("kept", ()))
        return _Noted(
            str(note["name"]), Overlay(**said), dict(note["settings"]), kept, None if was is None else dict(was)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
