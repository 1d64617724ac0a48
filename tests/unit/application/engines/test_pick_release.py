"""Which release and which file are meant."""

import pytest

from blazar.application.engines.pick_release import PickRelease, Sources
from blazar.domain.errors import NotFound, RegistryTrouble, Unserved
from blazar.domain.kinds import EngineKind
from blazar.domain.releases import Asset, Release
from tests.fakes.hardware import FakeCensus
from tests.fakes.releases import MemoryReleases
from tests.support.releasing import LLAMACPP, Rig, build, stable

KIND = EngineKind.LLAMACPP


def test_the_latest_channel_takes_the_newest_build() -> None:
    """Prereleases as well, in one question; a stamp on it is known from the same listing."""
    rig = Rig([stable("v0.6.0", 11429), build(11430), build(11429)])
    picked = rig.pick(KIND)
    assert (picked.tag, picked.stable) == ("b11430", "")
    assert rig.feed.asked == [f"{LLAMACPP} listing"]
    assert Rig([stable("v0.6.0", 11430), build(11430)]).pick(KIND).stable == "v0.6.0"


def test_the_stable_channel_takes_what_the_stable_release_stamps() -> None:
    """It has no archives of its own: they are the build's."""
    picked = Rig([build(11430), stable("v0.6.0", 11429), build(11429)], channel="stable").pick(KIND)
    assert (picked.tag, picked.release.tag, picked.stable) == ("b11429", "b11429", "v0.6.0")


def test_projects_that_mark_prereleases_in_the_plain_way() -> None:
    """A stable release with archives is itself what is meant."""
    plain = Release("v0.9.5", False, "2026-01-01", (Asset("mistralrs-cpu-x86_64-unknown-linux-gnu.tar.gz", "u"),))
    feed = MemoryReleases({"EricLBuehler/mistral.rs": [plain]})
    pick = PickRelease(feed, FakeCensus(), "Linux", "x86_64", Sources("stable"))
    picked = pick(EngineKind.MISTRALRS)
    assert (picked.tag, picked.choice.flavor) == ("v0.9.5", "")


def test_a_stable_release_that_says_nothing_gives_way_to_the_one_before() -> None:
    """Neither archives nor a stamp: the newest stable one with archives, or none at all."""
    silent = stable("v0.6.0", 0)._replace(stamps="")
    older = build(11000)._replace(prerelease=False)
    assert Rig([silent, older], channel="stable").pick(KIND).tag == "b11000"
    with pytest.raises(NotFound, match="stable channel"):
        Rig([silent, build(11430)], channel="stable").pick(KIND)


def test_a_release_by_its_tag() -> None:
    """Also by the tag of the stable release that stamps it."""
    rig = Rig([build(11430), stable("v0.6.0", 11429), build(11429)])
    assert rig.pick(KIND, "b11429").tag == "b11429"
    assert rig.pick(KIND, "v0.6.0").tag == "b11429"
    with pytest.raises(NotFound, match="b1"):
        rig.pick(KIND, "b1")


def test_the_flavor_is_part_of_the_tag() -> None:
    """As configured, or as asked for this once."""
    both = build(11430)._replace(assets=(*build(11430).assets, *build(11430, flavor="-vulkan").assets))
    assert Rig([both]).pick(KIND).tag == "b11430"
    assert Rig([both], asset="vulkan").pick(KIND).tag == "b11430-vulkan"
    assert Rig([both]).pick(KIND, asset="vulkan").tag == "b11430-vulkan"


def test_other_repositories_may_be_configured() -> None:
    """In place of the usual one."""
    feed = MemoryReleases({"me/mirror": [build(11430)]})
    pick = PickRelease(feed, FakeCensus(), "Linux", "x86_64", Sources(repositories={KIND: "me/mirror"}))
    assert pick(KIND).tag == "b11430"


def test_kinds_that_are_no_archives() -> None:
    """They are Python packages; nothing is asked."""
    rig = Rig([build(11430)])
    with pytest.raises(Unserved, match="sglang"):
        rig.pick(EngineKind.SGLANG)
    assert rig.feed.asked == []


def test_a_feed_without_archives() -> None:
    """Says so."""
    with pytest.raises(NotFound, match="no release with an archive"):
        Rig([stable("v0.6.0", 11429)]).pick(KIND)
    assert Rig([]).pick.stable_of(KIND) is None


def test_what_is_downloaded_in_all() -> None:
    """The archive, and what goes beside it."""
    assert Rig([build(11430)]).pick(KIND).size == 1000


def test_a_release_that_can_be_verified() -> None:
    """The newest one beside that which cannot; a feed that does not answer names none."""
    rig = Rig([build(11432, digest=""), build(11431), build(11430)])
    assert rig.pick.verifiable(EngineKind.LLAMACPP, "b11432") == "b11431"
    assert rig.pick.verifiable(EngineKind.LLAMACPP, "b11431") == "b11430"
    rig.feed.trouble = RegistryTrouble("line")
    assert rig.pick.verifiable(EngineKind.LLAMACPP, "b11432") == ""
