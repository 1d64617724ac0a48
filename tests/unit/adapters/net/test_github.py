"""Releases in GitHub's JSON shape, from a host on loopback."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from blazar.adapters.net.github import LISTED, GithubReleases, open_feed
from blazar.domain.errors import BlazarError, Busy, NotFound, RegistryTrouble
from blazar.domain.releases import Asset
from tests.support.registry import Answer
from tests.support.release_feed import REPOSITORY, ReleaseHost, asset, release

NAME = "llama-b11429-bin-ubuntu-x64.tar.gz"


@pytest.fixture
def host() -> Iterator[ReleaseHost]:
    server = ReleaseHost()
    yield server
    server.close()


@pytest.fixture
def feed(host: ReleaseHost) -> Iterator[GithubReleases]:
    made = GithubReleases(host.url)
    yield made
    made.close()


def test_a_listing(host: ReleaseHost, feed: GithubReleases) -> None:
    """Tags, days, files with size and digest; drafts and rows that are none are left out."""
    row = asset(NAME, host.url + "/x", b"abc")
    drafted = {**release("b11430", row), "draft": True}
    host.publish([release("b11429", row, day=3), release("v0.6.0", prerelease=False)])
    host.given[f"/repos/{REPOSITORY}/releases"] = Answer([drafted, release("b11429", row, day=3), 7, {"tag_name": 1}])
    found = feed.listing(REPOSITORY)
    assert [one.tag for one in found] == ["b11429"]
    assert (found[0].prerelease, found[0].published) == (True, "2026-11-03T00:00:00Z")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert found[0].assets == (Asset(NAME, host.url + "/x", 3, digest),)
    assert host.paths() == [f"/repos/{REPOSITORY}/releases?per_page={LISTED}"]
    assert host.asked[0].headers["accept"] == "application/vnd.github+json"


@pytest.mark.parametrize("digest", [None, "md5:abc", "sha256:xyz", "sha256:" + "g" * 64, 7])
def test_a_digest_that_is_none_is_no_digest(host: ReleaseHost, feed: GithubReleases, digest: Any) -> None:
    """It is not taken for one: the file cannot be verified by it."""
    host.publish([release("b1", asset(NAME, host.url + "/x", b"abc", digest=digest))])
    assert feed.listing(REPOSITORY)[0].assets[0].sha256 == ""


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "a\nb", "x" * 201, 7])
def test_files_of_impossible_names_are_not_there(host: ReleaseHost, feed: GithubReleases, name: Any) -> None:
    """Their names become names of files here."""
    row = {**asset("plain.zip", host.url + "/x", b"abc"), "name": name}
    host.publish([release("b1", row, asset("up.zip", host.url, b"", state="new"))])
    assert feed.listing(REPOSITORY)[0].assets == ()


def test_the_stable_release_and_what_it_stamps(host: ReleaseHost, feed: GithubReleases) -> None:
    """From its text; where that says nothing, from its marker file."""
    body = "**Nightly build:** [b11429](https://github.com/x/y/releases/tag/b11429)"
    host.publish([release("b11430"), release("v0.6.0", prerelease=False, body=body)])
    assert feed.stable(REPOSITORY).stamps == "b11429"
    marker = asset("nightly-tag.txt", host.add("/marker", b"b11400\n"), b"b11400\n")
    host.publish([release("v0.5.0", marker, prerelease=False)])
    assert feed.stable(REPOSITORY).stamps == "b11400"


def test_a_project_that_calls_nothing_stable(host: ReleaseHost, feed: GithubReleases) -> None:
    """What can be done about it, and no word on spelling alone."""
    host.publish([release("b11430")])
    with pytest.raises(NotFound, match=r"calls none of its releases stable.* set update_channel to latest"):
        feed.stable(REPOSITORY)


def test_a_feed_without_a_connection(host: ReleaseHost, feed: GithubReleases) -> None:
    """Other ways to an engine are named: a mirror, and a file that was fetched elsewhere."""
    host.close()
    with pytest.raises(RegistryTrouble, match=r"set BLAZAR_GH_BASE to a mirror, .*blazar engine install FILE --sha256"):
        feed.listing(REPOSITORY)


def test_one_release_by_its_tag(host: ReleaseHost, feed: GithubReleases) -> None:
    """A tag that is none is not found; its name is in the sentence."""
    host.publish([release("master-1244-cad0903")])
    assert feed.tagged(REPOSITORY, "master-1244-cad0903").tag == "master-1244-cad0903"
    with pytest.raises(NotFound, match="b404"):
        feed.tagged(REPOSITORY, "b404")


def test_asking_too_often_is_told_with_the_time(host: ReleaseHost, feed: GithubReleases) -> None:
    """Not as a repository that only some may read."""
    host.limit(reset=4_102_444_800)
    with pytest.raises(Busy, match="2100-01-01 00:00 UTC"):
        feed.listing(REPOSITORY)


def test_a_refusal_that_is_no_limit(host: ReleaseHost, feed: GithubReleases) -> None:
    """Requests are left: it is something else."""
    headers = (("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "1"))
    host.given[f"/repos/{REPOSITORY}/releases"] = Answer({}, 403, headers)
    with pytest.raises(RegistryTrouble, match="status 403"):
        feed.listing(REPOSITORY)


@pytest.mark.parametrize("body", [{"message": "x"}, b"<html>", "text", None])
def test_answers_that_make_no_sense(host: ReleaseHost, feed: GithubReleases, body: Any) -> None:
    """A sentence, never an exception of Python's."""
    host.given[f"/repos/{REPOSITORY}/releases"] = Answer(body)
    host.given[f"/repos/{REPOSITORY}/releases/latest"] = Answer(body)
    with pytest.raises(RegistryTrouble):
        feed.listing(REPOSITORY)
    with pytest.raises(RegistryTrouble):
        feed.stable(REPOSITORY)


