"""A fit verdict as a page that is read at a glance: the quantisations, a bar a device, the sums, what to turn. Decides nothing.

Everything is in GiB. Glyphs differ, so that a bar reads without colour; where the terminal has no block characters, letters do.
A row of numbers adds up to its device: what the load takes, what others use, what is kept free as a margin, what is free beyond it.
Sentences come from `teaching`.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from blazar.adapters.cli.render import GIB, Column, Style, clean, is_terminal, size, table
from blazar.domain import teaching

LONGEST_BAR = 48
SHORTEST_BAR = 8
NARROWEST = 40
"""Columns that prose takes at least."""
UNBROKEN = 100_000
"""Columns of prose that nobody wraps: what is piped is read by programs."""


class _Part(NamedTuple):
    """A stretch of a bar: its glyph, the plain one, and what of a device's row it sums."""

    name: str
    glyph: str
    plain: str
    fields: tuple[str, ...] = ()


_WEIGHTS = _Part("weights", "█", "#", ("weights",))
_OTHER = _Part("other", "◆", "*", ("projector", "draft", "lora"))
_TAKEN = _Part("in use", "╳", "x")
_KEPT = _Part("kept", "▚", "o", ("margin",))
_FREE = _Part("free", "░", ".")
_MAPPED = _Part("mapped", "", "")
"""No stretch of a bar: it need not be there."""
_PARTS = (
    _WEIGHTS,
    _Part("kv", "▓", "=", ("kv", "recurrent")),
    _Part("compute", "▒", "+", ("compute",)),
    _OTHER,
    _TAKEN,
    _KEPT,
)
_ALWAYS = frozenset({"weights", "kv", "compute"})

_LOADABLE = frozenset({"fits", "fits-from-disk", "fits-after-eviction"})
_WHOLE, _PARTLY, _HOST = range(3)
_VERDICTS = {
    ("fits", _WHOLE): "fits",
    ("fits", _PARTLY): "fits partly on GPU",
    ("fits", _HOST): "fits, not on GPU",
    ("fits-from-disk", _WHOLE): "fits, reading disk",
    ("fits-from-disk", _PARTLY): "fits, reading disk",
    ("fits-from-disk", _HOST): "fits, reading disk",
    ("fits-after-eviction", _WHOLE): "fits when others leave",
    ("fits-after-eviction", _PARTLY): "fits partly when others leave",
    ("fits-after-eviction", _HOST): "fits when others leave",
}
_NOT = {
    "never": "too large",
    "refused": "refused",
    "unreadable": "cannot be read",
    "incomplete": "shards missing",
    "not-read": "not looked at",
}

_QUANTS = (
    Column(""),
    Column("QUANT"),
    Column("SIZE", right=True),
    Column("VERDICT"),
    Column("CONTEXT", right=True),
    Column("UP TO", right=True),
    Column("CACHE"),
    Column("NEEDED", right=True),
)


def page(found: Mapping[str, Any], width: int | None = None, style: Style | None = None) -> str:
    """The body of /api/fit for people; `width` is the terminal's in columns. Prose is wrapped for a terminal only."""
    prose = width or 0
    if width is None:
        width = shutil.get_terminal_size((80, 24)).columns
        prose = width if is_terminal(sys.stdout) else UNBROKEN
    look = _Look(width, prose, style or Style(), fancy=_has_blocks())
    return "\n".join(line.rstrip() for line in look.lines(found))


def _has_blocks() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or ""
    return encoding.lower().replace("-", "") in ("utf8", "utf16")


