"""Looking for newer builds."""

from collections.abc import Callable

import pytest

from blazar.application.engines.check_currency import (
    CheckCurrency,
    Currency,
    Memory,
    compare,
    currency_row,
    passed_over,
    said_of,
    still_true,
)
from blazar.application.engines.pick_release import PickRelease, Target
from blazar.application.engines.update_engine import Outcome
from blazar.domain import teaching
from blazar.domain.errors import RegistryTrouble
from blazar.domain.kinds import EngineKind, Provenance
from tests.fakes.clock import EPOCH
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.support.releasing import Rig, build, digest_of, stable

RELEASES = [build(11430), stable("v0.6.0", 11429), build(11429)]


def checking(*tags: str, channel: str = "latest") -> tuple[CheckCurrency, Rig]:
    rows = [an_engine(tag, source="https://host/x.tar.gz") for tag in tags]
    rig = Rig(list(RELEASES), channel=channel, catalog=MemoryEngineCatalog(rows))

    def open_pick() -> tuple[PickRelease, Callable[[], None]]:
        return rig.pick, rig.feed.close

    return CheckCurrency(rig.catalog, open_pick, rig.clock), rig


def test_a_newer_build_is_told() -> None:
    """Installed is nothing, downloaded neither; the look is remembered, with its time, and the feed is closed."""
    check, rig = checking("b11400")
    (row,) = check()
    assert (row.active, row.newest, row.available, row.trouble, row.checked_at) == ("b11400", "b11430", True, "", EPOCH)
    assert check.last == (row,)
    assert (rig.downloads.wanted, rig.feed.closed) == ([], 1)
    assert [one.tag for one in rig.catalog.list_engines()] == ["b11400"]


def test_the_stamp_of_the_active_build() -> None:
    """Told when the active build is the one that the stable release stamps, whichever channel is followed."""
    check, _ = checking("b11429")
    (row,) = check()
    assert (row.stable, row.available) == ("v0.6.0", True)
    check, _ = checking("b11429", channel="stable")
    (row,) = check()
    assert (row.stable, row.available, row.newest) == ("v0.6.0", False, "b11429")


def test_the_stable_channel_may_go_back() -> None:
    """A pin, not a floor: that the active build is newer is said."""
    check, _ = checking("b11430", channel="stable")
    (row,) = check()
    assert (row.newest, row.available, row.back, row.newest_stable) == ("b11429", True, True, "v0.6.0")


def test_nothing_installed_asks_nothing() -> None:
    """Nor do the user's own binary, a wheel, forks and Python environments."""
    check, rig = checking()
    assert check() == ()
    for row in (
        an_engine("local", provenance=Provenance.LOCAL),
        an_engine("embedded-1", provenance=Provenance.EMBEDDED),
        an_engine("venv", kind=EngineKind.MLX, provenance=Provenance.VENV),
    ):
        rig.catalog.add_engine(row)
        assert check() == ()
    assert rig.feed.asked == []


def test_what_goes_wrong_is_in_the_row() -> None:
    """A look never raises: nobody waits for it."""
    check, rig = checking("b11400")
    rig.feed.trouble = RegistryTrouble("offline")
    (row,) = check()
    assert (row.trouble, row.available) == ("offline", False)
    assert rig.feed.closed == 1


def test_a_feed_that_cannot_be_opened() -> None:
    """A variable that is no address, for instance."""

    def fails() -> tuple[PickRelease, Callable[[], None]]:
        raise RegistryTrouble("BLAZAR_GH_BASE is no address")

    _, rig = checking("b11400")
    assert CheckCurrency(rig.catalog, fails, rig.clock)()[0].trouble == "BLAZAR_GH_BASE is no address"


@pytest.mark.parametrize(("tag", "available"), [("b11430", False), ("b11431", False), ("b11429", True)])
def test_only_newer_ones_are_news_on_the_latest_channel(tag: str, available: bool) -> None:
    """A newer build than any released one is left alone."""
    assert compare(an_engine(tag), Target(build(11430)), "latest", None).available is available


def test_a_flavor_of_the_same_release_is_current() -> None:
    """Upstream's tag is compared, not ours."""
    row = an_engine("b11430-vulkan", release="b11430")
    assert not compare(row, Target(build(11430)), "latest", None).available


