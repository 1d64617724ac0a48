"""What every feed of releases must do."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from blazar.adapters.net.github import GithubReleases
from blazar.application.ports.releases import ReleaseFeed
from blazar.domain.errors import Busy, NotFound
from blazar.domain.releases import Asset, Release
from tests.fakes.releases import MemoryReleases
from tests.support.release_feed import ReleaseHost, asset, release

REPOSITORY = "owner/name"
NAME = "llama-b1-bin-ubuntu-x64.tar.gz"


@pytest.fixture(params=["memory", "github"])
def feed(request: pytest.FixtureRequest) -> Iterator[ReleaseFeed]:
    """Two prereleases, and a stable release that stamps the older one."""
    host = ReleaseHost()
    body = f"[b1000](https://github.com/{REPOSITORY}/releases/tag/b1000)"
    rows = [
        release("b1001", asset(NAME, host.url + "/x", b"abc"), day=3),
        release("v0.1.0", prerelease=False, day=2, body=body),
        release("b1000", asset(NAME, host.url + "/y", b"abd"), day=1),
    ]
    host.publish(rows, REPOSITORY)
    host.add("/sums", b"sums")
    if request.param == "github":
        made: ReleaseFeed = GithubReleases(host.url)
    else:
        with closing(GithubReleases(host.url)) as github:
            memory = MemoryReleases({REPOSITORY: github.listing(REPOSITORY)})
        memory.texts["sums"] = "sums"
        made = memory
    yield made
    made.close()
    host.close()


def test_a_listing_is_in_the_hosts_order(feed: ReleaseFeed) -> None:
    """Prereleases and stable ones, with their files."""
    found = feed.listing(REPOSITORY)
    assert [one.tag for one in found] == ["b1001", "v0.1.0", "b1000"]
    assert [one.prerelease for one in found] == [True, False, True]
    assert [one.name for one in found[0].assets] == [NAME]
    assert found[0].assets[0].size == 3


def test_the_stable_release(feed: ReleaseFeed) -> None:
    """The newest that is no prerelease, with what it stamps."""
    found = feed.stable(REPOSITORY)
    assert (found.tag, found.stamps) == ("v0.1.0", "b1000")


def test_one_by_its_tag(feed: ReleaseFeed) -> None:
    """Or a sentence that names the repository and the tag."""
    found: Release = feed.tagged(REPOSITORY, "b1000")
    assert found.assets[0].sha256
    with pytest.raises(NotFound, match="owner/name has no release 'b7'"):
        feed.tagged(REPOSITORY, "b7")


def test_a_repository_that_is_not_there(feed: ReleaseFeed) -> None:
    """Is not found."""
    with pytest.raises(NotFound):
        feed.listing("no/body")


def test_small_texts(feed: ReleaseFeed) -> None:
    """As they are."""
    host_url = feed.listing(REPOSITORY)[0].assets[0].url.rpartition("/")[0]
    assert feed.text(Asset("sums", host_url + "/sums")) == "sums"


def test_what_is_stopped_stays_stopped(feed: ReleaseFeed) -> None:
    """With the reason that was given."""
    feed.stop(Busy("the daemon stops"))
    with pytest.raises(Busy, match="the daemon stops"):
        feed.listing(REPOSITORY)
