"""What was laid over a model, as it is noted on disk: a JSON file each. Loads no part of the configuration, which it is no part of."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blazar.domain.overlay import Overlay


class Noted(NamedTuple):
    """`kept` are keys of `settings` in whose place a person's value stands. `copied` is what a copy took over of a person's own.

    `was`, until the configuration has been written too, are the settings before: a process that died leaves either there.
    """

    name: str
    overlay: Overlay
    settings: dict[str, Any]
    kept: tuple[str, ...] = ()
    was: dict[str, Any] | None = None
    copied: Mapping[str, Any] = {}

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

    def earlier(self, now: Mapping[str, Any]) -> dict[str, Any]:
        """What may stand there before the next overlay is written; `now` is what does stand there.

        A note that nobody finished says what was to be written, and nobody took out what never came.
        """
        if self.was is None:
            return self.written
        ours = {key for key, value in now.items() if self.wrote(key, value)}
        return {
            key: now[key] if key in ours else value
            for key, value in {**self.was, **self.written}.items()
            if key in self.was or key in ours
        }


def path_of(folder: Path, name: str) -> Path:
    """A name may hold slashes and be longer than a file's may be."""
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.json"


def noted_in(folder: Path, name: str) -> Noted | None:
    """That model's."""
    found = note_at(path_of(folder, name))
    return found if found is not None and found.name == name else None


def overlay_in(folder: Path, name: str) -> Overlay | None:
    """What lies over it; None of a copy that has a note for its settings alone."""
    found = noted_in(folder, name)
    return found.overlay if found is not None and (found.overlay.says or found.overlay.base) else None


def spelled(told: Noted) -> bytes:
    """What `note_at` reads."""
    said = {**told._asdict(), "overlay": told.overlay._asdict()}
    return json.dumps(said, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def note_at(path: Path) -> Noted | None:
    """Whose it is and what it says; None where it cannot be read."""
    try:
        note = json.loads(path.read_bytes())
        said = note["overlay"]
        said |= {"messages": tuple((role, text) for role, text in said["messages"])}
        said |= {field: tuple(said[field]) for field in ("license", "adapters")}
        was = note.get("was")
        kept = tuple(note.get("kept", ()))
        return Noted(
            str(note["name"]),
            Overlay(**said),
            dict(note["settings"]),
            kept,
            None if was is None else dict(was),
            dict(note.get("copied", {})),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
