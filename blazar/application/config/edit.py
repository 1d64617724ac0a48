"""A configuration text with one key changed and nothing else. Decides where a key is written, not what it may be.

tomlkit rewrites the one statement that is concerned. The lines around it are never printed anew: they are cut from the text.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import chain, repeat
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from blazar.application.config.dotted import Names, said_name, value_at
from blazar.application.config.locate import Path, Placed, comments_in, placed
from blazar.domain import teaching
from blazar.domain.errors import Conflict


def set_value(text: str, path: Names, value: Any) -> str:
    """The text in which `path` holds `value`. Raises `Conflict` where the layout does not let that be said."""
    wanted = _with(tomllib.loads(text), path, value)
    return _checked(_set(text, path, value), wanted, path)


def unset_value(text: str, path: Names) -> str:
    """The text without `path`, and without the table that is empty then; the text itself where `path` is not in it."""
    raw = tomllib.loads(text)
    if value_at(raw, path) is None:
        return text
    return _checked(_unset(text, path), _without(raw, path), path)


def takes_tables(text: str, name: str) -> bool:
    """Whether `[[name]]` tables may stand behind the text: not where the list is written inline."""
    return not any(row.path == (name,) and not row.header for row in placed(text))


def append_tables(
    text: str, name: str, rows: Sequence[Mapping[str, Any]], newline: str = "", above: Sequence[Sequence[str]] = ()
) -> str:
    """`[[name]]` tables behind the text, each below its comments, or in the list that stands there inline.

    `newline` is for a text without any.
    """
    old = tomllib.loads(text).get(name, [])
    rows = [dict(row) for row in rows]
    if not rows:
        return text
    if not takes_tables(text, name):
        return set_value(text, (name,), [*old, *rows])
    newline = newline or _newline(text)
    blocks = [
        newline.join([*said, f"[[{said_name(name)}]]", *(f"{said_name(k)} = {_spelled(v)}" for k, v in row.items())])
        for row, said in zip(rows, chain(above, repeat(())), strict=False)
    ]
    ended = _ended(text)
    more = f"{newline}{newline}".join(blocks) + newline
    return _checked(f"{ended}{newline if ended else ''}{more}", {**tomllib.loads(text), name: [*old, *rows]}, (name,))


def append_table(text: str, name: str, row: Mapping[str, Any]) -> str:
    """One `[[name]]` table behind the text, unjudged: not for a text whose list is written inline."""
    newline, ended = _newline(text), _ended(text)
    said = (f"{said_name(key)} = {_spelled(value)}" for key, value in row.items())
    return ended + (newline if ended else "") + newline.join([f"[[{said_name(name)}]]", *said]) + newline


def change_table(text: str, rows: Sequence[Placed], changes: Mapping[str, Any]) -> str:
    """One table with other values, unjudged. `rows` are its header and its keys; None takes a key away, and a new one stands last."""
    where, more = rows[0].path, []
    for key, value in changes.items():
        row = next((row for row in rows if not row.header and row.path == (*where, key)), None)
        if row is None:
            more += [] if value is None else [f"{said_name(key)} = {_spelled(value)}{_newline(text)}"]
            continue
        chunk = _chunk(text, row)
        new = "".join(_comment_lines(chunk)) if value is None else _rewritten(chunk, row, (*where, key), value)
        text = _spliced(text, row, new)
        rows = _moved(rows, row, len(new) - len(chunk))
    end = rows[-1].statement.end
    return _ended(text[:end], _newline(text)) + "".join(more) + text[end:] if more else text


def cut_table(text: str, rows: Sequence[Placed]) -> str:
    """Without a table, its header and its keys; comments on lines of their own stay. Unjudged."""
    return _cut(text, [*rows])


def _moved(rows: Sequence[Placed], changed: Placed, by: int) -> list[Placed]:
    """Where they stand once one of them has become longer by so many characters."""
    found = []
    for row in rows:
        start, end = row.statement.start, row.statement.end
        if start > changed.statement.start:
            start += by
        if end >= changed.statement.end:
            end += by
        found.append(row._replace(statement=row.statement._replace(start=start, end=end)))
    return found


def _with(raw: dict[str, Any], path: Names, value: Any) -> dict[str, Any]:
    changed = deepcopy(raw)
    table = changed
    for name in path[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise Conflict(teaching.config_not_editable(".".join(path)))
    table[path[-1]] = value
    return changed


def _without(raw: dict[str, Any], path: Names) -> dict[str, Any]:
    changed = deepcopy(raw)
    del value_at(changed, path[:-1])[path[-1]]
    return changed


def _comparable(value: Any, *, empty: bool) -> Any:
    """For comparing: NaN equals itself here. Without `empty`, tables that are empty do not count, written or not."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - only NaN is not itself
        return "NaN"
    if isinstance(value, list):
        return [_comparable(item, empty=empty) for item in value]
    if not isinstance(value, Mapping):
        return value
    inner = {key: _comparable(item, empty=empty) for key, item in value.items()}
    return inner if empty else {key: item for key, item in inner.items() if item != {}}


