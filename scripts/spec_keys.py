"""List every configuration key that the setup document names, with its default where it gives one. Knows nothing of our declaration.

The document reached us as flattened text: columns parted by tabs, one table inside a paragraph, tables of the file in prose.
"""

import argparse
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_NAME = r"[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)*"
_LONG = re.compile(r"(?<![\w./<{-])[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)+(?![\w*=])")
"""A word with an underscore: in the row of a table that is a key."""


class Unsaid:
    """No default is given: nothing to compare."""

    def __repr__(self) -> str:
        return "?"


UNSAID = Unsaid()
_UNSET = frozenset({"(optional)", "unset", "upstream default"})
_NO_DEFAULT = frozenset({"—", "see dump"})


class SpecKey(NamedTuple):
    """A key as settings name it (`table.key` inside a table), its default (None: unset), and the line that says so."""

    name: str
    default: Any
    line: int


def spec_keys(text: str) -> list[SpecKey]:
    """Each key once, in the order in which the text comes to it; what has a default wins over a mere mention."""
    found: dict[str, SpecKey] = {}
    lines = text.splitlines()
    for key in (*_columns(lines), *_paragraph(lines), *_tables(lines), *_examples(lines), *_sentences(lines)):
        there = found.get(key.name)
        if there is None or (there.default is UNSAID and key.default is not UNSAID):
            found[key.name] = key
    return list(found.values())


def _default(words: str) -> Any:
    words = words.strip()
    if words in _UNSET:
        return None
    if words in _NO_DEFAULT:
        return UNSAID
    if words == "table":
        return {}
    try:
        return tomllib.loads(f"x = {words}")["x"]
    except tomllib.TOMLDecodeError:
        return words


def _row(names: str, default: str, purpose: str, line: int) -> Iterator[SpecKey]:
    """`a / b (+ c) / d`, with one default for all or one each."""
    keys = re.findall(_NAME, re.sub(r"[(+)]", " ", names))
    if said := re.search(r"\bdefault (true|false)\b", purpose if "→" in default else ""):
        default = said[1]
    given = [_default(part) for part in default.split(" / ")]
    for index, key in enumerate(keys):
        yield SpecKey(key, given[index] if len(given) == len(keys) else given[0] if len(given) == 1 else UNSAID, line)
    # Some keys have no row of their own: `a / b` or `a` with the prefix of the row's, in its text.
    prefix = keys[0].partition("_")[0] + "_"
    if "_" in keys[0]:
        for other in _LONG.findall(purpose):
            if other.startswith(prefix) and "_args" not in other and not other.startswith("qwen"):
                yield SpecKey(other, UNSAID, line)


def _columns(lines: Sequence[str]) -> Iterator[SpecKey]:
    """Rows below a header whose first column is Key."""
    inside = False
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if cells[:2] == ["Key", "Default"]:
            inside = True
        elif len(cells) < 3:
            inside = False
        elif inside and not cells[0].startswith("reasoning interplay"):
            yield from _row(cells[0], cells[1], cells[2], number)


def _paragraph(lines: Sequence[str]) -> Iterator[SpecKey]:
    """`| key | default | purpose |` rows that ended up in one paragraph."""
    for number, line in enumerate(lines, 1):
        for names, default, purpose in re.findall(
            r"\| ([^|]+) \| ([^|]+) \| ([^|]+?) (?=\|)", line.replace("| |", "| | |")
        ):
            if "…" in names:
                for part in purpose.partition(": ")[2].split(", "):
                    first, _, second = part.partition("/")
                    yield SpecKey(f"spec_draft_{first}", UNSAID, number)
                    if second:
                        yield SpecKey(
                            f"spec_draft_{first.rpartition('_')[0]}_{second.rpartition('_')[2]}", UNSAID, number
                        )
            else:
                yield from _row(names, default, "", number)


def _tables(lines: Sequence[str]) -> Iterator[SpecKey]:
    """Rows below `Table	Purpose`, and what the purpose of a list of tables enumerates: `[[keys]]: name/key/…`."""
    inside = False
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if cells == ["Table", "Purpose"]:
            inside = True
        elif len(cells) < 2:
            inside = False
        elif inside and (table := re.fullmatch(r"\[(\w+)(?:\.<name>)?\]", cells[0])):
            yield from _prose(table[1], cells[1], number)
        for array, names in re.findall(r"\[\[(\w+)\]\]: ([a-z_]+(?:/[a-z_]+)+)", line):
            yield from (SpecKey(f"{array}.{name}", UNSAID, number) for name in names.split("/"))


