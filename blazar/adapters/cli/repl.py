"""A conversation at a prompt. Reads lines, understands `/` commands, keeps the messages; knows no daemon but its two callables.

Ctrl-C ends an answer and keeps what came of it; at the prompt it drops the line. Ctrl-D or /bye ends the conversation.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from blazar.adapters.cli.answer import Printer, setting, timings
from blazar.adapters.cli.render import facts
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed

QUOTES = '"""'


class Talk(Protocol):
    """What a conversation needs of the daemon."""

    def chat(self, body: dict[str, Any], printer: Printer) -> dict[str, Any]:
        """One answer, printed as it comes; its last event."""
        ...

    def load(self, model: str) -> str:
        """Have it ready; what it is called. Raises when it cannot be."""
        ...


def _silent(_: str) -> None:
    """Where nobody is greeted."""


class Repl:
    """`read` gives the next line for a prompt, or raises EOFError; `write` prints a line of ours."""

    def __init__(self, talk: Talk, model: str, read: Callable[[str], str], write: Callable[[str], None]) -> None:
        self.model = model
        self.system = ""
        self.options: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}  # think, format, keep_alive: fields beside the options
        self.verbose = False
        self.hide = ""
        self.greet: Callable[[str], None] = _silent
        """Hears which model it is, once that is there: it may have to be downloaded first."""
        self.messages: list[dict[str, str]] = []
        self._talk, self._read, self._write = talk, read, write

    def run(self) -> None:
        """Until /bye or the end of the input."""
        self.model = self._talk.load(self.model)
        self.greet(self.model)
        while True:
            try:
                text = self._next()
            except EOFError:
                return
            except KeyboardInterrupt:
                self._write("")
                continue
            if text.startswith("/"):
                if not self._command(text):
                    return
            elif text.strip():
                self._turn(text)

    def _next(self) -> str:
        """One line, or all lines between triple quotes."""
        line = self._read(">>> ")
        if not line.lstrip().startswith(QUOTES):
            return line
        lines = [line.lstrip().removeprefix(QUOTES)]
        while not lines[-1].rstrip().endswith(QUOTES):
            lines.append(self._read("... "))
        lines[-1] = lines[-1].rstrip().removesuffix(QUOTES)
        return "\n".join(lines).strip("\n")

    def body(self) -> dict[str, Any]:
        """The request for the next answer."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        body: dict[str, Any] = {"model": self.model, "messages": [*system, *self.messages], **self.extra}
        return {**body, "options": self.options} if self.options else body

    def _turn(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})
        printer = Printer(hide=self.hide)
        last: dict[str, Any] = {}
        try:
            last = self._talk.chat(self.body(), printer)
        except KeyboardInterrupt:
            pass  # the connection is closed, the engine has stopped; the part that came stays in the conversation
        except BlazarError as refused:
            printer.end()
            self._write(f"error: {refused}")
        printer.end()
        if printer.content:
            self.messages.append({"role": "assistant", "content": printer.content})
        elif not last:
            self.messages.pop()  # nothing came: the next question must not follow an unanswered one
        if self.verbose and last:
            self._write(timings(last))

    def _command(self, line: str) -> bool:
        """False ends the conversation."""
        word, _, rest = line[1:].strip().partition(" ")
        if word in ("bye", "exit", "quit"):
            return False
        known: dict[str, Callable[[str], None]] = {
            "?": self._help,
            "help": self._help,
            "set": self._set,
            "show": self._show,
            "clear": self._clear,
            "load": self._load,
            "save": self._save,
        }
        try:
            if word in known:
                known[word](rest.strip())
            else:
                self._write(teaching.repl_unknown(word))
        except BlazarError as refused:
            self._write(f"error: {refused}")
        return True

    def _help(self, _: str) -> None:
        self._write(teaching.repl_help())

    def _set(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if word == "system":
            self.system = rest.strip()
        elif word == "parameter" and rest.strip():
            self._parameter(rest)
        elif word in ("think", "nothink"):
            self.extra["think"] = word == "think"
        elif word in ("verbose", "quiet"):
            self.verbose = word == "verbose"
        elif word == "format" and rest.strip() == "json":
            self.extra["format"] = "json"
        elif word == "noformat":
            self.extra.pop("format", None)
        else:
            self._write(teaching.repl_set_help())

    def _parameter(self, text: str) -> None:
        name, *rest = text.split(maxsplit=1)
        value = rest[0] if rest else ""
        if not rest:
            name, _, value = name.partition("=")
        if not name or not value.strip():
            raise Malformed(teaching.set_command_wrong(text))
        name, self.options[name] = setting(name, value.strip())

    def _show(self, _: str) -> None:
        rows = [("model", self.model), ("system", self.system or "-"), ("messages", str(len(self.messages)))]
        rows += [(name, str(value)) for name, value in {**self.extra, **self.options}.items()]
        self._write(facts(rows))

    def _clear(self, _: str) -> None:
        self.messages.clear()
        self._write(teaching.repl_cleared())

    def _load(self, name: str) -> None:
        if name:
            self.model = self._talk.load(name)
            self.messages.clear()
        self._write(teaching.repl_model(self.model))

    def _save(self, name: str) -> None:
        if not name:
            self._write(teaching.repl_save_help())
            return
        path = Path(name).expanduser()
        try:
            path.write_text(json.dumps(self.body(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as trouble:
            self._write(f"error: {teaching.disk_trouble(f'writing {path}', trouble.strerror or str(trouble))}")
        else:
            self._write(teaching.repl_saved(str(path), len(self.messages)))
