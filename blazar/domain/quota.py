"""What an API key may still use: requests and tokens of any minute, tokens of a UTC day, requests at the same time.

Pure: `now` is monotonic seconds, `wall` Unix time, both passed in. Nothing here knows a request; `domain/tab.py` does. What is
checked is charged in the same step, so that no number of requests at once gets past a limit (case L5).
"""

from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import Final, NamedTuple

from blazar.domain.keys import Key

MINUTE: Final = 60.0
DAY: Final = 86_400
EXACT: Final = 240
"""Charges of a minute that are remembered one by one; beyond that those of a quarter of a second are one."""
_GRAIN: Final = MINUTE / EXACT
SOON: Final = 1.0
"""Seconds after which it is worth asking whether a request of the same key has ended: nobody knows when one will."""
REMEMBERED: Final = 2
"""Days with any use before the one that counts: a clock that jumps, and is set right again, finds its day as it was."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_LAST_DAY: Final = date.max.toordinal() - _EPOCH


class Limit(StrEnum):
    """The limits of a key, as the configuration calls them, in the order in which they are checked."""

    CONCURRENT = "max_concurrent"
    REQUESTS = "rpm"
    TOKENS = "tpm"
    DAILY = "daily_tokens"


class Exhausted(NamedTuple):
    """A limit that is used up, and the seconds until something of it is free again.

    `promised`: not used up yet, but what is left of it may be by requests under way.
    """

    limit: Limit
    figure: int
    wait: float
    promised: bool = False


class Standing(NamedTuple):
    """How a limit of a minute stands: what is left of it, and the seconds until all of it is free again."""

    limit: int
    left: int
    reset: float


class Charge:
    """A part of what was used; counts until `until`."""

    __slots__ = ("amount", "begun", "until")

    def __init__(self, now: float, amount: int) -> None:
        self.begun, self.until, self.amount = now, now + MINUTE, amount


class Minute:
    """The sum of what was charged in the last sixty seconds. Sliding, so that no minute has twice the limit around its turn."""

    __slots__ = ("_charges", "total")

    def __init__(self) -> None:
        self._charges: list[Charge] = []  # no deque: empty ones of ten thousand keys would take a dozen megabytes
        self.total = 0

    def charge(self, now: float, amount: int) -> Charge:
        """Count it for a minute."""
        self.total += amount
        charges = self._charges
        if len(charges) >= EXACT and now - (last := charges[-1]).begun < _GRAIN:
            last.until = now + MINUTE  # rather a little longer than a minute with more than the limit
            last.amount += amount
            return last
        charges.append(made := Charge(now, amount))
        return made

    def take_back(self, charge: Charge, amount: int) -> None:
        """It was not used after all. One whose minute is over counts no more anyway."""
        given = min(amount, charge.amount)
        charge.amount -= given
        self.total -= given

    def settle(self, now: float) -> int:
        """The sum as it is now."""
        charges = self._charges
        if charges and charges[0].until <= now:
            over = next((place for place, charge in enumerate(charges) if charge.until > now), len(charges))
            for charge in charges[:over]:
                self.total -= charge.amount
                charge.amount = 0
            del charges[:over]
        return self.total

    def free_in(self, limit: int, now: float) -> float:
        """Seconds until less than `limit` of it counts."""
        left = self.settle(now)
        for charge in self._charges:
            left -= charge.amount
            if left < limit:
                return min(MINUTE, charge.until - now)  # floats may make it a trifle more
        return 0.0

    def standing(self, limit: int, now: float) -> Standing:
        """How it looks beside a limit."""
        total = self.settle(now)
        reset = 0.0
        for charge in reversed(self._charges):
            if charge.amount:
                reset = charge.until - now
                break
        return Standing(limit, max(0, limit - total), reset)


class Day:
    """What was used on one UTC day, `number` days after the epoch."""

    __slots__ = ("completion", "number", "prompt", "requests")

    def __init__(self, number: int, requests: int = 0, prompt: int = 0, completion: int = 0) -> None:
        self.number, self.requests, self.prompt, self.completion = number, requests, prompt, completion

    @property
    def tokens(self) -> int:
        """What `daily_tokens` bounds."""
        return self.prompt + self.completion


def day_number(wall: float) -> int:
    """The UTC day of a moment. A clock from before 1970 or beyond the year 9999 is on the first or the last of them."""
    return int(min(max(wall // DAY, 0), _LAST_DAY))


def day_name(number: int) -> str:
    """`2026-01-31`."""
    return date.fromordinal(_EPOCH + min(max(number, 0), _LAST_DAY)).isoformat()


def _nobody(_account: "Account") -> None:
    """Who hears of an account that changes, where it is nobody's."""


