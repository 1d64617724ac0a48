"""Go templates of the simple kind that Modelfiles have: `.System`, `.Prompt`, `.Response`, `if`, `else`, `end`. Pure.

Decides what of Go's language is understood; everything else (messages, ranges, functions) is refused. One such template writes one turn.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Union

from blazar.domain import teaching
from blazar.domain.errors import Malformed

FIELDS: Final = ("System", "Prompt", "Response")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`', re.DOTALL)
_COMMENT: Final = re.compile(r"/\*.*\*/", re.DOTALL)
DEEPEST: Final = 20


class Field(NamedTuple):
    """What is put in there."""

    name: str


class If(NamedTuple):
    """`field` has a text, or with `negated` none."""

    field: str
    negated: bool
    then: tuple["Node", ...]
    other: tuple["Node", ...]


Node = Union[str, Field, If]  # noqa: UP007 - it names itself


class _Reader:
    """Goes through texts and actions once."""

    def __init__(self, parts: Sequence[tuple[bool, str]]) -> None:
        self._parts, self._at = parts, 0

    def block(self, depth: int) -> tuple[tuple[Node, ...], str]:
        """Nodes up to the action that ends them: `end`, `else…`, or nothing at the end of the text."""
        found: list[Node] = []
        while self._at < len(self._parts):
            action, text = self._parts[self._at]
            self._at += 1
            if not action:
                found.append(text)
            elif text == "end" or text.split()[:1] == ["else"]:
                return tuple(found), text
            elif text.split()[:1] == ["if"]:
                found.append(self._if(text[2:].strip(), depth + 1))
            elif not _COMMENT.fullmatch(text):
                found.append(_value(text))
        return tuple(found), ""

    def _if(self, condition: str, depth: int) -> If:
        if depth > DEEPEST:
            raise _foreign()
        negated = condition.startswith("not ")
        field = _field(condition[4:].strip() if negated else condition)
        then, ended = self.block(depth)
        other: tuple[Node, ...] = ()
        if ended.startswith("else if"):
            other, ended = (self._if(ended[7:].strip(), depth + 1),), "end"
        elif ended == "else":
            other, ended = self.block(depth)
        if ended != "end":
            raise _foreign()
        return If(field, negated, then, other)


def _foreign() -> Malformed:
    return Malformed(teaching.template_is_gos(), "template")


def _field(text: str) -> str:
    name = text.removeprefix("(").removesuffix(")").strip().removeprefix(".")
    if name not in FIELDS or "." not in text:
        raise _foreign()
    return name


def _value(text: str) -> Node:
    if _STRING.fullmatch(text):
        inner = text[1:-1]
        return inner if text[0] == "`" else inner.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    return Field(_field(text))


def parse(template: str) -> tuple[Node, ...]:
    """Raises `Malformed` for what is not understood. An answer that is not named follows at the end, as with ollama."""
    nodes, ended = _Reader(_parts(template)).block(0)
    if ended or "Prompt" not in _named(nodes):
        raise _foreign()
    return nodes if "Response" in _named(nodes) else (*nodes, Field("Response"))


def _parts(template: str) -> list[tuple[bool, str]]:
    """Texts, and what stands in braces (True). A dash inside takes the white space on its side away.

    No regular expression: on a megabyte of spaces, or of braces that nobody closes, one would look at each of them from each of them.
    """
    found: list[tuple[bool, str]] = []
    at, trimmed = 0, False
    while (begin := template.find("{{", at)) >= 0:
        end = template.find("}}", begin)
        if end < 0:
            raise _foreign()
        text, inner = template[at:begin], template[begin + 2 : end]
        if trimmed:
            text = text.lstrip()
        if inner[:1] == "-" and inner[1:2].isspace():
            text, inner = text.rstrip(), inner[1:]
        trimmed = inner[-1:] == "-" and inner[-2:-1].isspace()
        found += [(False, text), (True, inner.removesuffix("-").strip() if trimmed else inner.strip())]
        at = end + 2
    rest = template[at:]
    found.append((False, rest.lstrip() if trimmed else rest))
    return [part for part in found if part[0] or part[1]]


def _named(nodes: Iterable[Node]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Field):
            found.add(node.name)
        elif isinstance(node, If):
            found |= _named(node.then) | _named(node.other)
    return found


def render(nodes: Sequence[Node], values: Mapping[str, str], *, opened: bool = False) -> str:
    """One turn; `opened`: up to where the answer begins."""
    return "".join(_texts(nodes, values, opened=opened))


def _texts(nodes: Sequence[Node], values: Mapping[str, str], *, opened: bool) -> list[str]:
    found: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            found.append(node)
        elif isinstance(node, If):
            chosen = node.then if bool(values.get(node.field)) is not node.negated else node.other
            found += _texts(chosen, values, opened=opened)
        elif opened and node.name == "Response":
            break
        else:
            found.append(values.get(node.name, ""))
    return found


def conversation(nodes: Sequence[Node], messages: Iterable[Mapping[str, str]]) -> str:
    """A turn for each answer, and one that is open; what `as_jinja` says, here."""
    said, system, prompt = [], "", ""
    for message in messages:
        role, text = message["role"], message["content"]
        if role == "system":
            system = text
        elif role == "assistant":
            said.append(render(nodes, {"System": system, "Prompt": prompt, "Response": text}))
            system = prompt = ""
        else:
            if prompt:
                said.append(render(nodes, {"System": system, "Prompt": prompt}))
                system = ""
            prompt = text
    return "".join([*said, render(nodes, {"System": system, "Prompt": prompt}, opened=True)])


_LOOP: Final = (
    "{%- set ns = namespace(System='', Prompt='') %}"
    "{%- for message in messages %}"
    "{%- if message['role'] == 'system' %}{%- set ns.System = message['content'] %}"
    "{%- elif message['role'] == 'assistant' %}"
    "{{- turn(ns.System, ns.Prompt, message['content'], false) }}{%- set ns.System = '' %}{%- set ns.Prompt = '' %}"
    "{%- else %}"
    "{%- if ns.Prompt %}{{- turn(ns.System, ns.Prompt, '', false) }}{%- set ns.System = '' %}{%- endif %}"
    "{%- set ns.Prompt = message['content'] %}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- turn(ns.System, ns.Prompt, '', true) }}{%- endif %}"
)


def as_jinja(nodes: Sequence[Node]) -> str:
    """The same over a whole conversation, for engines, which read Jinja: a turn for each answer, and one that is open."""
    return f"{{%- macro turn(System, Prompt, Response, opened) %}}{_jinja(nodes)}{{%- endmacro %}}{_LOOP}"


def _jinja(nodes: Sequence[Node]) -> str:
    said = []
    closes = 0
    for node in nodes:
        if isinstance(node, str):
            said.append(f"{{{{- {literal(node)} }}}}")
        elif isinstance(node, If):
            sign = "not " if node.negated else ""
            said.append(
                f"{{%- if {sign}{node.field} %}}{_jinja(node.then)}{{%- else %}}{_jinja(node.other)}{{%- endif %}}"
            )
        elif node.name == "Response":
            said.append("{%- if not opened %}{{- Response }}")
            closes += 1
        else:
            said.append(f"{{{{- {node.name} }}}}")
    return "".join(said) + "{%- endif %}" * closes


_ESCAPES: Final = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def literal(text: str) -> str:
    """A string of Jinja's. Only escapes that every reader of it knows."""
    return "'" + "".join(_ESCAPES.get(letter, letter) for letter in text) + "'"
