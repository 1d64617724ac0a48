"""`run`: one answer to a prompt or piped input, else a conversation. Starts the daemon if none answers (D3), fetches a model that is missing."""

import argparse
import os
import select
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from blazar.adapters.cli.answer import Printer, ask, keep_alive, option, timings
from blazar.adapters.cli.background import ensure_daemon
from blazar.adapters.cli.client import DaemonClient, DaemonRefused
from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.render import is_terminal
from blazar.adapters.cli.repl import Repl, Talk
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import put_json, working
from blazar.adapters.cli.verbs.daemon import bind_of
from blazar.domain import teaching

HISTORY = 1000
SILENCE = 2.0
"""Seconds after which a silent pipe gets a word of explanation: a script that left it open by mistake would wait for ever."""


def run(args: argparse.Namespace, root: Root) -> int:
    """Answer and leave, or hold a conversation."""
    options = dict(option(text) for text in args.set)
    extra = _extra(args)
    if args.interactive or (not args.prompt and is_terminal(sys.stdin)):
        if args.json:
            raise WrongUse(teaching.json_needs_prompt())
        return _converse(args, root, options, extra)
    prompt = _prompt(args.prompt)
    if not prompt.strip():
        raise WrongUse(teaching.no_prompt())
    client = ensure_daemon(root, bind_of(args))
    messages = [{"role": "system", "content": args.system}] if args.system else []
    body = {"model": args.model, "messages": [*messages, {"role": "user", "content": prompt}], **extra}
    if options:
        body["options"] = options
    printer = Printer(hide="all" if args.json else "thinking" if args.hide_thinking else "")
    try:
        try:
            last = ask(client, body, printer)
        except DaemonRefused as refused:
            body["model"] = _elsewhere(args, root, client, args.model, refused)
            last = ask(client, body, printer)
    finally:
        printer.end()
    if args.json:
        put_json({**last, "message": {"role": "assistant", "content": printer.content, "thinking": printer.thinking}})
    elif args.verbose:
        print(timings(last), file=sys.stderr)
    return OK


def _elsewhere(args: argparse.Namespace, root: Root, client: DaemonClient, model: str, refused: DaemonRefused) -> str:
    """Loaded when a model is missing: most are not."""
    from blazar.adapters.cli.verbs.missing import named_or_fetched

    return named_or_fetched(args, root, client, model, refused)


def _extra(args: argparse.Namespace) -> dict[str, Any]:
    wishes = {
        "think": args.think,
        "format": args.format,
        "keep_alive": None if args.keep_alive is None else keep_alive(args.keep_alive),
    }
    return {name: value for name, value in wishes.items() if value is not None}


def _prompt(words: list[str]) -> str:
    """The words, and what is piped in, which comes after them."""
    text = " ".join(word for word in words if word != "-")
    if not _is_piped(words):
        return text
    if text and not _speaks(SILENCE):
        print(teaching.prompt_awaited(), file=sys.stderr, flush=True)
    piped = sys.stdin.read().rstrip("\n")
    return f"{text}\n\n{piped}" if text and piped else text or piped


def _is_piped(words: list[str]) -> bool:
    """Files and pipes are read; with a prompt given, other things (/dev/null, a socket of a supervisor) are not."""
    if sys.stdin is None or sys.stdin.closed or is_terminal(sys.stdin):
        return False
    if not words or "-" in words:
        return True
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # not a real file: somebody's StringIO
        return True
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _speaks(seconds: float) -> bool:
    try:
        return bool(select.select([sys.stdin], [], [], seconds)[0])
    except (OSError, ValueError):  # not a real file, or a system that selects on sockets only
        return True


class DaemonTalk(Talk):
    """A conversation's two wishes, asked of the daemon."""

    def __init__(self, args: argparse.Namespace, root: Root, client: DaemonClient) -> None:
        self._args, self._root, self._client = args, root, client

    def chat(self, body: dict[str, Any], printer: Printer) -> dict[str, Any]:
        return ask(self._client, body, printer)

    def load(self, model: str) -> str:
        try:
            self._load(model)
        except DaemonRefused as refused:
            model = _elsewhere(self._args, self._root, self._client, model, refused)
            self._load(model)
        return model

    def _load(self, model: str) -> None:
        with working(self._args, f"loading {model}"):
            self._client.call("POST", "/api/load", {"model": model}, timeout=None)


def _converse(args: argparse.Namespace, root: Root, options: dict[str, Any], extra: dict[str, Any]) -> int:
    client = ensure_daemon(root, bind_of(args))
    read, save = _reader(root.places.data / "history")
    repl = Repl(DaemonTalk(args, root, client), args.model, read, lambda line: print(line, flush=True))
    repl.system = args.system or ""
    repl.options, repl.extra, repl.verbose = options, extra, args.verbose
    repl.hide = "thinking" if args.hide_thinking else ""
    if is_terminal(sys.stdin) and not args.quiet:
        repl.greet = lambda model: print(teaching.repl_hello(model), flush=True)
    try:
        repl.run()
    finally:
        save()
    return OK


def _reader(history: Path) -> tuple[Callable[[str], str], Callable[[], None]]:
    """How to read a line, and what to do at the end: editing and history on a terminal, bare lines elsewhere."""
    if not is_terminal(sys.stdin):
        return _bare_line, lambda: None
    try:
        import readline
    except ImportError:  # Windows
        return input, lambda: None
    with suppress(OSError):  # none yet
        readline.read_history_file(history)
    readline.set_history_length(HISTORY)

    def save() -> None:
        with suppress(OSError):  # a full disk costs the history, not the conversation
            history.parent.mkdir(parents=True, exist_ok=True)
            history.touch(mode=0o600)  # what people ask is theirs
            readline.write_history_file(history)

    return input, save


def _bare_line(_: str) -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")