def same(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether two files say the same."""
    return found == wanted or _comparable(found, empty=False) == _comparable(wanted, empty=False)


def _checked(text: str, wanted: Mapping[str, Any], path: Names) -> str:
    """The last judge of every edit is the standard parser: the file says the new thing and nothing else is different."""
    try:
        found = tomllib.loads(text)
        right = _comparable(found, empty=False) == _comparable(wanted, empty=False)
        # An empty table inside the value that was set is not nothing.
        inner = [_comparable(value_at(tables, path), empty=True) for tables in (found, wanted)]
        right = right and inner[0] == inner[1]
    except ValueError:
        right = False
    if not right:
        raise Conflict(teaching.config_not_editable(".".join(path)))
    return text


def _set(text: str, path: Names, value: Any) -> str:
    rows = list(placed(text))
    for row in rows:
        if not row.header and path[: len(row.path)] == row.path:
            return _spliced(text, row, _rewritten(_chunk(text, row), row, path, value))
    if any(row.path[: len(path)] == path for row in rows) and isinstance(value, Mapping):
        text = _cut(text, [row for row in rows if row.path[: len(path)] == path and row.path != path])
        for name, item in value.items():
            text = _set(text, (*path, name), item)
        return text
    return _added(text, rows, path, value)


def _chunk(text: str, row: Placed) -> str:
    return text[row.statement.start : row.statement.end]


def _spliced(text: str, row: Placed, chunk: str) -> str:
    return text[: row.statement.start] + chunk + text[row.statement.end :]


def _rewritten(chunk: str, row: Placed, path: Path, value: Any) -> str:
    """One assignment with `value` at `path`, or (for None) without it. Comments on lines of their own move above it."""
    within: Names = tuple(map(str, path[len(row.table) :]))
    whole = within[: len(row.path) - len(row.table)]
    raw = tomllib.loads(chunk)
    wanted = _without(raw, within) if value is None else _with(raw, within, value)
    new = _edited(chunk, within, value, wanted)
    if new is None:  # ODD: tomlkit leaves a comma behind in some inline tables. Then the whole value is said anew.
        new = _edited(chunk, whole, value_at(wanted, whole), wanted) or chunk
    if "\r\n" in chunk:
        new = re.sub(r"(?<!\r)\n", "\r\n", new)
    kept = set(comments_in(new))
    return "".join(line for line in _comment_lines(chunk) if line.strip() not in kept) + new


def _comment_lines(chunk: str) -> list[str]:
    """Lines of a statement that hold a comment and nothing else; one in a multi-line text is none."""
    comments = set(comments_in(chunk))
    return [line for line in re.findall(r"[^\n]*\n|[^\n]+", chunk)[1:] if line.strip() in comments]


def _edited(chunk: str, within: Names, value: Any, wanted: Mapping[str, Any]) -> str | None:
    """What tomlkit makes of one statement; None where that is not what was wanted."""
    try:
        document = tomlkit.parse(chunk)
        table: Any = document
        for name in within[:-1]:
            if name not in table:
                table[name] = tomlkit.inline_table()
            table = table[name]
        if value is None:
            del table[within[-1]]
        else:
            table[within[-1]] = _item(value, multiline=isinstance(value, list) and _spread(table, within[-1]))
        text = document.as_string()
        return text if tomllib.loads(text) == wanted else None
    except (TOMLKitError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _spread(table: Any, name: str) -> bool:
    """Whether a list is written one item a line."""
    old = table.get(name)
    return isinstance(old, Item) and "\n" in old.as_string().strip()


def _item(value: Any, *, multiline: bool = False) -> Any:
    """A value as it stands behind `=`: tables inline."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, inner in value.items():
            table.append(key, _item(inner))
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for inner in value:
            array.append(_item(inner))
        return array.multiline(multiline and bool(value))
    return tomlkit.item(value)


def _spelled(value: Any) -> str:
    return str(_item(value).as_string())


def _added(text: str, rows: list[Placed], path: Names, value: Any) -> str:
    """The key on a line of its own, beside its kin: behind the last key of its table, else at the table's head."""
    table = path[:-1]
    kin = [row for row in rows if not row.header and row.table == table]
    kin = kin or [row for row in rows if row.header and row.path == table]
    # Tables that exist only by dotted keys can get another one, but no header.
    dotted = [row for row in rows if not row.header and row.path[: len(table)] == table]
    kin = kin or [row for row in dotted if len(row.table) < len(table)]
    newline = _newline(text)
    if kin:
        row = kin[-1]
        base = table if row.header else row.table
        indent = "" if row.header else re.match(r"[ \t]*", _chunk(text, row))[0]  # type: ignore[index]
        line = f"{indent}{'.'.join(map(said_name, path[len(base) :]))} = {_spelled(value)}{newline}"
        head = _ended(text[: row.statement.end], newline)
        return head + line + text[row.statement.end :]
    line = f"{said_name(path[-1])} = {_spelled(value)}{newline}"
    if table:
        head = _ended(text)
        return f"{head}{newline if head else ''}[{'.'.join(map(said_name, table))}]{newline}{line}"
    if not rows:
        return _ended(text) + line
    at = _above(text, rows[0].statement.start)
    return f"{text[:at]}{line}{newline}{text[at:]}"


def _above(text: str, start: int) -> int:
    """Where the comment lines begin that stand right above a header: they belong to it."""
    while start:
        before = text.rfind("\n", 0, start - 1) + 1
        if not text[before:start].lstrip().startswith("#"):
            break
        start = before
    return start


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _ended(text: str, newline: str = "") -> str:
    return text if not text or text.endswith("\n") else text + (newline or _newline(text))


def _unset(text: str, path: Names) -> str:
    rows = list(placed(text))
    for row in rows:
        if not row.header and path[: len(row.path)] == row.path and path != row.path:
            return _taken_out(text, row, path)
    text = _cut(text, [row for row in rows if row.path[: len(path)] == path])
    return _pruned(text, path[:-1])


def _taken_out(text: str, row: Placed, path: Names) -> str:
    """Out of an inline table; one that is empty then goes too."""
    chunk = _chunk(text, row)
    whole = path[len(row.table) : len(row.path)]
    raw = _without(tomllib.loads(chunk), path[len(row.table) :])
    while len(path) > len(row.path) + 1 and value_at(raw, path[len(row.table) : -1]) == {}:
        path = path[:-1]
        raw = _without(raw, path[len(row.table) :])
    if value_at(raw, whole) == {}:
        return _pruned(_cut(text, [row]), path[: len(row.path) - 1])
    return _spliced(text, row, _rewritten(chunk, row, path, None))


def _cut(text: str, rows: list[Placed]) -> str:
    """Without these statements. A comment on a line of its own stays, wherever it stands; an empty line goes along."""
    for row in reversed(rows):
        start, end = row.statement.start, row.statement.end
        kept = "".join(_comment_lines(text[start:end]))
        if row.header and (empty := re.search(r"(?<=\n)\r?\n\Z", text[:start])):
            start = empty.start()
        elif not row.header and not kept and re.search(r"(?:\A|\n\r?\n)\Z", text[:start]):
            # It was a paragraph: with it goes the empty line behind it, or each set and unset would leave one more.
            end += len(re.match(r"(?:\r?\n)?", text[end:])[0])  # type: ignore[index]
        text = text[:start] + kept + text[end:]
    return text


def _pruned(text: str, table: Names) -> str:
    """Without the header of a table that says nothing any more, in words or in comments, and the empty line above it."""
    rows = list(placed(text))
    if not table or any(row.path[: len(table)] == table for row in rows if not (row.header and row.path == table)):
        return text
    for at, row in reversed([*enumerate(rows)]):
        if not row.header or row.path != table:
            continue
        start, end = row.statement.start, rows[at + 1].statement.start if at + 1 < len(rows) else len(text)
        # Comments right above the next header are its own, unless they stand right below this one.
        above = _above(text, end) if end < len(text) else end
        if comments_in(text[start : end if above == row.statement.end else above]):
            continue
        text = _cut(text, [row])
    return text
