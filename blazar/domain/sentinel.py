"""What can be wrong with an answer: one code for each observation, found by what the request wanted. Pure, and never a change of it.

No detail repeats a word of the answer; what is written down of it in logs and stories (`brief`) none of the request either.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from blazar.domain import teaching
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.tools import strict_object

MOST_FINDINGS: Final = 16
"""Of one answer: a model that calls a tool in a loop is told of often enough."""


class Code(StrEnum):
    """Clients and dashboards match on these: a code is never renamed."""

    TRUNCATION = "truncation"
    TOOL_ARG_JSON = "tool_arg_json"
    TOOL_HALLUCINATED_NAME = "tool_hallucinated_name"
    TOOL_ARG_SCHEMA = "tool_arg_schema"
    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    EMPTY_RESPONSE = "empty_response"
    REASONING_NO_ANSWER = "reasoning_no_answer"
    STALLED_STREAM = "stalled_stream"


class Finding(NamedTuple):
    """One observation. Not `violation`: the caller's own token limit made it so, which enforcement does not refuse."""

    code: Code
    detail: str
    violation: bool = True
    call: int = 0

    @property
    def brief(self) -> str:
        """The detail without its place, which may hold names of the request's: for what is written down."""
        return teaching.sentinel_detail(self.code.value, self.call)


class Tool(NamedTuple):
    """One that the request offers; `free`: its input is any text."""

    schema: Any = None
    free: bool = False


class Wanted(NamedTuple):
    """What the request asked for, as far as an answer can be held to it. `form` is json_schema, json_object or nothing."""

    tools: Mapping[str, Tool] = {}
    form: str = ""
    schema: Any = None
    limit: int = 0
    """Tokens that the caller lets an answer have; 0: it does not say."""


class Breach(Protocol):
    """Where a text breaks a schema, in words; None: nowhere."""

    def __call__(self, schema: Any, text: str, *, lenient: bool) -> str | None:
        """`lenient`: a schema that cannot be judged by is not broken."""
        ...


def nowhere(schema: Any, text: str, *, lenient: bool) -> str | None:
    """For who judges no schemas."""
    del schema, text, lenient
    return None


def seen_in(answer: Answer) -> Seen:
    """A whole answer."""
    calls = [(call.name, call.arguments) for call in answer.calls]
    words = bool(answer.text.strip())
    thought = bool(answer.reasoning.strip())
    return Seen(words, thought, answer.finish.reason, answer.usage.completion, calls, answer.text)


def wanted_of(body: Mapping[str, Any], constraint: str = "", schema: Any = None) -> Wanted:
    """What a chat's body asks for, in OpenAI's words; the wanted form as the request was understood."""
    form = "json_schema" if schema is not None else constraint if constraint == "json_object" else ""
    limits = (body.get("max_completion_tokens"), body.get("max_tokens"), body.get("n_predict"))
    limit = next((value for value in limits if isinstance(value, int) and not isinstance(value, bool) and value > 0), 0)
    given = body.get("tools")
    tools = dict(_tools(given)) if isinstance(given, list) else {}
    return Wanted(tools, form, schema, limit)


def _tools(given: Sequence[Any]) -> list[tuple[str, Tool]]:
    found = []
    for tool in given:
        kind = tool.get("type") if isinstance(tool, dict) else None
        said = tool.get(kind) if isinstance(kind, str) else None
        if isinstance(said, dict) and isinstance(name := said.get("name"), str):
            found.append((name, Tool(said.get("parameters"), free=kind != "function")))
    return found


def findings(seen: Seen, wanted: Wanted, breach: Breach = nowhere) -> tuple[Finding, ...]:
    """Everything that is odd about an answer, in the order in which a person asks: is it whole, are its calls, is its form."""
    found: list[Finding] = []
    cut = seen.finish == "length"
    # An engine that stops below the caller's limit has run out of window, which nobody asked for.
    own = cut and wanted.limit > 0 and not 0 < seen.tokens < wanted.limit
    if cut:
        found.append(Finding(Code.TRUNCATION, _say(Code.TRUNCATION), not own))
    if seen.calls:
        for number, (name, arguments) in enumerate(seen.calls, start=1):
            found.extend(_of_call(number, wanted.tools.get(name), arguments, breach))
        return tuple(found[:MOST_FINDINGS])
    if not seen.words:
        code = Code.REASONING_NO_ANSWER if seen.thought else Code.EMPTY_RESPONSE
        found.append(Finding(code, _say(code), not own))
    if wanted.form and seen.text is not None:
        found.extend(_of_form(wanted, seen.text, breach))
    return tuple(found)


def stalled(seconds: float) -> Finding:
    """A stream that had begun, and in which nothing came for so long."""
    return Finding(Code.STALLED_STREAM, teaching.sentinel_detail(Code.STALLED_STREAM.value, place=f"{seconds:g} s"))


def listed(found: Sequence[Finding]) -> list[str]:
    """As they stand in a refusal."""
    return [f"[{finding.code.value}] {finding.detail}" for finding in found]


def _of_call(number: int, tool: Tool | None, arguments: str, breach: Breach) -> list[Finding]:
    if tool is None:
        return [_finding(Code.TOOL_HALLUCINATED_NAME, number)]
    if tool.free:
        return []
    arguments = arguments if arguments.strip() else "{}"  # how some engines call a tool that takes nothing
    if not strict_object(arguments):
        return [_finding(Code.TOOL_ARG_JSON, number)]
    if tool.schema is None or (place := breach(tool.schema, arguments, lenient=True)) is None:
        return []
    return [_finding(Code.TOOL_ARG_SCHEMA, number, place)]


def _of_form(wanted: Wanted, text: str, breach: Breach) -> list[Finding]:
    if wanted.form == "json_object":
        return [] if strict_object(text) else [_finding(Code.JSON_OBJECT)]
    place = breach(wanted.schema, text, lenient=False)
    return [] if place is None else [_finding(Code.JSON_SCHEMA, place=place)]


def _finding(code: Code, call: int = 0, place: str = "") -> Finding:
    return Finding(code, teaching.sentinel_detail(code.value, call, place), call=call)


def _say(code: Code) -> str:
    return teaching.sentinel_detail(code.value)
