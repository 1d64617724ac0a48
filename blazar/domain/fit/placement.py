"""Which layer lies on which device. Decides places for settings that are decided otherwise.

llama.cpp b11434 (src/llama-model.cpp, `load_tensors`): `gpu_layers` are counted from the output layer down and offloaded in one
run, which the devices share out in their order; the input layer stays with the host. A block's cache and recurrent state lie
where the block lies (`kv_offload` off: with the host).

What a device computes with is bounded from above while places are looked for, and counted exactly once they are found (`shares`).
More room on a device never makes the search fail: the last way it tries, all devices filled one by one, has every other in it.

Not decided here: the window, cache types and slots (`ladder`, `slots`), who has to leave (`planner`).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from struct import Struct
from typing import NamedTuple

from blazar.domain.fit import guard
from blazar.domain.fit.bill import Bill
from blazar.domain.fit.machine import Device, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shares import HOST, Extras, Layout, Load, Placement, Scratch


def candidates(machine: Machine, settings: Settings) -> tuple[Device, ...]:
    """Devices that layers may lie on, in the engine's order: the configured ones, otherwise all that report memory.

    First those of other machines, then cards, and graphics that share the host's memory only where there is no card (src/llama.cpp,
    `llama_prepare_model_devices`).
    """
    pool = machine.pool
    if settings.devices:
        named = {device.name: device for device in pool}
        return tuple(named[name] for name in settings.devices if name in named)
    remote = [device for device in pool if device.kind == "rpc"]
    cards = [device for device in pool if device.kind != "rpc" and not device.shared]
    return (*remote, *(cards or [device for device in pool if device.shared and device.kind != "rpc"]))


def fill(one: Bill, scratch: Scratch, rooms: Sequence[int], lowest: int = 0) -> tuple[int, ...]:
    """How many layers each device takes, as many as fit: from the output layer down to `lowest`, the last device first.

    A device's cost grows with every layer, so that taking all it can is never worse for those before it; a device that cannot
    take even one gets none, and the next is asked (case F17).
    """
    counts = [0] * len(rooms)
    end = one.layers + 1
    for index in reversed(range(len(rooms))):
        needed = scratch[end == one.layers + 1]
        start = max(bisect_left(one.moving, one.moving[end] + needed - rooms[index], 0, end + 1), lowest)
        if start < end and needed <= rooms[index]:
            counts[index], end = end - start, start
    return tuple(counts)


def shared_out(layers: int, ratios: Sequence[float]) -> tuple[int, ...]:
    """How many of `layers` layers each device gets by ratio, as the engine counts: `std::upper_bound` on running sums, as floats."""
    sums = list(accumulate(map(_single, ratios), lambda total, ratio: _single(total + ratio)))
    if layers == 0 or sums[-1] <= 0:
        return (0,) * len(ratios)
    bounds = [_single(part / sums[-1]) for part in sums]
    ends = [bisect_left(range(layers), bound, key=lambda i: _single(i / layers)) for bound in bounds]
    return tuple(end - begin for begin, end in zip([0, *ends], ends, strict=False))


def _single(value: float) -> float:
    """Rounded to the engine's single precision."""
    return float(_FLOAT.unpack(_FLOAT.pack(value))[0])


_FLOAT = Struct("f")


def within(one: Bill, scratch: Scratch, counts: Sequence[int], rooms: Sequence[int]) -> bool:
    """Whether no device gets more than it has room for."""
    start = one.layers + 1 - sum(counts)
    for count, room in zip(counts, rooms, strict=True):
        end = start + count
        if count and one.moving[end] - one.moving[start] + scratch[end == one.layers + 1] > room:
            return False
        start = end
    return True


