"""A registry's listing as rows: all by estimate first, then what is recommended and what is shown by their own headers.

Every offer has a row, also those of which nothing can be said: shards that lack, a header that is none, one model too many.
"""

from collections.abc import Iterator
from typing import Any

from blazar.application.ops.fit_rows import Judge, Row, Unjudged, Weighed
from blazar.application.ops.quants import UNUSABLE, Quants
from blazar.application.ports.remote import Offer
from blazar.domain import teaching
from blazar.domain.errors import NotFound
from blazar.domain.fit.preview import choose
from blazar.domain.references import RemoteRef

MOST_CORRECTIONS = 8
"""Headers read of one listing beyond a family's first, until what is recommended has been read itself."""
_NAMED = 20
"""Quantisations that one sentence names."""


def judge_listing(quants: Quants, judge: Judge, reference: RemoteRef) -> dict[str, Any]:
    """The answer about all of them. Raises `NotFound` for shards that lack of what was asked for, and what reading it raised.

    Where several are compared and slots are open, all are judged for one request at a time.
    """
    offers, asked = quants.offers(), quants.listing.asked
    lacking = asked if asked is not None and asked.missing else None
    if lacking or not offers:
        lacking = lacking or quants.incomplete()[0]
        raise NotFound(teaching.fit_shards_lacking(lacking.quant, lacking.missing))
    several = len(offers) > 1
    rows = _Rows(quants, judge.held(1) if several else judge, offers)
    about = rows.settle()
    answer = judge.answer(reference.registry, str(reference), list(rows.judged.values()), about)
    judged = dict(zip(rows.judged, answer["quants"], strict=True))
    order = sorted(quants.listing.offers, key=lambda offer: offer.size)
    listed = [judged.get(offer) or _unjudged(quants, offer).json() for offer in order]
    notes = [*_notes(quants, rows), *([teaching.fit_one_at_a_time()] if several and judge.open else [])]
    return answer | {"quants": listed, "notes": notes}


class _Rows:
    """Rows that can be judged, by offer."""

    def __init__(self, quants: Quants, judge: Judge, offers: list[Offer]) -> None:
        self._quants, self._judge = quants, judge
        self.judged: dict[Offer, Row] = {}
        for offer in offers:
            self._judge_one(offer)

    def settle(self) -> Row:
        """The row that is shown: what was asked for, else what to take, else the smallest. It and what to take are read."""
        asked = self._quants.listing.asked
        if asked is not None:
            self._read(asked)
        if asked in self._quants.failed and asked is not None:
            raise self._quants.failed[asked]
        for _ in range(MOST_CORRECTIONS):
            take = self._best()
            if take is None or not self.judged[take].estimated:
                break
            self._read(take)
        shown = asked or self._best(read=True) or self._smallest()
        return self.judged[shown]

    def _best(self, *, read: bool = False) -> Offer | None:
        rows = {offer: row for offer, row in self.judged.items() if not (read and row.estimated)}
        best = choose(row.candidate for row in rows.values())
        return next((offer for offer, row in rows.items() if row.candidate is best), None)

    def _smallest(self) -> Offer:
        """The first that can be read."""
        while self.judged:
            offer = next(iter(self.judged))
            self._read(offer)
            if offer in self.judged:
                return offer
        raise next(iter(self._quants.failed.values()))

    def _read(self, offer: Offer) -> None:
        """Judge it by its own header; one that turns out to be none has no row any more."""
        if self._quants.estimated(offer) or offer not in self.judged:
            self._quants.read(offer)
            if offer in self._quants.failed:
                self.judged.pop(offer, None)
            else:
                self._judge_one(offer)

    def _judge_one(self, offer: Offer) -> None:
        quants = self._quants
        try:
            shape = quants.shape(offer)  # the first of a family is read here
        except UNUSABLE:
            return  # `quants.failed` says why
        projector = quants.projector(offer)
        weighed = Weighed(offer.quant, offer.size, len(offer.files), shape, projector, quants.estimated(offer))
        self.judged[offer] = self._judge.row(weighed)


def _unjudged(quants: Quants, offer: Offer) -> Unjudged:
    what, sentence = "not-read", teaching.fit_not_read()
    if offer.missing:
        what, sentence = "incomplete", teaching.fit_shards_lacking(offer.quant, offer.missing)
    elif offer in quants.failed:
        what, sentence = "unreadable", teaching.fit_unreadable(offer.quant, str(quants.failed[offer]))
    return Unjudged(offer.quant, offer.size, len(offer.files), what, sentence)


def _notes(quants: Quants, rows: _Rows) -> Iterator[str]:
    yield from (teaching.fit_shards_lacking(offer.quant, offer.missing) for offer in quants.incomplete())
    yield from (teaching.fit_unreadable(offer.quant, str(why)) for offer, why in quants.failed.items())
    yield from quants.notes
    if any(row.estimated for row in rows.judged.values()):
        read = [row.candidate.quant for row in rows.judged.values() if not row.estimated]
        yield teaching.fit_estimated(", ".join(read))
    judged = {*rows.judged, *quants.failed}
    left = [offer.quant for offer in quants.listing.offers if offer not in judged and not offer.missing]
    if left:
        more = [f"and {len(left) - _NAMED} more"] if len(left) > _NAMED else []
        yield teaching.fit_left_out([*left[:_NAMED], *more])
    yield from quants.listing.notes
