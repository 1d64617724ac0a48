"""Keys of a folder, through the real parts."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.adapters.store.ledger import SqliteLedger
from blazar.application.ports.ledger import DayUsage
from blazar.composition.keys import LocalKeys, key_book
from blazar.composition.local import Local
from blazar.domain.errors import Conflict, NotFound


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    """An empty folder, closed at the end."""
    parts = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: [])
    yield parts
    parts.close()


def test_a_key_is_made_changed_and_taken_away_without_a_daemon(local: Local) -> None:
    """The file is for its owner alone from then on; comments stay."""
    file = local.folders.config_file
    file.write_text("# mine\nport = 1\n")
    file.chmod(0o644)
    keys = LocalKeys(local)
    secret = keys.add("owner", {})["key"]
    assert secret in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith("# mine\nport = 1\n")
    assert [row["name"] for row in LocalKeys(local).rows()] == ["owner"]
    assert secret not in str(LocalKeys(local).rows())
    keys.add("guest", {"models": ["m"], "rpm": 1})
    assert keys.rotate("guest")["rpm"] == 1
    assert keys.remove("guest") == "guest"
    with pytest.raises(Conflict):
        keys.remove("owner")


def test_usage_is_what_is_written_down(local: Local) -> None:
    """Also of a key that is gone; of one that never was there is none."""
    SqliteLedger(local.database).write([DayUsage("gone", "2026-01-02", 1, 2, 3)])
    keys = LocalKeys(local)
    assert keys.usage("gone", 30)[0]["total_tokens"] == 5
    with pytest.raises(NotFound):
        keys.usage("never", 30)
    keys.add("new", {})
    assert LocalKeys(local).usage("new", 30) == []


def test_keys_of_the_variable_are_keys_too(tmp_path: Path) -> None:
    """Their names are taken."""
    book = key_book(Folders(tmp_path / "config.toml", tmp_path / "data"), {"BLAZAR_KEYS": "boss:plm_boss-secret"})
    with pytest.raises(Conflict):
        book.add("boss", {})
    book.add("guest", {"models": ["m"]})
