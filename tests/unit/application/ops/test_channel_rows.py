"""The doctor's rows about newer builds."""

from blazar.application.engines.check_currency import Currency
from blazar.application.ops.channel_rows import update_rows
from blazar.domain import teaching
from blazar.domain.kinds import EngineKind

ROW = Currency(EngineKind.LLAMACPP, "b1", "b2", available=True)


def test_a_newer_build_is_a_warning_with_the_command() -> None:
    """One row a kind."""
    (row,) = update_rows(86400, (ROW,))
    assert (row.status, row.detail) == ("warn", teaching.engine_update_available("llamacpp", "b2", "b1"))
    assert row.remedy == "blazar engine update --kind llamacpp"


def test_a_current_one_is_well() -> None:
    """Nothing to do."""
    (row,) = update_rows(86400, (ROW._replace(available=False),))
    assert (row.status, row.remedy) == ("ok", "")


def test_a_look_that_failed_is_a_warning_that_harms_nothing() -> None:
    """With the reason."""
    (row,) = update_rows(86400, (ROW._replace(trouble="offline"),))
    assert (row.status, row.detail) == ("warn", teaching.currency_failed("llamacpp", "offline"))


def test_no_look_yet_and_none_ever() -> None:
    """Said as what they are."""
    assert [row.detail for row in update_rows(86400, ())] == [teaching.doctor_updates_unchecked()]
    assert [row.detail for row in update_rows(0, ())] == [teaching.doctor_updates_off()]


def test_a_pinned_build_is_as_somebody_wants_it() -> None:
    """What is newer is told, and no update is advised: it would be refused."""
    (row,) = update_rows(86400, (ROW._replace(pinned=True),))
    assert (row.status, row.detail) == ("ok", teaching.engine_pinned_away("llamacpp", "b2", "b1", "b1"))


def test_a_row_says_when_it_was_looked_up() -> None:
    """It may be a day old, or of a daemon before."""
    (row,) = update_rows(0, (ROW._replace(checked_at=1.8e9),))
    assert row.detail.endswith("(looked up 2027-01-15T08:00:00Z)")