class _Look:
    """Where a page is shown: columns for bars and for prose, colours, and whether there are block characters."""

    def __init__(self, width: int, prose: int, style: Style, *, fancy: bool) -> None:
        self.width, self.prose, self.style, self.fancy = width, prose, style, fancy

    def lines(self, found: Mapping[str, Any]) -> Iterator[str]:
        verdict, quants = found["verdict"], found["quants"]
        yield self.style.bold(clean(str(found["model"]))) + f"  on {_machine(found['machine'])}"
        if len(quants) > 1:
            yield ""
            yield table(_QUANTS, [_quant(row, fancy=self.fancy) for row in quants])
        yield ""
        yield from self.told(f"{found['quant']}: {verdict['sentence']}")
        if verdict["exact_bytes"]:  # else it was refused before anything was counted
            yield from self._counted(verdict, next((row for row in quants if row["quant"] == found["quant"]), {}))
        yield from self._hints(verdict, found)
        if others := found.get("alternatives"):
            yield ""
            yield teaching.fit_others()
            yield table(_QUANTS, [_quant(row, fancy=self.fancy) for row in others])
        if len(quants) > 1:
            yield ""
            yield self.style.bold(clean(teaching.fit_take(str(found["take"] or ""))))

    def told(self, text: str, indent: str = "") -> list[str]:
        """Sentences, wrapped; names in them come from strangers."""
        return wrap(clean(text), max(self.prose, NARROWEST), subsequent_indent=indent, break_on_hyphens=False)

    def _counted(self, verdict: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
        if devices := verdict["devices"]:
            yield ""
            yield from _bars(devices, self)
        yield ""
        for line in _sums(verdict, row):
            yield from self.told(line)

    def _hints(self, verdict: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
        if verdict["evict"]:
            yield from self.told(teaching.fit_leaves_first(list(map(str, verdict["evict"]))))
        arrow = "→" if self.fancy else "->"
        levers = [f"{arrow} {lever}" for lever in verdict["levers"]]
        for line in (*levers, *verdict["notes"], *found["notes"]):
            yield from map(self.style.dim, self.told(line, "  "))


def _machine(machine: Mapping[str, Any]) -> str:
    """Cards of one size together, then the memory; what is imagined of them is marked."""
    counts: dict[str, int] = {}
    for device in machine["devices"]:
        if device["total"]:
            label = f"{device['total'] / GIB:.4g} GiB {clean(str(device['kind']))}"
            counts[label] = counts.get(label, 0) + 1
    cards = ", ".join(f"{count} × {label}" if count > 1 else label for label, count in counts.items())
    ram = f"{machine['ram_total'] / GIB:.4g} GiB RAM" if machine["ram_total"] else "RAM of unknown size"
    marked = machine.get("imagined_parts", ("gpu", "ram") if machine["imagined"] else ())
    if "gpu" in marked:
        cards = f"{cards or 'no card'} (imagined)"
    return ", ".join(filter(None, (cards, f"{ram} (imagined)" if "ram" in marked else ram)))


def _quant(row: Mapping[str, Any], *, fancy: bool) -> list[str]:
    outcome = str(row["outcome"])
    take = ("→" if fancy else ">") if row["take"] else " "
    loadable = outcome in _LOADABLE
    keys, values = str(row["cache_type_k"]), str(row["cache_type_v"])
    return [
        take + ("~" if row["estimated"] else ""),
        str(row["quant"]),
        size(row["size"]),
        _VERDICTS.get((outcome, _where(row)), _NOT.get(outcome, outcome)),
        str(row["ctx"]) if loadable else "-",
        str(row["ctx_up_to"] or "-"),
        (keys if keys == values else f"{keys}/{values}") if loadable else "-",
        size(row["exact_bytes"]) if row["exact_bytes"] else "-",
    ]


def _where(row: Mapping[str, Any]) -> int:
    """Whether the layers lie on cards: all, some, none of them."""
    if row["whole"]:
        return _WHOLE
    return _PARTLY if row["gpu_layers"] else _HOST


def _bars(devices: Sequence[Mapping[str, Any]], look: _Look) -> Iterator[str]:
    """Headings are the legend: each names its part and shows its glyph. Where they leave no room, bars have lines of their own."""
    rows = [_amounts(device) for device in devices]
    shown = [part for part in _PARTS if part.name in _ALWAYS or any(amounts[part.name] for amounts in rows)]
    shown += [_FREE, *([_MAPPED] if any(amounts["mapped"] for amounts in rows) else [])]
    glyphs = [part.glyph if look.fancy else part.plain for part in shown]
    cells = [[f"{amounts[part.name] / GIB:.2f}" for part in shown] for amounts in rows]
    names = max(6, *(len(str(device["device"])) for device in devices))
    wide = [f"{part.name.upper()} {glyph}".rstrip() for part, glyph in zip(shown, glyphs, strict=True)]
    room = look.width - names - 13 - sum(2 + cell for cell in _widths(wide, cells))
    apart = room < SHORTEST_BAR
    heads = [part.name.upper() for part in shown] if apart else wide
    widths = _widths(heads, cells)
    length = min(LONGEST_BAR, look.width - names - 4 if apart else room)
    gap = "  " if apart else f"  {' ' * length}  "
    yield f"{'DEVICE'.ljust(names)}  {'GiB'.rjust(7)}{gap}{_row(heads, widths)}"
    if apart:
        yield f"{' ' * (names + 9)}{gap}{_row(glyphs, widths)}"
    for device, amounts, line in zip(devices, rows, cells, strict=True):
        bar = _bar(amounts, device["total"] or device["free"], length, look.style, fancy=look.fancy)
        start = f"{clean(str(device['device'])).ljust(names)}  {device['total'] / GIB:7.2f}"
        yield f"{start}{gap if apart else f'  {bar}  '}{_row(line, widths)}"
        if apart:
            yield f"{' ' * (names + 2)}{bar}"


def _widths(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(heads, *cells, strict=True)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.rjust(wide) for cell, wide in zip(cells, widths, strict=True))


def _amounts(device: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of each part; `free` is what is left beside them, negative where so much is missing.

    Weights that may be dropped again (`mapped`) stand apart: they are not in the way of anything.
    """
    amounts = {part.name: sum(int(device.get(field, 0)) for field in part.fields) for part in _PARTS}
    amounts["mapped"] = int(device.get("mapped", 0))  # an older daemon does not say
    amounts["weights"] -= amounts["mapped"]
    amounts["in use"] = max(0, int(device["total"]) - int(device["free"])) if device["total"] else 0
    return amounts | {"free": int(device["headroom"])}


def _bar(amounts: Mapping[str, int], total: int, length: int, style: Style, *, fancy: bool) -> str:
    """Stretches by running sums, so that they add up; what is there at all gets a glyph. What is too much is cut."""
    if total <= 0:
        return " " * length
    cells: list[str] = []
    done = 0
    for part in _PARTS:
        amount = amounts[part.name]
        done += amount
        end = min(length, max(round(done * length / total), len(cells) + (amount > 0)))
        glyph = part.glyph if fancy else part.plain
        cells += [style.stretch(part.name, glyph)] * (end - len(cells))
    free = style.stretch(_FREE.name, _FREE.glyph if fancy else _FREE.plain)
    return "".join(cells + [free] * (length - len(cells)))


def _sums(verdict: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    """What it comes to, what it is loaded as, and how to read the table above. `row` is the one of `quants` that it is about."""
    chosen, cards = verdict["chosen"], [device for device in verdict["devices"][1:] if device["used"]]
    kept = size(sum(device["margin"] for device in cards)) if cards else ""
    sums = (size(verdict[f"{name}_bytes"]) for name in ("exact", "admission", "floor"))
    needed, charged, floor = sums
    yield teaching.fit_sums(needed, kept, charged, floor)
    if verdict["memory"]["upper_bound"]:
        yield teaching.fit_upper_bound()
    slots = chosen["slots"] or 1
    parts = [
        teaching.fit_window(chosen["ctx"], slots, chosen["ctx_size"], chosen["kv_unified"]),
        teaching.fit_cache(chosen["cache_type_k"], chosen["cache_type_v"]),
    ]
    if chosen["gpu_layers"]:
        parts.append(teaching.fit_layers(chosen["gpu_layers"], row.get("layers", 0)))
    yield ", ".join(parts)
    if any(device.get("mapped", 0) for device in verdict["devices"]):
        yield teaching.fit_mapped()
