"""One request's dealings with the account of its key: reserved, then admitted or given back, then what it cost. Each at most once.

Pure. What is not admitted costs nothing (case L3), and two requests never get the last place both (case L5). Until its cost is known
a request counts for what it is expected to cost, or a crowd would be let in before the first answer had ended.
"""

import re
from typing import Final

from blazar.domain import teaching
from blazar.domain.errors import OverQuota, Unauthorized
from blazar.domain.quota import Account, Charge, Exhausted

BYTES_A_TOKEN: Final = 4
"""Of a body: what English text has, and its JSON is about as much again as what other scripts have more."""
ANSWER_TOKENS: Final = 256
"""Expected of an answer that names no bound of its own, and most of one that does: bounds are often set to all that there is."""
_BOUND: Final = re.compile(rb'"(?:max_(?:completion_|output_)?tokens|num_predict)"\s*:\s*(\d{1,6})\b')
_NAMES: Final = (b'"max_', b'"num_predict"')
_LOOKED_AT: Final = 64 * 1024


def expected(body: bytes, *, answers: bool) -> int:
    """Tokens that a request is taken to cost until that is known; `answers` is whether there is more to it than its prompt.

    ODD: the bound is looked for in the bytes, whatever it belongs to: a wrong guess is put right when the answer ends.
    """
    prompt = max(1, len(body) // BYTES_A_TOKEN)
    if not answers:
        return prompt
    for name in _NAMES:  # a search for both at once takes ten times as long
        if (at := body.find(name, 0, _LOOKED_AT)) >= 0 and (found := _BOUND.match(body, at)) is not None:
            return prompt + min(ANSWER_TOKENS, int(found[1]))
    return prompt + ANSWER_TOKENS


class Tab:
    """`hurried` is whether somebody waits for the answer: limits of a minute are for those, not for batches."""

    __slots__ = ("_admitted", "_charge", "_chat", "_key", "_promised", "_reserved", "account", "hurried")

    def __init__(self, account: Account, *, hurried: bool = True) -> None:
        self.account, self.hurried = account, hurried
        self._key = account.key
        self._promised = 0
        self._charge: Charge | None = None
        self._chat = self._reserved = self._admitted = False

    def twin(self) -> "Tab":
        """For work that goes on when the answer to this request is over: the same key's, reserved by itself."""
        return Tab(self.account, hurried=self.hurried)

    def denied(self, exhausted: Exhausted) -> OverQuota:
        """The refusal that says which limit it is and when there is room again."""
        limit, figure, wait, promised = exhausted
        name = self.account.key.name
        why = (
            teaching.quota_promised(name, limit, figure) if promised else teaching.over_quota(name, limit, figure, wait)
        )
        return OverQuota(limit.value, why, wait)

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters what its request is expected to cost."""
        key = self.account.key
        return key.tpm is not None or key.daily_tokens is not None

    def scope(self) -> tuple[str, ...]:
        """The models that its key may use now, empty for all. Raises `Unauthorized` where the key has gone, or has another secret."""
        account = self.account
        if account.barred or account.key.key != self._key.key:
            raise Unauthorized
        return account.key.models

    def reserve(self, now: float, wall: float, *, chat: bool, tokens: int = 0) -> None:
        """A request's worth of every limit, or `OverQuota`; `tokens` is what it is expected to cost. Asked again it says the same."""
        if self._reserved:
            return
        account = self.account
        exhausted = account.exhausted(now, wall, minute=self.hurried, chat=chat)
        if exhausted is not None:
            raise self.denied(exhausted)
        self._reserved, self._chat = True, chat
        self._promised = tokens
        account.promised += tokens
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

    def close(self) -> None:
        """Nothing more will be known of its cost: what it was expected to be counts no longer."""
        self.account.promised -= self._promised
        self._promised = 0

    def _give_back(self) -> None:
        self._reserved = False
        self.close()
        if self._charge is not None:
            self.account.requests.take_back(self._charge, 1)
            self._charge = None

    def spend(self, now: float, wall: float, prompt: int, completion: int) -> None:
        """What its answer cost, once that is known."""
        self.account.promised -= self._promised
        self._promised = 0
        if prompt or completion:
            self.account.spend(now, wall, (prompt, completion), chat=self._chat and self.hurried)