def _prose(table: str, text: str, line: int) -> Iterator[SpecKey]:
    if table == "sdcpp":  # "no section, by design"
        return
    if table == "model_overrides":
        listed = text.partition(": ")[2].partition(" — ")[0]
        for item in re.sub(r"\([^)]*\)", "", re.sub(r"\(XOR (\w+)\)", r", \1", listed)).split(","):
            yield SpecKey(f"model_overrides.{item.strip()}", UNSAID, line)
        return
    if table == "warm_peg":
        yield SpecKey("warm_peg.default", True, line)
        names = re.sub(r"\([^)]*\)", "", text.partition("overrides: ")[2].partition(", mistral.rs")[0])
        yield from (SpecKey(f"warm_peg.{name}", UNSAID, line) for name in re.findall(_NAME, names))
        return
    for name, value in re.findall(rf'({_NAME}) = ("\w+"(?:\\?\|"\w+")*|true|false|[\d.]+)', text):
        # In the prose about engines it is an example, often of a key of the root.
        if table not in {"mistralrs", "sglang", "mlx"}:
            # `a = "x"|"y"` says what may be.
            yield SpecKey(f"{table}.{name}", UNSAID if "|" in value else _default(value), line)
    # `a_single/_acc` and `a{,_b}` are two keys each.
    text = re.sub(r"([a-z_]+)_([a-z]+)/_([a-z]+)", r"\1_\2 \1_\3", text)
    text = re.sub(r"([a-z_]+)\{,(_[a-z]+)\}", r"\1 \1\2", text)
    for name in _LONG.findall(text.replace("/", " ")):
        if name not in {"model_overrides", "mlx_lm"}:
            yield SpecKey(_inside(table, name), UNSAID, line)
    if re.search(r"\bcache_report defaults ON\b", text):
        yield SpecKey("sglang.cache_report", True, line)
    yield from (SpecKey(f"{table}.{name}", UNSAID, line) for name in re.findall(r"\b(isq|imatrix)[ /]", text))


def _inside(table: str, name: str) -> str:
    """Keys with their table's name as prefix are the root's."""
    return name if name.startswith(f"{table}_") else f"{table}.{name}"


def _examples(lines: Sequence[str]) -> Iterator[SpecKey]:
    """Lines of examples: `[[table]]`, `key = value`."""
    table = ""
    for number, line in enumerate(lines, 1):
        if header := re.match(r"\[?\[([a-z_.]+)\]\]?(?:\s+#|$)", line):
            table = header[1]
            if table.endswith(".env"):
                yield SpecKey(table, UNSAID, number)
        elif (said := re.match(rf"({_NAME}) = \S", line)) and not table.endswith(".env"):
            yield SpecKey(
                f"{table}.{said[1]}" if table not in {"", "gateway", "resources"} else said[1], UNSAID, number
            )
        elif line.strip() and not re.match(r"[A-Za-z_]+ = ", line):
            table = ""


def _sentences(lines: Sequence[str]) -> Iterator[SpecKey]:
    """Keys that stand in no table: `key = true (default)`, `timeout_secs (default 30`, `name (default 30`."""
    for number, line in enumerate(lines, 1):
        for name, value in re.findall(rf"\b({_NAME}) = (true|false) \(default\)", line):
            yield SpecKey(name, value == "true", number)
        if line.startswith(("Declared MCP", "An ordered list")):
            table = "mcp" if "MCP" in line else "failover"
            for name, value in re.findall(rf"\b({_NAME}) \(default (\d+)", line):
                yield SpecKey(f"{table}.{name}", int(value), number)
    yield from _pins(lines)


def _pins(lines: Sequence[str]) -> Iterator[SpecKey]:
    """`Manual pins (tp_size, …, tensor split, device lists)`: those with an underscore are knobs of SGLang."""
    for number, line in enumerate(lines, 1):
        if listed := re.search(r"Manual pins \(([^)]*)\)", line):
            yield from (SpecKey(f"sglang.{name}", UNSAID, number) for name in _LONG.findall(listed[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one key a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", type=Path, help="the setup document as text")
    for key in spec_keys(parser.parse_args(arguments).document.read_text(encoding="utf-8")):
        print(f"{key.name}\t{'?' if key.default is UNSAID else key.default!r}\tline {key.line}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
