"""One run of the command line: words in, exit code out. Everything foreseen becomes one line on stderr; nothing is retried."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from blazar.adapters.cli import exits
from blazar.adapters.cli.ending import Terminated
from blazar.adapters.cli.parser import UsageError, build_parser, parse
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.verbs import find_verb
from blazar.domain import teaching
from blazar.domain.errors import BlazarError

_PATHS = frozenset({"path", "file", "config"})
"""Arguments that name files, whose names may be any bytes."""

MakeRoot = Callable[[argparse.Namespace], Root]


def run_words(words: Sequence[str], make_root: MakeRoot) -> int:
    """Parse, run the verb, flush. Raises only what nobody foresaw."""
    as_json = "--json" in words
    _tolerate_any_text()
    code = _guarded(lambda: _run(words, make_root), as_json=as_json)
    return _guarded(_flush, as_json=as_json) or code  # a full disk or a reader that left may show up only now


def _guarded(act: Callable[[], int], *, as_json: bool) -> int:
    try:
        return act()
    except UsageError as wrong:
        return exits.report(usage_sentence(wrong), exits.USAGE, as_json=as_json)
    except BlazarError as refused:
        return exits.report_error(refused, as_json=as_json)
    except KeyboardInterrupt as stop:  # with words where something is left that should be known
        code = exits.TERMINATED if isinstance(stop, Terminated) else exits.INTERRUPTED
        return exits.report(str(stop) or teaching.interrupted(), code, as_json=as_json)
    except BrokenPipeError:
        _silence_stdout()
        return exits.BROKEN_PIPE
    except OSError as trouble:
        return exits.report(_os_sentence(trouble), exits.FAILED, as_json=as_json)


def _flush() -> int:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _silence_stdout()  # else the interpreter complains once more when it ends
        raise
    return exits.OK


def _run(words: Sequence[str], make_root: MakeRoot) -> int:
    args = parse(words)
    if any(not _is_text(value) for name, value in vars(args).items() if name not in _PATHS):
        raise exits.WrongUse(teaching.argument_not_text())
    if args.version:
        args.action, args.local = "version", False
    elif args.verb is None:
        build_parser().print_help(sys.stderr)
        return exits.USAGE
    if args.target and args.local and args.action != "serve":  # serve says itself what --host was probably meant to be
        raise exits.WrongUse(teaching.local_only(args.verb))
    root = make_root(args)
    try:
        return find_verb(args.action)(args, root)
    finally:
        root.close()


def _is_text(value: Any) -> bool:
    """Bytes on the command line that are no UTF-8 come as halves of surrogate pairs, which nothing but a path can hold."""
    if isinstance(value, list | tuple):
        return all(map(_is_text, value))
    return not isinstance(value, str) or not any("\ud800" <= char <= "\udfff" for char in value)


def usage_sentence(wrong: UsageError) -> str:
    """What was wrong with the words, and what was probably meant."""
    if not wrong.choices:
        return teaching.usage(str(wrong), wrong.prog)
    from difflib import get_close_matches

    return teaching.unknown_verb(wrong.word, wrong.prog, get_close_matches(wrong.word, wrong.choices, n=2))


def _os_sentence(trouble: OSError) -> str:
    """A disk that is full, a file that may not be read: foreseen everywhere, so translated once."""
    what = f"access to {trouble.filename}" if trouble.filename else "reading or writing"
    return teaching.disk_trouble(what, trouble.strerror or str(trouble))


def _tolerate_any_text() -> None:
    """A terminal that cannot show a character shows a question mark, instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _silence_stdout() -> None:
    """The reader has left: what is still buffered goes nowhere, and the interpreter's last flush must not complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
