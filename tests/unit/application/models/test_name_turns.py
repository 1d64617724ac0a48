"""Whose turn a name is while it changes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from blazar.adapters.files.landing import DiskLanding
from blazar.application.models.name_turns import MOST_LOOKS, NameTurns, unclaimed
from blazar.domain.errors import Busy


@pytest.fixture
def turns(tmp_path: Path) -> NameTurns:
    return NameTurns(lambda: DiskLanding(tmp_path / "downloads", sleep=lambda _: None))


@pytest.mark.parametrize("other", ["d:1", "D:1", "e"])
def test_who_changes_a_name_has_it_alone(turns: NameTurns, other: str) -> None:
    """In whatever letters; one of two names is enough. Who waits too long hears that somebody else has it."""
    with turns("d:1", "e"), pytest.raises(Busy, match="changing the model"), turns(other):
        pass


def test_latest_means_no_tag(turns: NameTurns) -> None:
    """As it does in the catalog."""
    with turns("m:latest"), pytest.raises(Busy), turns("m"):
        pass


def test_other_names_are_free(turns: NameTurns, tmp_path: Path) -> None:
    """And nothing of the turns is left behind; it may be had again at once."""
    with turns("d:1"), turns("d:2"):
        pass
    with turns("d:1"):
        pass
    assert list((tmp_path / "downloads").iterdir()) == []


def test_who_waits_goes_on_when_it_is_free(turns: NameTurns) -> None:
    """And may say that it waits, for as long as it likes."""
    looked, left = Event(), Event()
    looks = []

    def waiting() -> None:
        looks.append(1)
        if len(looks) > MOST_LOOKS:
            looked.set()

    def second() -> bool:
        with turns("d:1", waiting=waiting):
            return left.is_set()

    with ThreadPoolExecutor(1) as pool:
        with turns("d:1"):
            waits = pool.submit(second)
            assert looked.wait(30)
            left.set()
        assert waits.result(30)


def test_a_disk_that_takes_no_lock_keeps_nobody_from_removing(tmp_path: Path) -> None:
    """A full one most of all."""
    (tmp_path / "downloads").write_bytes(b"")  # no folder can be made there
    with NameTurns(lambda: DiskLanding(tmp_path / "downloads"))("d:1"):
        pass


def test_nothing_is_claimed_where_the_turn_is_had() -> None:
    """For what a use case is made of that has it already."""
    with unclaimed("d:1"), unclaimed("d:1"):
        pass
