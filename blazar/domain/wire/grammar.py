"""The grammar of `decode_policy = "strict"`: nothing but calls of a request's tools, each in its envelope (D18). GBNF, as llama.cpp reads it.

Arguments are held to be a JSON object, not to the tool's schema: that one is advice, as it is to engines with tools of their own.
"""

from collections.abc import Sequence
from typing import Final

from blazar.domain.wire.quoting import quote

OPEN: Final = "<tool_call>"
CLOSE: Final = "</tool_call>"
MOST_CALLS: Final = 16
"""Calls in one answer. Without a bound a small model goes on calling until its tokens are used up."""

# Blanks and digits are bounded for the same reason: a grammar that takes any number of them is one that small models never leave.
_JSON: Final = r"""object ::= "{" blank (pair (blank "," blank pair)*)? blank "}"
pair ::= string blank ":" blank value
array ::= "[" blank (value (blank "," blank value)*)? blank "]"
value ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
number ::= "-"? ("0" | [1-9] [0-9]{0,17}) ("." [0-9]{1,17})? ([eE] [-+]? [0-9]{1,3})?
blank ::= [ \t\n]{0,8}
"""


def calls_only(names: Sequence[str], *, several: bool = True) -> str:
    """The grammar for calls of these tools; not `several`: exactly one."""
    more = f' ("\\n" call){{0,{MOST_CALLS - 1}}}' if several and MOST_CALLS > 1 else ""
    one_of = " | ".join(literal(quote(name).decode()) for name in dict.fromkeys(names))
    head, middle, end = literal(OPEN + '\n{"name": '), literal(', "arguments": '), literal("}\n" + CLOSE)
    return f"root ::= call{more}\ncall ::= {head} name {middle} object {end}\nname ::= {one_of}\n{_JSON}"


def literal(text: str) -> str:
    """`text` as a quoted string of the grammar language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
