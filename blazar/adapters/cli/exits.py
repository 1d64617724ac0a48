"""What an error is to a shell: its exit code and its one line. Decides no sentence: `str(error)` came from `teaching`."""

import sys
from typing import Any, TextIO

from blazar.domain import teaching
from blazar.domain.errors import BindConflict, BlazarError, DataDirLocked, Malformed, Unreachable

OK = 0
FAILED = 1
USAGE = 2
TAKEN = 3  # pairs with RestartPreventExitStatus=3 of the service unit (contract)
UNREACHABLE = 4
INTERRUPTED = 130
TERMINATED = 143  # 128 + SIGTERM, as a shell says of whatever ends by it
BROKEN_PIPE = 141  # 128 + SIGPIPE, as any Unix tool whose reader left


class WrongUse(Malformed):
    """Words that parse and still cannot be meant (exit 2)."""


class NotStarted(BlazarError):
    """A daemon of ours ended while starting; its exit code is passed through."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


_CODES: tuple[tuple[type[BlazarError], int], ...] = (
    (WrongUse, USAGE),
    (BindConflict, TAKEN),
    (DataDirLocked, TAKEN),
    (Unreachable, UNREACHABLE),
)


def exit_code(error: BlazarError) -> int:
    """The code of the first row whose class fits; any other refusal or fault is 1."""
    if isinstance(error, NotStarted):
        return error.code
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def report(sentence: str, code: int, *, as_json: bool, stream: TextIO | None = None) -> int:
    """Say it in one line on stderr, as the JSON envelope of D10 when that was asked for; the code again."""
    stream = stream or sys.stderr
    # What a file or a name holds may steer a terminal.
    line = "".join(char if char.isprintable() else "\ufffd" for char in " ".join(sentence.split()))
    if as_json:
        import json

        line = json.dumps(envelope(line, code), ensure_ascii=False)
    else:
        line = f"error: {line}"
    try:
        print(line, file=stream, flush=True)
    except (OSError, ValueError):  # stderr is closed: the code still says it
        return code
    return code


def envelope(sentence: str, code: int) -> dict[str, Any]:
    """The native error shape; `code` is the exit code here, as it is the status there."""
    return {"error": {"message": sentence, "type": "blazar_error", "param": None, "code": code}}


def report_error(error: BlazarError, *, as_json: bool) -> int:
    """Print a refusal or fault; its exit code."""
    return report(str(error), exit_code(error), as_json=as_json)


def report_unexpected(error: Exception, *, as_json: bool) -> int:
    """The last line of defence: what nobody foresaw, without its traceback."""
    return report(teaching.unexpected(type(error).__name__, str(error)), FAILED, as_json=as_json)
