"""Which release a channel means."""

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.releases import (
    Asset,
    Release,
    build_tag,
    checked_release,
    checked_repository,
    checked_sha256,
    is_newer,
    newest,
    stable_names,
    stamped_by,
    stamped_in,
)

FILE = (Asset("llama-b1-bin-ubuntu-x64.tar.gz", "http://there/x"),)
B1 = Release("b11428", True, "2026-11-01T00:00:00Z", FILE)
B2 = Release("b11429", True, "2026-11-02T00:00:00Z", FILE)
STAMP = Release("v0.6.0", False, "2026-11-03T00:00:00Z", (Asset("nightly-tag.txt", "http://there/n"),), "b11429")


def test_the_latest_channel_has_prereleases():
    """The newest one with something to install; a release that only stamps another has nothing."""
    assert newest([B1, STAMP, B2]) == B2
    assert newest([STAMP]) is None
    assert newest([]) is None


def test_the_stable_channel_has_none():
    """What is marked as a prerelease is not in it."""
    plain = Release("v0.9.5", False, "2026-01-01T00:00:00Z", FILE)
    assert newest([B1, B2, plain], "stable") == plain
    assert newest([B1, B2], "stable") is None


def test_days_decide_before_tags():
    """Tags of several schemes do not compare; of one day the higher tag is newer."""
    old = Release("v9.9.9", False, "2020-01-01T00:00:00Z", FILE)
    assert newest([old, B1]) == B1
    same = B1._replace(tag="b11430", published=B2.published)
    assert newest([same, B2]) == same


def test_a_stable_release_says_which_build_it_stamps():
    """As a link in its text, or as the content of its marker file; anything else is no build."""
    assert stamped_in("**Nightly build:** [b11429](https://host/a/b/releases/tag/b11429)\n") == "b11429"
    assert stamped_in("[b11429](https://host/a/b/releases/tag/b11430)") == ""
    assert stamped_in("") == ""
    assert stamped_by("b11429\n") == "b11429"
    assert stamped_by("<html>") == ""
    assert stable_names([B1, STAMP]) == {"b11429": "v0.6.0"}


@pytest.mark.parametrize("text", ["", "one", "a/b/c", "../x", "a/..", "a b/c", "a/b?x", "a" * 40 + "/b"])
def test_a_repository_is_an_owner_and_a_name(text):
    """It becomes part of an address."""
    with pytest.raises(Malformed, match="BLAZAR_REPO"):
        checked_repository(text, "BLAZAR_REPO")


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "0" * 63, "sha512:" + "0" * 64])
def test_a_checksum_has_64_digits(text):
    """Anything else is said to be none, before a file is read for it."""
    with pytest.raises(Malformed, match="64 hexadecimal digits"):
        checked_sha256(text)
    assert checked_sha256(" SHA256:" + "AB" * 32) == "ab" * 32


def test_repositories_that_are_some():
    """As GitHub writes them."""
    assert checked_repository("ggml-org/llama.cpp", "X") == "ggml-org/llama.cpp"


@pytest.mark.parametrize("tag", ["", "../x", "a b", "b1/x", "-x", "a..b", "x" * 101, "b1\n"])
def test_a_tag_cannot_leave_its_address(tag):
    """It becomes part of one, too."""
    with pytest.raises(Malformed):
        checked_release(tag)
    assert checked_release("master-1244-cad0903") == "master-1244-cad0903"


def test_newer_by_tag():
    """Numbers as numbers; nothing is older than a tag that is unknown."""
    assert is_newer("b11434", "b9999")
    assert not is_newer("b11434", "b11434")
    assert is_newer("v0.10.0", "v0.9.5")
    assert is_newer("b1", "")


def test_a_build_of_a_flavor_has_it_in_its_tag():
    """So that several lie beside each other; the plain one has upstream's tag."""
    assert build_tag("b11434", "") == "b11434"
    assert build_tag("b11434", "cuda-12.8") == "b11434-cuda-12.8"


def test_files_by_name():
    """None where a release has no such file."""
    assert STAMP.asset("nightly-tag.txt") is not None
    assert STAMP.asset("x") is None
