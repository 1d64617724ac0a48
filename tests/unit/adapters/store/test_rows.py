"""Rows as records, whoever read them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from blazar.adapters.store.anchor import Anchor
from blazar.adapters.store.rows import engine_of, model_of, read, read_all

ENGINE: dict[str, Any] = {
    "tag": "b1",
    "kind": "llamacpp",
    "provenance": "archive",
    "server_path": "engines/b1/llama-server",
    "command": "[null]",
    "version": "1",
    "active": 1,
    "installed_at": 2.0,
    "release": "b1",
    "source": "",
    "digest": "",
    "pinned": 0,
    "architectures": '["llama"]',
    "used_at": 0.0,
    "superseded_at": 0.0,
}


def test_switches_are_true_or_false(tmp_path: Path) -> None:
    """SQLite has numbers for them; JSON answers would say 1."""
    engine = engine_of(SimpleNamespace(**ENGINE), Anchor(tmp_path))
    assert (engine.active, engine.pinned) == (True, False)
    assert isinstance(engine.active, bool)
    assert isinstance(engine.pinned, bool)
    assert engine.words == (str(tmp_path / "engines" / "b1" / "llama-server"),)


def test_a_row_of_another_version_is_as_good_as_none(tmp_path: Path) -> None:
    """An unknown kind, a column that is missing, JSON that is none, no row at all; the others are there."""
    anchor = Anchor(tmp_path)
    good = SimpleNamespace(**ENGINE)
    odd = SimpleNamespace(**{**ENGINE, "kind": "of-tomorrow"})
    broken = SimpleNamespace(**{**ENGINE, "command": "{"})
    bare = SimpleNamespace(tag="b2")
    assert [row.tag for row in read_all(engine_of, [odd, good, broken, bare], anchor)] == ["b1"]
    assert read(engine_of, None, anchor) is None
    assert read(model_of, bare, anchor) is None
