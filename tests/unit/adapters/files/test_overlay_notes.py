"""Notes of what was laid over models."""

import subprocess
import sys
from pathlib import Path

import pytest

from blazar.adapters.files.overlay_notes import Noted, noted_in, overlay_in, path_of, spelled
from blazar.domain.overlay import Overlay

FULL = Overlay("b", "{{ messages }}", 'S"\n', {"stop": ["a"], "top_k": 1}, (("user", "u"),), ("MIT",), ("/a.gguf",))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """By its model's name, whatever characters it has; nothing is found of others."""
    told = Noted("org/m:tag", FULL, {"ctx": 1}, ("ctx",), {"ctx": 2}, {"pin": True})
    path_of(tmp_path, told.name).write_bytes(spelled(told))
    assert noted_in(tmp_path, "org/m:tag") == told
    assert overlay_in(tmp_path, "org/m:tag") == FULL
    assert noted_in(tmp_path, "org/m") is None
    path_of(tmp_path, told.name).rename(path_of(tmp_path, "other"))
    assert noted_in(tmp_path, "other") is None


def test_a_note_of_settings_alone_is_no_overlay(tmp_path: Path) -> None:
    """A copy has one of a model that nothing was laid over."""
    path_of(tmp_path, "m").write_bytes(spelled(Noted("m", Overlay(), {}, copied={"pin": True})))
    assert overlay_in(tmp_path, "m") is None
    assert noted_in(tmp_path, "m") == Noted("m", Overlay(), {}, copied={"pin": True})


@pytest.mark.parametrize(
    ("told", "now", "whose"),
    [
        (Noted("m", FULL, {"ctx": 1}), 1, "ours"),
        (Noted("m", FULL, {"ctx": 1}), 2, "theirs"),
        (Noted("m", FULL, {"ctx": 1}, ("ctx",)), 1, "theirs"),
        (Noted("m", FULL, {"ctx": 1}), None, "taken out"),
        (Noted("m", FULL, {"ctx": 1}, ("ctx",)), None, "nobody's"),
        (Noted("m", FULL, {"ctx": 1}, (), {"ctx": 2}), 2, "ours"),
        (Noted("m", FULL, {"ctx": 1}, (), {}), None, "nobody's"),
    ],
)
def test_whose_a_value_is(told: Noted, now: int | None, whose: str) -> None:
    """The overlay's, a person's, or taken out by a person; a process that died over it left either of two."""
    assert told.wrote("ctx", now) is (whose == "ours")
    assert told.taken_out("ctx", now) is (whose == "taken out")


def test_reading_one_loads_no_configuration() -> None:
    """`show` reads it, too, which is there in an instant."""
    said = "import sys, blazar.adapters.files.overlay_notes; print({'pydantic', 'tomlkit'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_what_never_came_was_taken_out_by_nobody() -> None:
    """Of a note that nobody finished only what stands there, or stood before, may have been written."""
    assert Noted("m", FULL, {"ctx": 1, "slots": 2}, ("slots",)).earlier({}) == {"ctx": 1}
    unfinished = Noted("m", FULL, {"ctx": 1, "slots": 2}, was={"ctx": 3})
    assert unfinished.earlier({}) == {"ctx": 1}
    assert unfinished.earlier({"ctx": 3}) == {"ctx": 3}
    assert unfinished.earlier({"ctx": 1, "slots": 2}) == {"ctx": 1, "slots": 2}
    assert unfinished.earlier({"ctx": 9, "slots": 9}) == {"ctx": 1}
