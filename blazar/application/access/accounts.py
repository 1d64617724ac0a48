"""The accounts of all keys, by name: they outlive a change of the configuration, and a key that is gone for a while. Does no I/O."""

from collections.abc import Callable, Collection, Iterable

from blazar.application.ports.ledger import DayUsage
from blazar.domain.keys import Key
from blazar.domain.quota import Account, Day, day_name, day_number
from blazar.domain.tab import Tab


class Accounts:
    """One per daemon, used on the event loop only. `on_touched` hears of each account that has something new to be written down."""

    def __init__(self) -> None:
        self._by_name: dict[str, Account] = {}
        self._touched: list[Account] = []
        self.on_touched: Callable[[], None] | None = None

    def open(self, key: Key) -> Account:
        """The account of a configured key, with its limits as they are now. What was used stays."""
        account = self._by_name.get(key.name)
        if account is None:
            account = self._by_name[key.name] = Account(key, self._touch)
        else:
            account.key = key
        return account

    def bar_others(self, names: Collection[str]) -> None:
        """What still waits in the name of any other key is not to run."""
        for name, account in self._by_name.items():
            account.barred = name not in names

    def find(self, name: str) -> Account | None:
        """The account of that name."""
        return self._by_name.get(name)

    def tab_of(self, name: str) -> Tab | None:
        """For a request that nobody waits for, in the name of a key; None where it has no account."""
        account = self._by_name.get(name)
        return None if account is None else Tab(account, hurried=False)

    def recall(self, rows: Iterable[DayUsage], wall: float) -> None:
        """What was used today before this daemon started, also by keys that are not configured now: they may come back."""
        number = day_number(wall)
        for row in rows:
            if row.day == day_name(number):
                account = self._by_name.get(row.key) or self.open(Key(row.key, ""))
                account.recall(Day(number, row.requests, row.prompt_tokens, row.completion_tokens))

    def news(self, most: int) -> list[Account]:
        """Some of the accounts that changed since they were last taken here, the longest waiting first."""
        taken, self._touched = self._touched[:most], self._touched[most:]
        return taken

    def again(self, accounts: Iterable[Account]) -> None:
        """They could not be written down: they are news still."""
        for account in accounts:
            account.spoil()

    def _touch(self, account: Account) -> None:
        self._touched.append(account)
        if self.on_touched is not None:
            self.on_touched()


def days_of(account: Account) -> list[DayUsage]:
    """What is known here of its days, oldest first."""
    return [
        DayUsage(account.key.name, day_name(day.number), day.requests, day.prompt, day.completion)
        for day in account.days()
    ]