class Search(NamedTuple):
    """One question: where do the layers of this load go?"""

    load: Load

    @property
    def bill(self) -> Bill:
        return self.load.bill

    @property
    def settings(self) -> Settings:
        return self.load.settings

    def homes(self, cards: Sequence[Device], every: bool) -> Iterator[Extras]:
        """Where projector and draft may go, the usual places first; with `every`, all the other places follow.

        The engine puts the projector on the first of its devices (common/arg.cpp: `--mmproj-device`, else the front of
        `--device`); the draft goes wholly to one device, the roomiest. Both are told to it.
        """
        wanted = self.settings
        names = [card.name for card in cards]
        first, roomy = names[0], max(cards, key=self.load.room).name
        projectors, drafts = [first, *names[1:]], [roomy, *(name for name in names if name != roomy)]
        if not wanted.projector_offload:
            projectors = [HOST]
        elif wanted.projector_device:
            projectors = [wanted.projector_device]
        if wanted.draft and wanted.draft.settings.gpu_layers == 0:
            drafts = [HOST]
        elif wanted.draft and wanted.draft.settings.devices:
            drafts = [wanted.draft.settings.devices[0]]
        for projector in projectors if every and self.bill.projector else projectors[:1]:
            for draft in drafts if every and self.bill.draft else drafts[:1]:
                yield self.extras(projector, draft)

    def hosted(self) -> Extras:
        """Nothing on a device but what was sent there by name."""
        wanted, projector, draft = self.settings, HOST, HOST
        if wanted.projector_offload and wanted.projector_device:
            projector = wanted.projector_device
        if wanted.draft and wanted.draft.settings.devices and wanted.draft.settings.gpu_layers != 0:
            draft = wanted.draft.settings.devices[0]
        return self.extras(projector, draft)

    def extras(self, projector: str, draft: str) -> Extras:
        """Bytes by device; what names no device of this machine lies with the host."""
        known = {device.name for device in self.load.machine.pool}
        parts = [(projector, self.bill.projector), (draft, self.bill.draft), *self.bill.elsewhere]
        sizes: dict[str, int] = {}
        for name, size in parts:
            where = name if name in known else HOST
            sizes[where] = sizes.get(where, 0) + size
        return Extras(projector, draft, sizes)

    def rooms(self, cards: Sequence[Device], more: Extras, layers: int | None) -> list[int]:
        """What each device has left for its part of `layers` (None: of some). One that shares the host's memory cannot give more than that has."""
        ram = self.load.machine.ram_available
        rooms = [
            (min(self.load.room(card), ram - guard.MARGIN) if card.shared and ram else self.load.room(card))
            - more.sizes.get(card.name, 0)
            for card in cards
        ]
        rooms[0] -= self.load.visiting(layers)
        return rooms

    def layouts(self, cards: Sequence[Device], layers: int) -> Iterator[Layout]:
        """Ways to put `layers` layers on devices, the best first. Devices or ratios that somebody configured are kept.

        One device where that is enough, the tightest that takes them all, which leaves the larger ones whole for others; else as
        few as possible, by the room they have as the engine does it, or filled one by one where that overflows a device.
        """
        if self.settings.tensor_split:
            counts = shared_out(layers, self.ratios(cards))
            yield from (Layout(tuple(cards), counts, more) for more in self.homes(cards, True))
            return
        if not self.settings.devices:
            scratch = self.load.scratch(1)
            for card in sorted(cards, key=self.load.room):
                more = next(self.homes([card], False))
                if within(self.bill, scratch, [layers], self.rooms([card], more, layers)):
                    yield Layout((card,), (layers,), more)
        scratch = self.load.scratch(self.load.copies(cards, layers))
        # Of equals the first: cards are pinned from the first on.
        roomiest = sorted(cards, key=self.load.room, reverse=True)
        fewest = len(cards) if self.settings.devices else min(2, len(cards))
        need = self.bill.moving[-1] - self.bill.moving[self.bill.layers + 1 - layers]
        for count in range(fewest, len(cards) + 1):
            chosen = [card for card in cards if card in roomiest[:count]]
            if sum(max(self.load.room(card), 0) for card in chosen) < need:
                continue
            for more in self.homes(chosen, count == len(cards)):
                yield from self._over(chosen, layers, more, scratch)

    def _over(self, cards: Sequence[Device], layers: int, more: Extras, scratch: Scratch) -> Iterator[Layout]:
        rooms = self.rooms(cards, more, layers)
        even = shared_out(layers, [max(room, 0) for room in rooms])
        if sum(even) == layers and within(self.bill, scratch, even, rooms):
            yield Layout(tuple(cards), even, more)
        full = fill(self.bill, scratch, rooms, self.bill.layers + 1 - layers)
        if sum(full) == layers:
            yield Layout(tuple(cards), full, more)

    def spilled(self, cards: Sequence[Device]) -> Iterator[Layout]:
        """Ways for a load that the devices do not take whole, the best first; the last puts nothing on them."""
        most = self.partly(cards, 1)
        yield most
        if self.bill.recurrent[-1]:
            # The cut may cost a cache of its own (`Load.visiting`); one layer lower it seldom does.
            first, *rest = most.counts
            if first > 1 and not self.settings.tensor_split:
                yield Layout(most.cards, (first - 1, *rest), most.extras)
            yield self.partly(cards, None)
        yield Layout((), (), self.hosted())

    def partly(self, cards: Sequence[Device], layers: int | None) -> Layout:
        """As many layers as the devices take, if the host's part visits them as for `layers` layers (None: as much as it may)."""
        scratch = self.load.scratch(1)
        ways = []
        for more in self.homes(cards, True):
            rooms = self.rooms(cards, more, layers)
            if self.settings.tensor_split:
                ratios = self.ratios(cards)
                tries = (shared_out(some, ratios) for some in range(self.bill.layers, -1, -1))
                counts = next(counts for counts in tries if within(self.bill, scratch, counts, rooms))
            else:
                counts = fill(self.bill, scratch, rooms, 1)
            ways.append(Layout(tuple(cards), counts, more))
        best = max(ways, key=lambda layout: sum(layout.counts))
        # The first device alone has guests (`Load.visiting`): without it, the next one has.
        return (
            best if best.counts[0] or len(cards) == 1 or self.settings.tensor_split else self.partly(cards[1:], layers)
        )

    def ratios(self, cards: Sequence[Device]) -> list[float]:
        """The configured split, as long as there are devices: a missing ratio is 0."""
        return [*self.settings.tensor_split, *[0.0] * len(cards)][: len(cards)]

    def overfull(self, cards: Sequence[Device], layers: int) -> Layout:
        """What the engine would do if it were told to anyway: shown with what is missing where."""
        more = next(self.homes(cards, False))
        ratios = self.ratios(cards) if self.settings.tensor_split else [float(max(card.free, 1)) for card in cards]
        return Layout(tuple(cards), shared_out(layers, ratios), more)


def place(load: Load, partly: bool = True) -> Placement:
    """Where the layers go, and what that leaves free: as many as `gpu_layers` says, None: all, or (`partly`) as many as fit.

    `short` of the answer is above 0 where it does not fit; its shares then show where it is missing.
    """
    search = Search(load)
    cards = candidates(load.machine, load.settings)
    wanted = load.settings.gpu_layers
    everything = load.bill.layers + 1
    layers = everything if wanted is None or wanted < 0 else min(wanted, everything)
    if not cards or not layers:
        return load.settle(Layout((), (), search.hosted()), 0)
    tried = []
    for layout in search.layouts(cards, layers):
        found = load.settle(layout, layers)
        if found.fits:
            return found
        tried.append(found)
    if wanted is None and partly:
        for layout in search.spilled(cards):
            found = load.settle(layout, layers)
            if found.fits:
                return found
            tried.append(found)
    tried.append(load.settle(search.overfull(cards, layers), layers))
    return min(tried, key=lambda found: found.short)
