"""What every device holds once the layers have places: each byte of a load in exactly one share. Looks for no place.

A device's compute buffer is counted for the blocks that it got, as llama-server reserves it; a device that got nothing has an
empty share.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from blazar.domain.fit import budget, guard
from blazar.domain.fit.bill import Bill
from blazar.domain.fit.compute import PIPELINE_COPIES, compute_bytes, compute_host, compute_on, served_outputs
from blazar.domain.fit.machine import Device, Machine
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.verdict import Share

HOST = "host"

DRAFTED = 16
"""Tokens that a draft may propose at once: the engine computes logits for them and one more (its own default is 3,
common/common.h, `n_max`)."""


def outputs(shape: ModelShape, settings: Settings) -> int:
    """Tokens of a micro-batch for which llama-server reserves logits; 0: all, as an embedding model needs."""
    return served_outputs(settings, settings.drafted or (DRAFTED if settings.draft else 0)) if shape.causal else 0


class Layout(NamedTuple):
    """Devices, how many layers each of them gets, and where the parts go that are not layers."""

    cards: tuple[Device, ...]
    counts: tuple[int, ...]
    attached: "Attached"


class Attached(NamedTuple):
    """What goes to one device whatever layers it gets: where, and how much by device name (bytes)."""

    projector: str
    draft: str
    sizes: dict[str, int]


Scratch = tuple[int, int]
"""Bounds of one device's compute buffer in bytes, without and with the output layer."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where everything lies. `counts` are layers by device, in the order of `devices`; `short` is what is missing, in bytes."""

    devices: tuple[str, ...]
    counts: tuple[int, ...]
    gpu_layers: int
    whole: bool
    shares: tuple[Share, ...]
    short: int
    projector_device: str = ""
    draft_device: str = ""

    @property
    def fits(self) -> bool:
        return self.short == 0

    @property
    def tensor_split(self) -> tuple[float, ...]:
        """Ratios with which the engine shares its layers out as planned; one device needs none.

        It compares i/n with the split's running sum over n, both in float: whole counts are met exactly.
        """
        return tuple(map(float, self.counts)) if len(self.counts) > 1 else ()


class Part(NamedTuple):
    """One device's run of layers; how often its inputs are kept, and the bytes of a weight that visits it."""

    start: int = 0
    end: int = 0
    copies: int = 1
    visitor: int = 0


Computed = dict[tuple[range, bool | None, int], int]
"""Bytes of compute buffers: by blocks, whether the output layer is there (None: the host's buffer), and copies."""


