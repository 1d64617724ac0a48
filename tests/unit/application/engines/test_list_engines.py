"""Listing builds."""

from blazar.application.engines.list_engines import ListEngines, engine_row
from tests.fakes.engines import MemoryEngineCatalog, an_engine


def test_active_first_then_newest() -> None:
    """Build numbers decide, not the time of installation."""
    rows = [an_engine("b9", installed_at=3.0, active=True), an_engine("b10", installed_at=1.0), an_engine("b2")]
    assert [row.tag for row in ListEngines(MemoryEngineCatalog(rows))()] == ["b9", "b10", "b2"]


def test_a_build_as_json() -> None:
    """The same words for the API and for `engine list --json`; enumerations as their plain values (D20)."""
    assert engine_row(an_engine("b9", installed_at=3.0, active=True)) == {
        "tag": "b9",
        "kind": "llamacpp",
        "provenance": "archive",
        "version": "b9",
        "active": True,
        "server_path": "/engines/b9/llama-server",
        "installed_at": 3.0,
        "release": "",
        "source": "",
        "digest": "",
        "pinned": False,
        "architectures": [],
        "used_at": 0.0,
        "superseded_at": 0.0,
    }