def test_where_files_are_fetched(host: ReleaseHost) -> None:
    """At GitHub's address; at a mirror's that repeats GitHub's answers; at another place of files."""
    own = f"https://github.com/{REPOSITORY}/releases/download/b1/{NAME}"
    host.publish([release("b1", asset(NAME, own, b"abc"))])
    for files, url in (
        ("", f"{host.url}/{REPOSITORY}/releases/download/b1/{NAME}"),
        ("http://files.example/engines/", f"http://files.example/engines/b1/{NAME}"),
    ):
        with closing(GithubReleases(host.url, files)) as feed:
            assert feed.listing(REPOSITORY)[0].assets[0].url == url


@pytest.mark.parametrize(("url", "listed"), [("https://files.example/x", True), ("https://10.0.0.7/x", False)])
def test_only_a_named_mirror_has_files_inside(url: str, *, listed: bool) -> None:
    """What GitHub itself says lies in this network is not fetched from there; a mirror's place is the person's."""
    row = release("b1", asset(NAME, url, b"abc"))
    for base, expected in (("", listed), ("https://mirror.example", True)):
        with closing(GithubReleases(base)) as feed:
            assert bool(feed._release(row, REPOSITORY).assets) is expected
            assert feed._web.ours.hosts == ((base.removeprefix("https://"),) if base else ())


@pytest.mark.parametrize("variable", ["BLAZAR_GH_BASE", "BLAZAR_INSTALL_BASE_URL"])
@pytest.mark.parametrize(
    "value",
    ["nowhere", "ftp://x", "http://", "http://[::1", "http://x:99999", "\udcff", "x" * 100_000, "a\nb", "\x1b[2J", " "],
)
def test_addresses_that_are_none(variable: str, value: str) -> None:
    """The sentence names the variable."""
    with pytest.raises(RegistryTrouble, match=variable) as refused:
        open_feed({variable: value})
    assert "huggingface" not in str(refused.value)


def test_nothing_is_asked_by_opening(host: ReleaseHost) -> None:
    """Nor by closing; what is stopped stays so."""
    feed = open_feed({"BLAZAR_GH_BASE": host.url})
    feed.stop(Busy("the daemon stops"))
    with pytest.raises(BlazarError, match="the daemon stops"):
        feed.listing(REPOSITORY)
    feed.close()
    assert host.asked == []


def test_texts_are_small(host: ReleaseHost, feed: GithubReleases) -> None:
    """A file of checksums is not a gigabyte."""
    assert feed.text(Asset("sums", host.add("/sums", b"abc  x\n"))) == "abc  x\n"
    with pytest.raises(RegistryTrouble, match="1 MiB"):
        feed.text(Asset("sums", host.add("/large", b"x" * (2 << 20))))
