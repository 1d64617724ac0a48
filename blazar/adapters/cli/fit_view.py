"""A fit verdict as a page that is read at a glance: the quantisations, a bar a device, the sums, what to turn. Decides nothing.

Everything is in GiB. Glyphs differ, so that a bar reads without colour; where the terminal has no block characters, letters do.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from blazar.adapters.cli.render import GIB, Column, Style, clean, size, table

LONGEST_BAR = 48
SHORTEST_BAR = 8
NARROWEST = 40
"""Columns that prose takes at least."""


class _Part(NamedTuple):
    """A stretch of a bar: its glyph, the plain one, and what of a device's row it sums."""

    name: str
    glyph: str
    plain: str
    fields: tuple[str, ...]


_PARTS = (
    _Part("weights", "█", "#", ("weights",)),
    _Part("kv", "▓", "=", ("kv", "recurrent")),
    _Part("compute", "▒", "+", ("compute",)),
    _Part("other", "◆", "*", ("projector", "draft", "lora")),
)
_TAKEN = _Part("in use", "╳", "x", ())
_FREE = _Part("free", "░", ".", ())

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
_NOT = {"never": "too large", "refused": "refused"}

_QUANTS = (
    Column(""),
    Column("QUANT"),
    Column("SIZE", right=True),
    Column("VERDICT"),
    Column("CONTEXT", right=True),
    Column("UP TO", right=True),
    Column("CACHE"),
    Column("NEEDS", right=True),
)


def page(found: Mapping[str, Any], width: int | None = None, style: Style | None = None) -> str:
    """The body of /api/fit for people; `width` is the terminal's in columns."""
    width = width or shutil.get_terminal_size((80, 24)).columns
    style = style or Style()
    return "\n".join(line.rstrip() for line in _lines(found, width, style, fancy=_has_blocks()))


def _has_blocks() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or ""
    return encoding.lower().replace("-", "") in ("utf8", "utf16")


def _lines(found: Mapping[str, Any], width: int, style: Style, *, fancy: bool) -> Iterator[str]:
    verdict, quants = found["verdict"], found["quants"]
    yield style.bold(clean(str(found["model"]))) + f"  on {_machine(found['machine'])}"
    if len(quants) > 1:
        yield ""
        yield table(_QUANTS, [_quant(row, fancy=fancy) for row in quants])
    yield ""
    yield from _prose(f"{found['quant']}: {verdict['sentence']}", width)
    devices = verdict["devices"]
    if devices:
        yield ""
        yield from _bars(devices, width, style, fancy=fancy)
    yield ""
    for line in _sums(verdict):
        yield from _prose(line, width)
    yield from _hints(verdict, found, width, style, fancy=fancy)
    if others := found.get("alternatives"):
        yield ""
        yield "other quantisations of it, about:"
        yield table(_QUANTS, [_quant(row, fancy=fancy) for row in others])


def _machine(machine: Mapping[str, Any]) -> str:
    """Cards of one size together, then the memory."""
    counts: dict[str, int] = {}
    for device in machine["devices"]:
        if device["total"]:
            label = f"{device['total'] / GIB:.4g} GiB {clean(str(device['kind']))}"
            counts[label] = counts.get(label, 0) + 1
    cards = [f"{count} × {label}" if count > 1 else label for label, count in counts.items()]
    ram = f"{machine['ram_total'] / GIB:.4g} GiB RAM" if machine["ram_total"] else "RAM of unknown size"
    return ", ".join([*cards, ram]) + (" (imagined)" if machine["imagined"] else "")


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


