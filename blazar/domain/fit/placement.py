"""Which layer lies on which device. Decides places for settings that are decided otherwise.

llama.cpp b11434 (src/llama-model.cpp, `load_tensors`): `gpu_layers` are counted from the output layer down and offloaded in one
run, which the devices share out in their order; the input layer stays with the host. A block's cache and recurrent state lie
where the block lies (`kv_offload` off: with the host).

A device takes a part only if that and its margin are free, and the floor of the part's weights is (`budget`): both are judged card
by card, and both grow with every layer. Main memory has no floor; `guard` watches it before a spawn.

What a device computes with is bounded from above while places are looked for, and counted exactly once they are found (`shares`).
More room on a device never makes the search fail: the last way it tries, all devices filled one by one, has every other in it.
Nothing else is taken for a fit, not even a layout that happens to fit by the exact count: the next byte might undo it.

Not decided here: the window, cache types and slots (`ladder`, `slots`), who has to leave (`planner`).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from blazar.domain.fit import budget, guard
from blazar.domain.fit.bill import Bill
from blazar.domain.fit.dealing import Room, fill, shared_out, within
from blazar.domain.fit.machine import Device, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shares import HOST, Attached, Layout, Load, Placement, Scratch, blocks_of


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


@dataclass(frozen=True)
class Search:
    """One question: where do the layers of this load go?"""

    load: Load

    @cached_property
    def known(self) -> frozenset[str]:
        """The names of this machine's devices."""
        return frozenset(device.name for device in self.load.machine.pool)

    @property
    def bill(self) -> Bill:
        return self.load.bill

    @property
    def settings(self) -> Settings:
        return self.load.settings

    def homes(self, cards: Sequence[Device], every: bool) -> Iterator[Attached]:
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
                yield self.attached(projector, draft)

    def hosted(self) -> Attached:
        """Nothing on a device but what was sent there by name."""
        wanted, projector, draft = self.settings, HOST, HOST
        if wanted.projector_offload and wanted.projector_device:
            projector = wanted.projector_device
        if wanted.draft and wanted.draft.settings.devices and wanted.draft.settings.gpu_layers != 0:
            draft = wanted.draft.settings.devices[0]
        return self.attached(projector, draft)

    def attached(self, projector: str, draft: str) -> Attached:
        """Bytes by device; what names no device of this machine lies with the host."""
        parts = [(projector, self.bill.projector), (draft, self.bill.draft), *self.load.nailed.items()]
        sizes: dict[str, int] = {}
        for name, size in parts:
            where = name if name in self.known else HOST
            sizes[where] = sizes.get(where, 0) + size
        return Attached(projector, draft, sizes)

    def tries(self, cards: Sequence[Device], layers: int | None, every: bool) -> Iterator[tuple[Layout, list[Room]]]:
        """Rooms to fill with `layers` layers (None: some), for each home and each device that may be the first to have layers.

        That one has guests (`Load.visiting`), and is kept a layer; the layouts have the counts of those before it.
        """
        firsts = range(len(cards)) if self.load.visiting(layers) else range(1)
        bare = [self._bare(cards, layers, first) for first in firsts]
        for more in self.homes(cards, every):
            for first in firsts:
                rooms = self._rooms(cards, more, bare[first])
                if not any(room.crowded for room in rooms[:first]):
                    yield Layout(tuple(cards), (0,) * first, more), rooms[first:]

    def _bare(self, cards: Sequence[Device], layers: int | None, first: int) -> list[Room]:
        """What each device has left. One that shares the host's memory cannot give more than that has."""
        load, rooms, ram = self.load, [], self.load.machine.ram_available
        for index, card in enumerate(cards):
            room = load.room(card)
            if card.shared and ram:
                room = min(room, ram - guard.MARGIN)
            visitor = load.visiting(layers) if index == first else 0
            rooms.append(Room(room - visitor, budget.weights_room(card.free) - load.nailed.get(card.name, 0)))
        return rooms

    def _rooms(self, cards: Sequence[Device], more: Attached, bare: Sequence[Room]) -> list[Room]:
        """The same without what is no layer."""
        sizes = more.sizes
        if not sizes:
            return list(bare)
        return [
            Room(room.all - sizes[card.name], room.weights, sizes[card.name]) if card.name in sizes else room
            for card, room in zip(cards, bare, strict=True)
        ]

    def hopeless(self, cards: Sequence[Device], layers: int, partly: bool) -> bool:
        """Whether a glance shows that it does not fit: more has to lie somewhere than is free there. Devices' scratch is not counted."""
        one, load, ram = self.bill, self.load, self.load.machine.ram_available
        here = {card.name: max(load.room(card), 0) for card in cards}
        more = (next(self.homes(cards, False)) if cards else self.hosted()).sizes
        room = sum(here.values()) - sum(size for name, size in more.items() if name in here)
        if not partly or self.settings.gpu_layers is not None or not cards:
            start = one.layers + 1 - layers
            return one.moving[-1] - one.moving[start] > room or (ram > 0 and self.host_least(cards, layers) > ram)
        kept = one.kv[-1] + one.recurrent[-1] + one.lora[-1] + more.get(HOST, 0)
        over = one.input - one.tied + one.stays[-1] + one.weights[-1] + kept - room
        # Of mapped weights one half may be dropped.
        return 0 < ram < (over // 2 if load.paging and self.settings.mmap else over)

    def host_least(self, cards: Sequence[Device], layers: int) -> int:
        """Bytes that the host must have, its margin among them, with `layers` layers on devices: whatever the layout, no less."""
        more = next(self.homes(cards, False)) if cards else self.hosted()
        host = self.load.host(layers, Layout(tuple(cards[:1]) if layers else (), (), more), 1)
        return host.used - (host.weights // 2 if host.mapped else 0) + host.margin

    def layouts(self, cards: Sequence[Device], layers: int) -> Iterator[Layout]:
        """Ways to put `layers` layers on devices, the best first. Devices or ratios that somebody configured are kept.

        One device where that is enough, the tightest that takes them all, which leaves the larger ones whole for others; else as
        few as possible, by the room they have as the engine does it, or filled one by one where that overflows a device.
        """
        if self.settings.tensor_split:
            counts = shared_out(layers, self.ratios(cards))
            yield from (Layout(tuple(cards), counts, more) for more in self.homes(cards, True))
            return
        need = self.bill.moving[-1] - self.bill.moving[self.bill.layers + 1 - layers]
        if not self.settings.devices:
            yield from self._alone([card for card in cards if self.load.room(card) >= need], layers)
        scratch = self.load.scratch(self.load.copies(cards, layers))
        # What all of them do not take, no part of them does.
        if any(self._filled(layers, rooms, scratch) for _, rooms in self.tries(cards, layers, True)):
            yield from self._together(cards, layers, need, scratch)

    def _filled(self, layers: int, rooms: Sequence[Room], scratch: Scratch) -> tuple[int, ...]:
        """How many of these layers each device takes; nothing, if they do not take all."""
        kept = 1 if self.load.visiting(layers) else 0
        counts = fill(self.bill, scratch, rooms, self.bill.layers + 1 - layers, kept)
        return counts if sum(counts) == layers else ()

    def _together(self, cards: Sequence[Device], layers: int, need: int, scratch: Scratch) -> Iterator[Layout]:
        room = {card.name: self.load.room(card) for card in cards}
        # Of equals the first: cards are pinned from the first on.
        roomiest = sorted(cards, key=lambda card: room[card.name], reverse=True)
        most = list(accumulate(max(room[card.name], 0) for card in roomiest))
        beside = next(self.homes(cards, False)).sizes
        for count in range(len(cards) if self.settings.devices else min(2, len(cards)), len(cards) + 1):
            taken = {card.name for card in roomiest[:count]}
            if most[count - 1] < need + sum(size for name, size in beside.items() if name in taken):
                continue
            chosen = [card for card in cards if card.name in taken]
            for layout, rooms in self.tries(chosen, layers, count == len(cards)):
                yield from self._over(layout, layers, rooms, scratch)

    def _alone(self, cards: Sequence[Device], layers: int) -> Iterator[Layout]:
        blocks = blocks_of(self.load.shape, self.bill.layers + 1 - layers, self.bill.layers + 1)
        for card in sorted(cards, key=self.load.room):
            layout, rooms = next(self.tries([card], layers, False))
            size = self.load.compute(blocks, True, 1)
            if within(self.bill, (size, size), [layers], rooms):
                yield layout._replace(counts=(layers,))

    def _over(self, layout: Layout, layers: int, rooms: Sequence[Room], scratch: Scratch) -> Iterator[Layout]:
        full = self._filled(layers, rooms, scratch)
        if not full:
            return
        even = shared_out(layers, [max(room.all, 0) for room in rooms])
        if sum(even) == layers and within(self.bill, scratch, even, rooms):
            yield layout._replace(counts=layout.counts + even)
        yield layout._replace(counts=layout.counts + full)

    def spilled(self, cards: Sequence[Device]) -> Iterator[Layout]:
        """Ways for a load that the devices do not take whole, the best first; the last puts nothing on them."""
        most = self.partly(cards, 1)
        yield most
        if self.bill.recurrent[-1]:
            # The cut may cost a cache of its own (`Load.visiting`); one layer lower it seldom does.
            first, *rest = most.counts
            if first > 1 and not self.settings.tensor_split:
                yield Layout(most.cards, (first - 1, *rest), most.attached)
            yield self.partly(cards, None)
        yield Layout((), (), self.hosted())

    def partly(self, cards: Sequence[Device], layers: int | None) -> Layout:
        """As many layers as the devices take, if the host's part visits them as for `layers` layers (None: as much as it may)."""
        scratch, ways, visited = self.load.scratch(1), [], self.load.visiting(layers) > 0
        for layout, rooms in self.tries(cards, layers, True):
            if self.settings.tensor_split and layout.counts:
                continue
            if self.settings.tensor_split:
                counts = self._split(self.ratios(cards), scratch, rooms)
            else:
                counts = fill(self.bill, scratch, rooms, 1, 1)
            # Where the first gets none, the next one has the guests: that is a try of its own.
            if counts[0] or not visited or self.settings.tensor_split or not sum(counts):
                ways.append(layout._replace(counts=layout.counts + counts))
        return max(ways, key=lambda layout: sum(layout.counts))

    def _split(self, ratios: Sequence[float], scratch: Scratch, rooms: Sequence[Room]) -> tuple[int, ...]:
        """The most layers that can be shared out by these ratios."""
        moving, room = self.bill.moving, sum(max(room.all, 0) for room in rooms)
        most = min(self.bill.layers + 1 - bisect_left(moving, moving[-1] - room), self.bill.layers)
        tries = (shared_out(some, ratios) for some in range(most, 0, -1))
        return next((counts for counts in tries if within(self.bill, scratch, counts, rooms)), (0,) * len(rooms))

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
    return fitting(load, partly) or _least_short(load, partly)


def fitting(load: Load, partly: bool = True) -> Placement | None:
    """The same, or None where it does not fit: a caller that only wants to know need not pay for what is missing where."""
    if hopeless(load, partly):
        return None
    search, cards, layers = question(load)
    for layout in _ways(search, cards, layers, partly):
        found = load.settle(layout, layers)
        if found.fits:
            return found
    return None


def hopeless(load: Load, partly: bool) -> bool:
    """Whether a glance shows that it does not fit; False says nothing."""
    search, cards, layers = question(load)
    return search.hopeless(cards, layers, partly)


def question(load: Load) -> tuple[Search, tuple[Device, ...], int]:
    """The search, the devices that may be used, and how many layers are to lie on them."""
    wanted, everything = load.settings.gpu_layers, load.bill.layers + 1
    layers = everything if wanted is None or wanted < 0 else min(wanted, everything)
    cards = candidates(load.machine, load.settings) if layers else ()
    return Search(load), cards, layers if cards else 0


def _ways(search: Search, cards: Sequence[Device], layers: int, partly: bool) -> Iterator[Layout]:
    if not cards:
        yield Layout((), (), search.hosted())
        return
    yield from search.layouts(cards, layers)
    if search.settings.gpu_layers is None and partly:
        yield from search.spilled(cards)


def _least_short(load: Load, partly: bool) -> Placement:
    search, cards, layers = question(load)
    ways = list(_ways(search, cards, layers, partly))
    if cards:
        ways.append(search.overfull(cards, layers))
    found = min((load.settle(layout, layers) for layout in ways), key=lambda found: found.short)
    # By the exact count, but not by the bounds that places are looked for with: those say what is missing.
    return load.settle(ways[-1], layers, bounds=True) if found.fits else found
