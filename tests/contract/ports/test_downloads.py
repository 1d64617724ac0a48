"""What everything that downloads must do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.throttle import Throttle
from blazar.application.ports.downloads import Downloads, Wanted
from blazar.domain.errors import Busy
from tests.fakes.disk import FakeDisk
from tests.fakes.releases import MemoryDownloads
from tests.support.release_feed import ReleaseHost

DATA = b"abc" * 1000


@pytest.fixture(params=["memory", "http"])
def downloads(request: pytest.FixtureRequest) -> Downloads:
    if request.param == "memory":
        return MemoryDownloads()
    return HttpDownloads(FakeDisk(), Throttle(lambda: 0, lambda: 0.0), lambda: 1)


@pytest.fixture
def wanted(tmp_path: Path) -> Iterator[Wanted]:
    host = ReleaseHost()
    yield Wanted(host.add("/f", DATA), str(tmp_path / "f"), "f", len(DATA))
    host.close()


def test_the_last_word_is_that_all_of_it_is_there(downloads: Downloads, wanted: Wanted) -> None:
    """Bytes, and bytes of the whole."""
    told: list[tuple[int, int]] = []
    downloads.fetch(wanted, lambda done, total: told.append((done, total)))
    assert told[-1] == (len(DATA), len(DATA))


def test_what_is_stopped_stays_stopped(downloads: Downloads, wanted: Wanted) -> None:
    """With the reason that was given."""
    downloads.stop(Busy("the daemon stops"))
    with pytest.raises(Busy, match="the daemon stops"):
        downloads.fetch(wanted, lambda *_: None)
