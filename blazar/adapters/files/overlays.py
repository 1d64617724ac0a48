"""Overlays on disk: a small JSON file a model, and the keys that they mean in config.toml. Knows nothing of what is in either."""

import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from blazar.adapters.files.configfile import WORLD, change_config, check_change, check_config_writable, read_text
from blazar.adapters.files.kept import translated, try_writing
from blazar.adapters.files.overlay_notes import Noted, note_at, noted_in, overlay_in, path_of, spelled
from blazar.application.config.dotted import value_at
from blazar.application.config.edit import set_value, unset_value
from blazar.application.config.layers import load_config
from blazar.application.config.problems import read_toml
from blazar.application.ports.overlays import Overlays
from blazar.domain import teaching
from blazar.domain.errors import BlazarError
from blazar.domain.overlay import OWNED, Overlay

TABLE = "model_overrides"


class DiskOverlays(Overlays):
    """`folder` is made when the first is kept."""

    def __init__(self, folder: Path, config_file: Path) -> None:
        self._folder, self._config_file = folder, config_file
        self._changing = Lock()  # or two creations of one name leave the note of the one and the keys of the other

    def find(self, name: str) -> Overlay | None:
        return overlay_in(self._folder, name)

    def keep(self, name: str, overlay: Overlay, settings: Mapping[str, Any], *, instead: bool = False) -> None:
        with self._changing:
            if instead:
                self._keep(Noted(name, overlay, dict(settings)), more={})
            else:
                self._keep(Noted(name, overlay, dict(settings), copied=self._copied(name)))

    def renew(self, name: str, overlay: Overlay, settings: Mapping[str, Any]) -> tuple[str, ...]:
        with self._changing:
            found = self._read(name)
            before = found or Noted(name, overlay, {})
            now = self._stands(name)
            out = {key for key in settings if before.taken_out(key, now[key])}
            kept = {key for key in settings if now[key] is not None and not before.wrote(key, now[key])}
            told = Noted(name, overlay, dict(settings), tuple(sorted(kept)), copied=before.copied)
            self._keep(told, left=kept | out)
            return tuple(key for key in settings if key in kept | out and now[key] != settings[key])

    def _stands(self, name: str) -> dict[str, Any]:
        """What the override says now of what overlays write."""
        override = self._override(name)
        return {key: override.get(key) for key in OWNED}

    def _override(self, name: str) -> dict[str, Any]:
        """All of it; a file that cannot be read is refused when it is to be changed."""
        with suppress(BlazarError):
            return self._said(name)
        return {}

    def _said(self, name: str) -> dict[str, Any]:
        """The same; raises `BadConfig` where nobody can tell what it is."""
        raw = read_toml(read_text(self._config_file), str(self._config_file))
        found = value_at(raw, (TABLE, name))
        return dict(found) if isinstance(found, Mapping) else {}

    def _copied(self, name: str) -> Mapping[str, Any]:
        found = self._read(name)
        return found.copied if found is not None else {}

    def _keep(self, told: Noted, left: Collection[str] = (), more: Mapping[str, Any] | None = None) -> None:
        """`left` are keys that stay as they are; with `more`, which is written beside the settings, nothing of the note before stays."""
        name, settings = told.name, told.settings
        before = self._read(name)
        gone = self._gone(name, settings) if more is None or before is None else self._forgotten(before)
        stood = self._override(name)
        was = {} if before is None else before.earlier(stood)

        def edit(text: str) -> str:
            text = gone(text)
            said = {key: value for key, value in settings.items() if key not in left}
            for key, value in {**said, **(more or {})}.items():
                text = set_value(text, (TABLE, name, key), value)
            return text

        # The note comes first: whatever stands in the configuration without one would never be taken away again.
        path = self._path(name)
        with translated(path, teaching.overlay_trouble):
            old = path.read_bytes() if path.exists() else b""
            self._write(path, spelled(told._replace(was=was)))
        with ExitStack() as undo:
            undo.callback(self._put_back, told, old, stood)
            change_config(self._config_file, edit)
            undo.pop_all()
        with suppress(OSError):  # what stands there means the same, and is looked at more closely
            self._write(path, spelled(told))

    def _put_back(self, told: Noted, old: bytes, stood: Mapping[str, Any]) -> None:
        """The note before; where the configuration has been written nevertheless, the new one says which of it is ours."""
        if self._override(told.name) == stood:
            path = self._path(told.name)
            with translated(path, teaching.overlay_trouble):
                self._write(path, old)

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
        with self._changing:
            found, says, theirs = self._read(source), self._said(source), self._theirs(target)
            if found is None and not says:
                self._forget(target)
                return
            found = found or Noted(source, Overlay(), {})
            brought = {key: value for key, value in says.items() if key not in theirs}
            # As they are in the source: a value of the overlay's own is renewed in both, one of a person's in neither.
            same = {key for key in brought if found.wrote(key, brought[key])}
            kept = {key for key in found.settings if (key in brought and key not in same) or key in theirs}
            copied = {key: value for key, value in brought.items() if key not in same}
            told = Noted(target, found.overlay, found.settings, tuple(sorted(kept)), copied=copied)
            self._keep(told, left=found.settings.keys() - same, more=copied)

    def _theirs(self, name: str) -> dict[str, Any]:
        """What a person wrote into the override: without what an overlay did, or a copy."""
        note = self._read(name) or Noted(name, Overlay(), {})
        said = self._said(name).items()
        return {key: now for key, now in said if not note.wrote(key, now) and note.copied.get(key) != now}

    def files(self) -> set[str]:
        """What all overlays together name of the disk."""
        found: set[str] = set()
        for path in self._folder.glob("*.json"):
            if (note := note_at(path)) is not None:
                found.update(note.overlay.adapters)
        return found

    def check_writable(self, name: str) -> None:
        with translated(self._folder, teaching.overlay_trouble):
            try_writing(self._folder)
        if not self._said(name):  # a file that must not be written may say it already
            load_config(read_text(self._config_file), str(self._config_file), world=WORLD)
            check_config_writable(self._config_file)

    def check_forgettable(self, name: str) -> None:
        if (found := self._read(name)) is not None:
            check_change(self._config_file, self._forgotten(found))

    def forget(self, name: str) -> None:
        with self._changing:
            self._forget(name)

    def _forget(self, name: str) -> None:
        if (found := self._read(name)) is None:
            return
        change_config(self._config_file, self._forgotten(found))
        with translated(self._folder, teaching.overlay_trouble):
            self._path(name).unlink(missing_ok=True)

    def _forgotten(self, found: Noted) -> Callable[[str], str]:
        """The text without what came by that note."""
        gone = self._gone(found.name, {})
        return lambda text: _without(gone(text), found)

    def _read(self, name: str) -> Noted | None:
        return noted_in(self._folder, name)

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
        return path_of(self._folder, name)


def _without(text: str, note: Noted) -> str:
    """The text without what a copy took over of a person's own, as long as it is what was taken over."""
    for key, value in note.copied.items():
        if value_at(tomllib.loads(text), (TABLE, note.name, key)) == value:
            text = unset_value(text, (TABLE, note.name, key))
    return text
