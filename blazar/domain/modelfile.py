"""Reads a Modelfile: instructions into an overlay and what it is made from. Opens no file: a path in it stays a text.

The grammar is ollama's (parser/parser.go): an instruction a line, in any case; a value as it stands, in quotation marks, or in three of
them over several lines; `#` begins a comment where an instruction would.
"""

import re
from typing import Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.overlay import ROLES, STOPS, Overlay, read_parameters

LARGEST: Final = 4 * 2**20
"""Characters; a template and a licence are thousands."""
_LINE: Final = re.compile(r"[ \t]*([A-Za-z]+)(?:[ \t]+|(?=\"\"\"))(.*)", re.DOTALL)
_TRIPLE: Final = '"""'
# What newer versions say of models whose prompts no template writes.
_FOREIGN: Final = frozenset({"renderer", "parser", "requires"})


class Modelfile(NamedTuple):
    """`sources` are what FROM names, weights first; a vision model has a second for its projector."""

    sources: tuple[str, ...]
    overlay: Overlay
    ignored: tuple[str, ...] = ()
    """Instructions that have no effect here."""


class _Instruction(NamedTuple):
    line: int
    name: str
    value: str


def parse_modelfile(text: str) -> Modelfile:
    """Raises `Malformed`, naming the line."""
    if len(text) > LARGEST:
        raise Malformed(teaching.modelfile_too_long(), "modelfile")
    reader = _Reader()
    for step in _instructions(text.removeprefix("\ufeff").replace("\r\n", "\n")):
        reader.take(step)
    if not reader.sources:
        raise Malformed(teaching.modelfile_without_from(), "modelfile")
    overlay = Overlay(
        template=reader.texts.get("template", ""),
        system=reader.texts.get("system", ""),
        parameters=read_parameters(reader.parameters),
        messages=tuple(reader.messages),
        license=tuple(reader.licences),
        adapters=tuple(reader.adapters),
    )
    return Modelfile(tuple(reader.sources), overlay, tuple(dict.fromkeys(reader.ignored)))


class _Reader:
    """What was read so far."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.adapters: list[str] = []
        self.licences: list[str] = []
        self.ignored: list[str] = []
        self.texts: dict[str, str] = {}
        self.messages: list[tuple[str, str]] = []
        self.parameters: dict[str, object] = {}

    def take(self, step: _Instruction) -> None:
        """One more."""
        lists = {"from": self.sources, "adapter": self.adapters, "license": self.licences}
        if step.name in lists:
            lists[step.name].append(step.value)
        elif step.name in ("template", "system"):
            self.texts[step.name] = step.value
        elif step.name == "parameter":
            self._parameter(step)
        elif step.name == "message":
            self._message(step)
        elif step.name in _FOREIGN:
            self.ignored.append(step.name.upper())
        else:
            raise Malformed(teaching.modelfile_unknown_instruction(step.line, step.name.upper()), "modelfile")

    def _parameter(self, step: _Instruction) -> None:
        name, value = _split(step)
        if name == STOPS:
            stops = self.parameters.setdefault(STOPS, [])
            assert isinstance(stops, list)
            stops.append(value)
        else:
            self.parameters[name] = value

    def _message(self, step: _Instruction) -> None:
        role, text = _split(step)
        if role not in ROLES:
            raise Malformed(teaching.modelfile_wrong_role(step.line, ROLES), "modelfile")
        self.messages.append((role, text))


def _split(step: _Instruction) -> tuple[str, str]:
    """The word that a PARAMETER or MESSAGE begins with, and the value behind it."""
    word, _, rest = step.value.partition(" ")
    value = _unquoted(rest.strip())
    if not word or not value:
        raise Malformed(teaching.modelfile_no_value(step.line, step.name.upper()), "modelfile")
    return word.lower(), value


def _instructions(text: str) -> list[_Instruction]:
    found: list[_Instruction] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise Malformed(teaching.modelfile_no_value(number, line.strip()[:40]), "modelfile")
        name, value = match[1].lower(), match[2].lstrip()
        parts, is_open = [value], _turns(value)
        while is_open:
            if at == len(lines):
                raise Malformed(teaching.modelfile_open_quotes(number), "modelfile")
            parts.append(lines[at])
            is_open = not _turns(lines[at])
            at += 1
        value = "\n".join(parts)
        plain = value if name in ("parameter", "message") else _unquoted(value.rstrip())
        if not plain.strip():
            raise Malformed(teaching.modelfile_no_value(number, name.upper()), "modelfile")
        found.append(_Instruction(number, name, plain.strip() if name in ("parameter", "message") else plain))
    return found


def _turns(line: str) -> bool:
    """Whether three quotation marks begin or end on this line, and not both."""
    return line.count(_TRIPLE) % 2 == 1


def _unquoted(value: str) -> str:
    for mark in (_TRIPLE, '"'):
        if value.startswith(mark) and value.endswith(mark) and len(value) >= 2 * len(mark):
            return value[len(mark) : -len(mark)]
    return value