def test_what_follows_is_said_in_a_sentence() -> None:
    """An update, a channel that lies behind, nothing to do, and what went wrong."""
    check, rig = checking("b11429")
    assert said_of(check()[0]) == teaching.engine_update_available("llamacpp", "b11430", "b11429 (stable v0.6.0)")
    check, _ = checking("b11430", channel="stable")
    assert said_of(check()[0]) == teaching.engine_channel_behind("llamacpp", "b11429", "b11430")
    check, rig = checking("b11430")
    assert said_of(check()[0]) == teaching.engine_current("llamacpp", "b11430")
    rig.feed.trouble = RegistryTrouble("offline")
    assert said_of(check()[0]) == teaching.currency_failed("llamacpp", "offline")


def test_as_json() -> None:
    """Plain words."""
    check, _ = checking("b11400")
    assert currency_row(check()[0])["kind"] == "llamacpp"


def test_h11_a_release_of_the_same_bytes_is_no_news() -> None:
    """An update would do nothing, and the look says so; on the stable channel, too."""
    for channel, newest in (("latest", 11430), ("stable", 11429)):
        check, rig = checking(channel=channel)
        rig.catalog.add_engine(an_engine("b11000", source="https://host/x.tar.gz", digest=digest_of(newest)))
        (row,) = check()
        assert (row.newest, row.available, row.back, row.same) == (f"b{newest}", False, False, True)
        assert said_of(row) == teaching.engine_same_file("llamacpp", f"b{newest}", "b11000")
        assert rig.update(EngineKind.LLAMACPP, rig.tell).outcome is Outcome.CURRENT
    assert compare(an_engine("b1", digest="x"), Target(build(2)), "latest", None, "y").available


def test_a_pinned_build_is_offered_no_update() -> None:
    """It would be refused; what lifts the pin is named."""
    row = compare(an_engine("b11400", pinned=True), Target(build(11430)), "latest", None)
    assert said_of(row) == teaching.engine_pinned_away("llamacpp", "b11430", "b11400", "b11400")


def test_only_what_was_downloaded_is_asked_about_unasked() -> None:
    """A file that somebody brought beside others, or a build made here, is looked up when a person says so, and never by itself."""
    built = an_engine("b11400-cpu", provenance=Provenance.BUILT, source="https://host/source.tar.gz")
    for rows in ([an_engine("b11400", release="b11400"), built], [built]):
        check, rig = checking()
        for row in rows:
            rig.catalog.add_engine(row)
        assert check() == ()
        assert rig.feed.asked == []
        check.asked = True
        assert check()[0].available


def test_a_kind_whose_builds_are_all_files_is_not_asked_about() -> None:
    """Not even when a person asks: nothing of it ever came from a release. What is passed over is known."""
    check, rig = checking()
    rig.catalog.add_engine(an_engine("b11400"))
    check.asked = True
    assert (check(), rig.feed.asked) == ((), [])
    assert [row.tag for row in passed_over(rig.catalog.list_engines())] == ["b11400"]
    rig.catalog.add_engine(an_engine("b11429", source="https://host/x.tar.gz"))
    assert check()[0].active == "b11400"
    assert passed_over(rig.catalog.list_engines()) == []


def test_what_a_look_found_outlives_who_looked() -> None:
    """It is there for whoever comes next, kind by kind, and a look that asked nobody forgets nothing."""
    kept: list[Currency] = []
    memory = Memory(lambda: list(kept), lambda rows: kept.__setitem__(slice(None), rows))
    check, rig = checking("b11400")
    check.memory = memory
    found = check()
    later = CheckCurrency(rig.catalog, check.open_pick, rig.clock, memory=memory)
    assert later.known() == found
    rig.catalog.remove_engine("b11400")
    assert (later(), later.known(), kept) == ((), (), list(found))


def test_what_is_remembered_follows_the_builds() -> None:
    """After an update nothing newer is out, after a rollback it is, and pins are as they are now."""
    row = Currency(EngineKind.LLAMACPP, "b11400", "b11430", available=True, checked_at=EPOCH)
    (same,) = still_true([row], [an_engine("b11400", active=True, pinned=True)])
    assert same == row._replace(pinned=True)
    (updated,) = still_true([row], [an_engine("b11430", active=True), an_engine("b11400")])
    assert (updated.active, updated.available, updated.checked_at) == ("b11430", False, EPOCH)
    (back,) = still_true([updated], [an_engine("b11429", active=True)])
    assert back.available
    (stable_one,) = still_true([row._replace(newest="b11429", newest_stable="v1")], [an_engine("b11430", active=True)])
    assert (stable_one.available, stable_one.back) == (True, True)
    assert still_true([row], []) == ()