@dataclass(frozen=True)
class Load:
    """One bill on one machine. `ladder`: a tenth of the memory is to stay free besides the margins.

    `paging`: main memory need not hold all the weights that stay there at a time.
    """

    bill: Bill
    shape: ModelShape
    machine: Machine
    settings: Settings
    ladder: bool = False
    paging: bool = False
    computed: Computed = field(default_factory=dict, repr=False, compare=False)
    """Buffers that were counted before: the same few are asked for in many layouts, and on other machines."""

    def room(self, device: Device) -> int:
        """What may be put on a device: what is free now (case F20), without its margin."""
        usual = device.free - budget.MARGIN_PER_DEVICE
        return min(usual, budget.ladder_room(device.free)) if self.ladder else usual

    @cached_property
    def nailed(self) -> dict[str, int]:
        """Bytes of the tensors that an override sends to a device, by device; what names none of this machine's is the host's.

        Workers' buffers bear the worker's address, and a device's number there, which is not the engine's (ggml/src/ggml-rpc).
        """
        if not self.bill.elsewhere:
            return {}
        names: dict[str, str] = {}
        of_worker: dict[str, int] = {}
        for device in self.machine.pool:
            names[device.name] = device.name
            if device.kind == "rpc":
                number = of_worker[device.label] = of_worker.get(device.label, -1) + 1
                names[f"RPC{number}[{device.label}]"] = device.name
        sizes: dict[str, int] = {}
        for buffer, size in self.bill.elsewhere:
            where = names.get(buffer) or names.get(buffer.partition("[")[0], HOST)
            sizes[where] = sizes.get(where, 0) + size
        return sizes

    def copies(self, cards: Sequence[Device], layers: int) -> int:
        """How often each device keeps its inputs: several that hold all of a model work on several micro-batches at once.

        src/llama-context.cpp, `pipeline_parallel`: not with overridden tensors or the cache on the host.
        """
        wanted = self.settings
        moved = wanted.cpu_moe_n or wanted.cpu_ffn_n or wanted.override_tensor or wanted.tensor_preset
        plain = wanted.kv_offload and not moved
        return PIPELINE_COPIES if len(cards) > 1 and layers > self.bill.layers and plain else 1

    def visiting(self, layers: int | None) -> int:
        """Bytes on the first device for what lies with the host and is computed with there, where it has `layers` layers.

        One weight after another: prompts are long enough for that to pay (`op_offload`), and a new part of the graph begins with
        each of them, so that the next takes the place of the last (ggml/src/ggml-backend.cpp, `ggml_backend_sched_split_graph`).
        Or the cache of a block before a recurrent one (`_joining`). None: the most for any number of layers that leaves some
        with the host.
        """
        blocks = self.shape.blocks
        spilled = layers is None or layers <= self.bill.layers or self.bill.stays[-1] > 0
        if layers == 0 or not spilled:
            return 0
        starts = range(len(blocks)) if layers is None else (self.bill.layers + 1 - layers,)
        return max(self.bill.largest, *map(self._joining, starts)) if self.shape.recurrent else self.bill.largest

    def _joining(self, start: int) -> int:
        """Bytes of the cache that the host keeps and the device of block `start` reads for the block before.

        Flash attention has no weight that would hold it on the host. Between an attending block there and a recurrent one here, it
        comes right before the look-up of a state that lies here, and is drawn over to it (second pass of the function above; `build_rs`
        in src/llama-graph.cpp). Measured with RPC devices.
        """
        blocks = self.shape.blocks
        if not 0 < start < len(blocks) or not blocks[start].recurrent or not self.settings.kv_offload:
            return 0
        return self._largest_cache((start - 1,))

    def _largest_cache(self, blocks: Iterable[int]) -> int:
        """Bytes that a device is handed of the largest of these blocks' caches; keys twice where they are read as values too."""
        kv = self.bill.kv
        return (2 if self.shape.mla else 1) * max((kv[block + 1] - kv[block] for block in blocks), default=0)

    def scratch(self, copies: int) -> Scratch:
        blocks = range(len(self.shape.blocks))
        return self.compute(blocks, False, copies), self.compute(blocks, True, copies)

    def compute(self, blocks: range, output: bool, copies: int) -> int:
        """Bytes of one device's compute buffer. Caches that lie with the host are handed to it block by block."""
        key = blocks, output, copies
        if key not in self.computed:
            self.computed[key] = self._counted(blocks, output, copies)
        return self.computed[key]

    def _counted(self, blocks: range, output: bool, copies: int) -> int:
        own = compute_on(
            self.shape, self.settings, blocks, output, copies=copies, outputs=outputs(self.shape, self.settings)
        )
        if self.settings.kv_offload:
            return own
        # Before a recurrent block, whose state lies with the host too, attention stays there.
        follows = [block.recurrent for block in self.shape.blocks[1:]]
        return own + self._largest_cache(number for number in blocks if number >= len(follows) or not follows[number])

    def settle(self, layout: Layout, layers: int, *, bounds: bool = False) -> Placement:
        """A layout's shares, counted exactly; with `bounds`, what devices compute with as it was bounded while places were looked for."""
        used = Layout(*self._used(layout), layout.attached)
        offloaded = sum(used.counts)
        copies = self.copies(used.cards, offloaded)
        shares = [self.host(offloaded, used, copies)]
        start = self.bill.layers + 1 - offloaded
        ranges = {}
        visitor = self.visiting(offloaded)
        for card, count in zip(used.cards, used.counts, strict=True):
            ranges[card.name] = Part(start, start + count, copies, visitor)
            start, visitor = start + count, 0
        shares += [self._card(card, ranges.get(card.name, Part()), used.attached, bounds) for card in self.machine.pool]
        return Placement(
            devices=tuple(card.name for card in used.cards),
            counts=used.counts,
            gpu_layers=offloaded,
            whole=offloaded >= layers,
            shares=tuple(shares),
            short=self._short(shares, bool(used.cards)),
            projector_device=used.attached.projector if self.bill.projector else "",
            draft_device=used.attached.draft if self.bill.draft else "",
        )

    def _used(self, layout: Layout) -> tuple[tuple[Device, ...], tuple[int, ...]]:
        """Without the devices that got no layer, which the engine would set up all the same; but those that hold a tensor have to be."""
        pairs = [pair for pair in zip(layout.cards, layout.counts, strict=True) if pair[1]]
        taken = {card.name for card, _ in pairs}
        pairs += [(card, 0) for card in self.machine.pool if card.name in self.nailed and card.name not in taken]
        return tuple(card for card, _ in pairs), tuple(count for _, count in pairs)

    def _card(self, card: Device, part: Part, more: Attached, bounds: bool) -> Share:
        one, start, end = self.bill, part.start, part.end
        if start == end and not more.sizes.get(card.name):
            return Share(card.name, card.total, card.free)
        stays = self.settings.kv_offload
        weights = one.weights[end] - one.weights[start] + self.nailed.get(card.name, 0)
        return Share(
            card.name,
            card.total,
            card.free,
            weights=weights,
            kv=one.kv[end] - one.kv[start] if stays else 0,
            recurrent=one.recurrent[end] - one.recurrent[start] if stays else 0,
            compute=self._scratch_of(part, bounds) if start < end else 0,
            projector=one.projector if more.projector == card.name else 0,
            draft=one.draft if more.draft == card.name else 0,
            lora=one.lora[end] - one.lora[start],
            margin=budget.MARGIN_PER_DEVICE,
            floor=budget.admission_floor(weights),
        )

    def _scratch_of(self, part: Part, bounds: bool) -> int:
        output = part.end == self.bill.layers + 1
        blocks = range(len(self.shape.blocks)) if bounds else blocks_of(self.shape, part.start, part.end)
        return self.compute(blocks, output, part.copies) + part.visitor

    def host(self, offloaded: int, used: Layout, copies: int) -> Share:
        """The host's part where so many layers lie on devices."""
        one, machine, more = self.bill, self.machine, used.attached
        start = one.layers + 1 - offloaded
        known = {device.name for device in machine.pool}
        weights = one.input + one.stays[-1] + one.weights[start]
        weights += self.nailed.get(HOST, 0)
        # The second copy of a tied embedding is made for a device alone.
        weights -= 0 if offloaded else one.tied
        here = start if self.settings.kv_offload else -1
        return Share(
            HOST,
            machine.ram_total,
            machine.ram_available,
            weights=weights,
            kv=one.kv[here],
            recurrent=one.recurrent[here],
            compute=self._host_scratch(offloaded, start, copies),
            projector=one.projector if more.projector not in known else 0,
            draft=one.draft if more.draft not in known else 0,
            lora=one.lora[start],
            margin=guard.MARGIN,
            mapped=self._mapped(weights, start, used.cards),
        )

    def _mapped(self, weights: int, start: int, cards: Sequence[Device]) -> int:
        """Bytes of the host's weights that the kernel may drop: half of what is mapped, as `spawn_mem_guard` has it.

        Repacked weights are a copy and no part of the file. With a card, its host buffers come first in the engine's list, and
        what they would hold is mapped instead (src/llama-model.cpp, `make_cpu_buft_list`).
        """
        if not self.paging or not self.settings.mmap:
            return 0
        repacks = self.settings.repack and all(card.kind == "rpc" for card in cards)
        copied = self.bill.packs[start] + self.bill.packs_stay[-1] if repacks else 0
        return max(weights - copied, 0) // 2

    def _host_scratch(self, offloaded: int, start: int, copies: int) -> int:
        kept = blocks_of(self.shape, 0, start)
        key = kept, None if offloaded else True, copies
        if key not in self.computed:
            logits = outputs(self.shape, self.settings)
            self.computed[key] = (
                compute_host(self.shape, self.settings, blocks=kept, copies=copies, outputs=logits)
                if offloaded
                else compute_bytes(self.shape, self.settings, outputs=logits)
            )
        return self.computed[key]

    def _short(self, shares: Sequence[Share], offloads: bool) -> int:
        """Bytes that are missing, over all devices: of what each holds, or of its floor.

        Main memory has no floor (`guard` watches it), and where nobody knows its size it is never short.
        """
        host, *others = shares
        cards = {card.name: card for card in self.machine.pool}
        short = sum(
            max(share.used - self.room(cards[share.device]), share.floor - share.free, 0)
            for share in others
            if share.used
        )
        if not host.free:
            return short
        borrowed = sum(share.used for share in others if cards[share.device].shared)
        missing = borrowed - host.headroom
        if self.ladder and not offloads:
            missing = max(missing, host.used - budget.ladder_room(host.free))
        return short + max(missing, 0)


def blocks_of(shape: ModelShape, start: int, end: int) -> range:
    """Layers as blocks of the shape; of a stack that is run through several times, every device may see them all."""
    count = len(shape.blocks)
    return range(start, min(end, count)) if shape.loops <= 1 else range(count)