class Account:
    """What one key has used and is using. `key` is exchanged when the configuration changes; what was used stays.

    `touch` hears of the first change after `settled`: whoever writes days down.
    """

    __slots__ = ("_touched", "barred", "day", "key", "past", "promised", "requests", "running", "tokens", "touch")

    def __init__(self, key: Key, touch: Callable[["Account"], None] = _nobody) -> None:
        self.key = key
        self.barred = False  # no key of that name is configured any more
        self.running = 0
        self.promised = 0  # tokens that requests under way will cost, as far as anybody can tell before
        self.requests, self.tokens = Minute(), Minute()
        self.day = Day(0)
        self.past: tuple[Day, ...] = ()
        """The last days before, until they are written down, and for a clock that is set back."""
        self.touch = touch
        self._touched = False

    def enter(self) -> Exhausted | None:
        """One more request runs, unless there are as many as may."""
        most = self.key.max_concurrent
        if most is not None and self.running >= most:
            return Exhausted(Limit.CONCURRENT, most, SOON)
        self.running += 1
        return None

    def leave(self) -> None:
        """One that entered has ended."""
        self.running -= 1

    def exhausted(self, now: float, wall: float, *, minute: bool, chat: bool) -> Exhausted | None:
        """The first limit that another request would exceed; `minute` says whether those of a minute count, `chat` whether tpm.

        What requests under way are expected to cost counts as if it were used (a batch, which asks one after the other, looks at
        what is used alone): at most one answer goes beyond, however many come at once. When those end nobody knows.
        """
        key = self.key
        promised = self.promised if minute else 0
        if minute:
            if (rpm := key.rpm) is not None and self.requests.settle(now) >= rpm:
                return Exhausted(Limit.REQUESTS, rpm, self.requests.free_in(rpm, now))
            if chat and (tpm := key.tpm) is not None and self.tokens.settle(now) + promised >= tpm:
                wait = self.tokens.free_in(tpm, now)
                return Exhausted(Limit.TOKENS, tpm, wait or SOON, not wait)
        daily = key.daily_tokens
        if daily is not None and (used := self.today(wall).tokens) + promised >= daily:
            return Exhausted(Limit.DAILY, daily, DAY - wall % DAY if used >= daily else SOON, used < daily)
        return None

    def count(self, wall: float, by: int = 1) -> None:
        """A request was admitted; or was not after all."""
        day = self.today(wall)
        day.requests = max(0, day.requests + by)
        self.spoil()

    def spend(self, now: float, wall: float, tokens: tuple[int, int], *, chat: bool) -> None:
        """Tokens of a prompt and of its answer, known when the answer has ended. They may go beyond a limit; none follow then."""
        prompt, completion = tokens
        day = self.today(wall)
        day.prompt += prompt
        day.completion += completion
        if chat and self.key.tpm is not None:
            self.tokens.settle(now)
            self.tokens.charge(now, prompt + completion)
        self.spoil()

    def today(self, wall: float) -> Day:
        """The day that counts now. A clock that is set back to a day before finds it as it was."""
        number = day_number(wall)
        if number != self.day.number:
            known = [*self.past, self.day] if self.day.requests or self.day.tokens else list(self.past)
            self.day = next((day for day in known if day.number == number), None) or Day(number)
            self.past = tuple(day for day in known if day.number != number)[-REMEMBERED:]
        return self.day

    def recall(self, day: Day) -> None:
        """What was used on this day before this program started."""
        today = self.day
        if today.number == day.number:
            today.requests += day.requests
            today.prompt += day.prompt
            today.completion += day.completion
        else:
            self.day = day

    def days(self) -> list[Day]:
        """Those that are known here, oldest first."""
        used = [day for day in (*self.past, self.day) if day.requests or day.tokens]
        return sorted(used, key=lambda day: day.number)

    def settled(self) -> None:
        """Its days are being written down: the next change is news."""
        self._touched = False

    def spoil(self) -> None:
        """Something has changed, or could not be written down."""
        if not self._touched:
            self._touched = True
            self.touch(self)
