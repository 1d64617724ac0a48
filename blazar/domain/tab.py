"""One request's dealings with the account of its key: reserved, then admitted or given back, then what it cost. Each at most once.

Pure. What is not admitted costs nothing (case L3), and two requests never get the last place both (case L5).
"""

from blazar.domain import teaching
from blazar.domain.errors import OverQuota
from blazar.domain.quota import Account, Charge, Exhausted


class Tab:
    """`hurried` is whether somebody waits for the answer: limits of a minute are for those, not for batches."""

    __slots__ = ("_admitted", "_charge", "_chat", "_reserved", "account", "hurried")

    def __init__(self, account: Account, *, hurried: bool = True) -> None:
        self.account, self.hurried = account, hurried
        self._charge: Charge | None = None
        self._chat = self._reserved = self._admitted = False

    def twin(self) -> "Tab":
        """For work that goes on when the answer to this request is over: the same key's, reserved by itself."""
        return Tab(self.account, hurried=self.hurried)

    def denied(self, exhausted: Exhausted) -> OverQuota:
        """The refusal that says which limit it is and when there is room again."""
        limit, figure, wait = exhausted
        return OverQuota(limit.value, teaching.over_quota(self.account.key.name, limit.value, figure, wait), wait)

    def reserve(self, now: float, wall: float, *, chat: bool) -> None:
        """A request's worth of every limit, or `OverQuota`. Asked again it says the same."""
        if self._reserved:
            return
        account = self.account
        exhausted = account.exhausted(now, wall, minute=self.hurried, chat=chat)
        if exhausted is not None:
            raise self.denied(exhausted)
        self._reserved, self._chat = True, chat
        if self.hurried and account.key.rpm is not None:
            self._charge = account.requests.charge(now, 1)

    def settle(self, wall: float, *, admitted: bool) -> None:
        """It has a place at a child, or an answer that needs none; else what was reserved is given back."""
        if not self._reserved or self._admitted:
            return
        if admitted:
            self._admitted = True
            self.account.count(wall)
        else:
            self._give_back()

    def undo(self, wall: float) -> None:
        """It had its place, and was refused before a child was asked: as if it had had none."""
        if self._admitted:
            self._admitted = False
            self.account.count(wall, -1)
            self._give_back()

    def _give_back(self) -> None:
        self._reserved = False
        if self._charge is not None:
            self.account.requests.take_back(self._charge, 1)
            self._charge = None

    def spend(self, now: float, wall: float, prompt: int, completion: int) -> None:
        """What its answer cost, once that is known."""
        if prompt or completion:
            self.account.spend(now, wall, (prompt, completion), chat=self._chat and self.hurried)
