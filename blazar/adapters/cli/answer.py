"""One answer of a model, printed as it comes. Thinking is dimmed on a terminal and kept out of piped output (it goes to stderr)."""

import json
import sys
from math import inf
from typing import TYPE_CHECKING, Any, TextIO

from blazar.adapters.cli.client import DaemonClient
from blazar.adapters.cli.exits import WrongUse
from blazar.adapters.cli.render import Style, duration, facts, is_terminal, safe_text
from blazar.domain import teaching
from blazar.domain.errors import Fault, Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

_NANO = 1e9  # ollama's durations are in nanoseconds


class Printer:
    """Writes pieces where they belong, and remembers them: what came before an interruption is not lost."""

    def __init__(self, out: TextIO | None = None, side: TextIO | None = None, *, hide: str = "") -> None:
        self._out = out or sys.stdout
        self._side = side or sys.stderr
        self._on_terminal = is_terminal(self._out)
        self._style = Style(self._out)
        self._hidden = hide  # "", "thinking" or "all"
        self._section = ""
        self.content = ""
        self.thinking = ""

    def piece(self, section: str, text: str) -> None:
        """One piece of `thinking` or `content`."""
        if not text:
            return
        if section == "thinking":
            self.thinking += text
        else:
            self.content += text
        if self._hidden in ("all", section):
            return
        shown = safe_text(text) if self._on_terminal else text
        if section == "thinking":
            stream = self._out if self._on_terminal else self._side
            stream.write(self._style.dim(shown))
        else:
            stream = self._out
            if self._section == "thinking" and self._on_terminal:
                stream.write("\n\n")
            stream.write(shown)
        self._section = section
        stream.flush()

    def end(self) -> None:
        """Leave the cursor at the start of a line; a file gets exactly one newline at its end."""
        if self._section == "thinking" and not self._on_terminal:
            print(file=self._side, flush=True)
        elif self._section and self._hidden != "all" and not self.content.endswith("\n"):
            print(file=self._out, flush=True)
        self._section = ""


def ask(client: DaemonClient, body: dict[str, Any], printer: Printer) -> dict[str, Any]:
    """POST /api/chat, print what comes; the last event with its counts. Ctrl-C closes the connection: the engine stops."""
    with client.stream("/api/chat", {**body, "stream": True}) as answer:
        for event in answer.events():
            message = event.get("message") or {}
            printer.piece("thinking", str(message.get("thinking") or ""))
            printer.piece("content", str(message.get("content") or ""))
            if event.get("done"):
                return event
    raise Fault(teaching.answer_incomplete(str(body.get("model"))))


def timings(last: dict[str, Any]) -> str:
    """Counts and speeds of an answer, as lines."""
    rows: list[tuple[str, str]] = []
    for name, key in (("total", "total_duration"), ("load", "load_duration")):
        if last.get(key):
            rows.append((name, _seconds(last[key])))
    for name, count_key, time_key in (
        ("prompt", "prompt_eval_count", "prompt_eval_duration"),
        ("answer", "eval_count", "eval_duration"),
    ):
        if last.get(count_key) is not None:
            spent = float(last.get(time_key) or 0) / _NANO
            speed = f" in {_seconds(last[time_key])}, {last[count_key] / spent:.1f} tokens/s" if spent > 0 else ""
            rows.append((name, f"{last[count_key]} tokens{speed}"))
    if last.get("done_reason"):
        rows.append(("ended", str(last["done_reason"])))
    return facts(rows)


def _seconds(nanoseconds: float) -> str:
    seconds = nanoseconds / _NANO
    if seconds >= 60:
        return duration(seconds)
    return f"{seconds:.2f}s" if seconds >= 1 else f"{seconds * 1000:.1f}ms"


def option(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` of --set. Raises `WrongUse`."""
    name, _, value = text.partition("=")
    if not name.strip() or not value.strip():
        raise WrongUse(teaching.set_option_wrong(text))
    try:
        return setting(name.strip(), value.strip())
    except Malformed as wrong:
        raise WrongUse(str(wrong), wrong.field) from wrong


def setting(name: str, text: str) -> tuple[str, Any]:
    """A sampling option and its value as the option's type has it; raises `Malformed` for others and for what does not fit.

    The text is read as JSON where that fits (numbers, lists), else taken as it is (a stop word may be digits).
    """
    from difflib import get_close_matches

    from blazar.domain.wire.ollama import OPTIONS  # costs more than the rest of a thin verb, and is rarely needed

    fits: Callable[[Any], bool]
    if name == "num_ctx":
        fits, want = _is_window, "positive"
    elif name in OPTIONS:
        fits, want = OPTIONS[name].fits, OPTIONS[name].want
    else:
        known = sorted((*OPTIONS, "num_ctx"))
        raise Malformed(teaching.setting_unknown(name, get_close_matches(name, known), known), name)
    try:
        value = json.loads(text, parse_constant=_no_number)
    except ValueError:
        value = text
    if fits(value) and value not in (inf, -inf):
        return name, value
    if fits(text):
        return name, text
    raise Malformed(teaching.field_must(name, want), name)


def _is_window(value: Any) -> bool:
    return type(value) is int and value > 0


def _no_number(text: str) -> float:
    """NaN and Infinity are no JSON and would be no answer to anything."""
    raise ValueError(text)


def keep_alive(text: str) -> float | str:
    """As the API takes it: a number of seconds, or a duration such as `10m`."""
    try:
        return float(text)
    except ValueError:
        return text
