"""A file that came whole and is not what was promised."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.net import partials
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.throttle import Throttle
from blazar.application.ports.downloads import Wanted
from blazar.domain.errors import RegistryTrouble
from tests.fakes.disk import FakeDisk
from tests.support.registry import Registry
from tests.support.registry_faults import Fault, Stored

DATA = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(DATA).hexdigest()
PIECE = len(DATA) // 8


@pytest.fixture
def host() -> Iterator[Registry]:
    server = Registry()
    server.given["/file"] = Stored(DATA)
    yield server
    server.close()


def fetch(host: Registry, path: Path, connections: int = 8) -> Stored:
    loads = HttpDownloads(
        FakeDisk(), Throttle(lambda: 0, lambda: 0.0), lambda: connections, read_secs=5.0, parallel_from=1
    )
    loads.fetch(Wanted(f"{host.url}/file", str(path), "file", len(DATA), DIGEST), lambda _done, _total: None)
    stored = host.given["/file"]
    assert isinstance(stored, Stored)
    return stored


@pytest.mark.parametrize("place", [0, PIECE * 3 + 7, len(DATA) - 1])
@pytest.mark.parametrize("connections", [1, 2, 8])
def test_h1_a_spoilt_piece_is_found_and_replaced(host: Registry, tmp_path: Path, place: int, connections: int) -> None:
    """By fetching pieces again until all is well: no more than the whole file once."""
    host.faults.set("/file", Fault(flip=place, times=1))
    stored = fetch(host, tmp_path / "file", connections)
    assert (tmp_path / "file").read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert stored.sent <= 2 * len(DATA)


def test_h1_it_ends_as_soon_as_the_file_is_whole(
    host: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bad piece is among the first two of eight: the others are not fetched again."""
    monkeypatch.setattr(partials, "PIECE_LEAST", PIECE)
    host.faults.set("/file", Fault(flip=1, times=1))
    stored = fetch(host, tmp_path / "file", connections=2)
    assert stored.sent <= len(DATA) + 2 * PIECE


def test_h1_what_an_earlier_run_left_is_looked_at_first(host: Registry, tmp_path: Path) -> None:
    """A partial that suffered in between costs its own bytes, not the whole file."""
    partial = partials.Partial(tmp_path / "file", "file")
    partial.plan(len(DATA), 8, "", DIGEST)
    partial.write(partial.spans[5], b"x" * PIECE)
    partial.save()
    partial.close()
    stored = fetch(host, tmp_path / "file", connections=1)
    assert (tmp_path / "file").read_bytes() == DATA
    assert stored.sent == len(DATA)


def test_h1_a_host_without_ranges_sends_all_of_it_again(host: Registry, tmp_path: Path) -> None:
    """There is no other way; it is compared as it comes."""
    host.faults.set("/file", Fault(ranges=False, flip=5000, times=1), Fault(ranges=False))
    fetch(host, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == DATA


def test_h1_a_host_that_has_other_bytes_is_not_believed(host: Registry, tmp_path: Path) -> None:
    """Nothing differs the second time: both digests are said, and nothing is left to be taken for good."""
    host.given["/file"] = Stored(DATA[:-1] + b"?")
    with pytest.raises(RegistryTrouble, match=f"arrived twice with other bytes.*{DIGEST}"):
        fetch(host, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