def _bars(devices: Sequence[Mapping[str, Any]], width: int, style: Style, *, fancy: bool) -> Iterator[str]:
    """Headings are the legend: each names its part and shows its glyph."""
    rows = [(device, _amounts(device)) for device in devices]
    shown = [part for part in _PARTS if part.name != "other" or any(amounts["other"] for _, amounts in rows)]
    shown += [_TAKEN] if any(amounts["in use"] for _, amounts in rows) else []
    shown.append(_FREE)
    heads = [f"{part.name.upper()} {part.glyph if fancy else part.plain}" for part in shown]
    names = max(6, *(len(str(device["device"])) for device in devices))
    cells = [[f"{amounts[part.name] / GIB:.2f}" for part in shown] for _, amounts in rows]
    widths = [max(len(head), *(len(line[at]) for line in cells)) for at, head in enumerate(heads)]
    length = max(SHORTEST_BAR, min(LONGEST_BAR, width - names - 10 - sum(widths) - 2 * len(widths) - 2))
    numbers = "  ".join(head.rjust(wide) for head, wide in zip(heads, widths, strict=True))
    yield f"{'DEVICE'.ljust(names)}  {'GiB'.rjust(7)}  {' ' * length}  {numbers}"
    for (device, amounts), line in zip(rows, cells, strict=True):
        bar = _bar(amounts, device["total"] or device["free"], length, style, fancy=fancy)
        numbers = "  ".join(cell.rjust(wide) for cell, wide in zip(line, widths, strict=True))
        total = f"{device['total'] / GIB:.2f}".rjust(7)
        yield f"{clean(str(device['device'])).ljust(names)}  {total}  {bar}  {numbers}"


def _amounts(device: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of each part; `free` is what is left beside it, negative where so much is missing."""
    amounts = {part.name: sum(int(device.get(field, 0)) for field in part.fields) for part in _PARTS}
    taken = max(0, int(device["total"]) - int(device["free"])) if device["total"] else 0
    left = int(device["free"]) + int(device.get("mapped", 0)) - sum(amounts.values())
    return amounts | {"in use": taken, "free": left}


def _bar(amounts: Mapping[str, int], total: int, length: int, style: Style, *, fancy: bool) -> str:
    """Stretches by running sums, so that they add up; what is there at all gets a glyph. What is too much is cut."""
    if total <= 0:
        return " " * length
    cells: list[str] = []
    done = 0
    for part in (*_PARTS, _TAKEN):
        amount = amounts[part.name]
        done += amount
        end = min(length, max(round(done * length / total), len(cells) + (amount > 0)))
        glyph = part.glyph if fancy else part.plain
        cells += [style.stretch(part.name, glyph)] * (end - len(cells))
    free = style.stretch(_FREE.name, _FREE.glyph if fancy else _FREE.plain)
    return "".join(cells + [free] * (length - len(cells)))


def _sums(verdict: Mapping[str, Any]) -> Iterator[str]:
    memory, chosen = verdict["memory"], verdict["chosen"]
    bound = " (an upper bound: the architecture is unknown)" if memory["upper_bound"] else ""
    yield (
        f"exact sum {size(verdict['exact_bytes'])}, floor {size(verdict['floor_bytes'])}; "
        f"loading it is charged {size(verdict['admission_bytes'])}{bound}"
    )
    slots = chosen["slots"] or 1
    shared = ", one cache for all" if slots > 1 and chosen["kv_unified"] else ""
    keys, values = chosen["cache_type_k"], chosen["cache_type_v"]
    cache = keys if keys == values else f"{keys}, values {values}"
    layers = f", {chosen['gpu_layers']} layers on GPU" if chosen["gpu_layers"] else ""
    requests = "1 request" if slots == 1 else f"{slots} requests"
    yield f"context {chosen['ctx']} tokens, {requests} at a time{shared}, cache {cache}{layers}"


def _prose(text: str, width: int, indent: str = "") -> list[str]:
    """Sentences, wrapped; names in them come from strangers."""
    return wrap(clean(text), max(width, NARROWEST), subsequent_indent=indent, break_on_hyphens=False)


def _hints(
    verdict: Mapping[str, Any], found: Mapping[str, Any], width: int, style: Style, *, fancy: bool
) -> Iterator[str]:
    arrow = "→" if fancy else "->"
    if verdict["evict"]:
        yield from _prose(f"would leave first: {', '.join(map(str, verdict['evict']))}", width)
    told = [f"{arrow} {lever}" for lever in verdict["levers"]]
    for line in (*told, *verdict["notes"], *found["notes"]):
        yield from map(style.dim, _prose(line, width, "  "))
    if len(found["quants"]) > 1:
        yield ""
        yield style.bold(f"take {clean(str(found['take']))}") if found["take"] else "none of them fits"
