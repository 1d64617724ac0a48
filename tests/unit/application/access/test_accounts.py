"""The accounts of all keys."""

import pytest

from blazar.application.access.accounts import Accounts, days_of
from blazar.application.ports.ledger import DayUsage
from blazar.domain.errors import OverQuota
from blazar.domain.keys import Key
from blazar.domain.quota import DAY
from blazar.domain.tab import Tab

NOON = 20_000 * DAY + DAY // 2
TODAY = "2024-10-04"


def test_what_was_used_outlives_a_change_of_the_configuration() -> None:
    """A new secret, another limit: the name is the key, and its counters go on."""
    accounts = Accounts()
    old = accounts.open(Key("a", "one", rpm=1))
    Tab(old).reserve(0, NOON, chat=True)
    new = accounts.open(Key("a", "two", rpm=2))
    assert new is old
    Tab(new).reserve(1, NOON, chat=True)
    with pytest.raises(OverQuota, match="the 2 requests"):
        Tab(new).reserve(2, NOON, chat=True)


def test_a_batch_is_charged_by_name() -> None:
    """As nobody's who waits; a name without an account has none."""
    accounts = Accounts()
    account = accounts.open(Key("a", "k"))
    tab = accounts.tab_of("a")
    assert tab is not None
    assert (tab.account, tab.hurried) == (account, False)
    assert accounts.tab_of("b") is None
    assert (accounts.find("a"), accounts.find("b")) == (account, None)


def test_what_was_used_today_is_recalled() -> None:
    """Of another day nothing; of a key that is not configured now all, for it may come back."""
    accounts = Accounts()
    accounts.open(Key("a", "k", daily_tokens=10))
    rows = [DayUsage("a", TODAY, 2, 5, 5), DayUsage("b", TODAY, 1, 7, 0), DayUsage("a", "2024-10-03", 9, 9, 9)]
    accounts.recall(rows, NOON)
    with pytest.raises(OverQuota, match="daily_tokens"):
        Tab(accounts.open(Key("a", "k", daily_tokens=10))).reserve(0, NOON, chat=True)
    assert days_of(accounts.open(Key("b", "new"))) == [DayUsage("b", TODAY, 1, 7, 0)]


def test_an_account_is_news_once_until_it_is_taken() -> None:
    """Whoever writes them down hears of each; what it could not write it gives back."""
    accounts, woken = Accounts(), []
    accounts.on_touched = lambda: woken.append(1)
    one, two = accounts.open(Key("a", "k")), accounts.open(Key("b", "k2"))
    one.count(NOON)
    two.count(NOON)
    one.count(NOON)
    assert (len(woken), accounts.news(1), accounts.news(9), accounts.news(9)) == (2, [one], [two], [])
    for account in (one, two):
        account.settled()
    accounts.again([two])
    accounts.again([two])
    assert (len(woken), accounts.news(9)) == (3, [two])


def test_the_days_of_an_account() -> None:
    """Oldest first, as the ledger has them."""
    account = Accounts().open(Key("a", "k"))
    account.spend(0, NOON - DAY, (1, 2), chat=True)
    account.count(NOON)
    assert days_of(account) == [DayUsage("a", "2024-10-03", 0, 1, 2), DayUsage("a", TODAY, 1, 0, 0)]
