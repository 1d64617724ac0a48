"""`python -m blazar.adapters.engines.llamacpp.embedded`: llama-server's command line over the wheel's server.

Maps words to `xllamacpp.CommonParams` by the table in `options.py` and starts it; decides nothing. The wheel (100 MB) is
imported last: `--help`, `--version` and a wrong flag answer without it.
"""

import os
import platform
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from blazar.adapters.engines import tether
from blazar.adapters.engines.llamacpp.options import OPTIONS, Option
from blazar.domain import teaching

HELP_COLUMN = 40  # where llama-server's descriptions begin


class Said(NamedTuple):
    """One option as given."""

    option: Option
    name: str
    text: str


class WrongWord(Exception):
    """The command line cannot be read; the text is llama-server's."""


def said(words: Sequence[str]) -> Iterator[Said]:
    """The command line as options; raises `WrongWord` naming the flag."""
    known = {name: option for option in OPTIONS for name in option.names.split()}
    rest = iter(words)
    for name in rest:
        option = known.get(name)
        if option is None:
            raise WrongWord(f"error: invalid argument: {name}")
        text = next(rest, None) if option.meta else ""
        if text is None:
            raise WrongWord(f'error while handling argument "{name}": expected value for argument')
        yield Said(option, name, text)


def _members(library: Any, option: Option, text: str) -> Any:
    """Our word as a member of an enumeration: upper case, - and + as _, and the engine's short forms."""
    kind, prefix, *plain = option.detail
    short = {} if plain else {"on": "ENABLED", "off": "DISABLED", "dio": "DIRECT_IO"}
    word = short.get(text, text.upper().replace("-", "_").replace("+", "_"))
    return getattr(library, kind)[prefix + word]


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a 5 ms import less on the way to the first token
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def _whole(path: str) -> str:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


def _cpus(cpuparams: Any, text: str) -> Any:
    low, _, high = text.partition("-")
    wanted = range(int(low), int(high or low) + 1)
    cpuparams.cpumask = [index in wanted for index in range(len(cpuparams.cpumask))]
    cpuparams.mask_valid = True
    return cpuparams


def _object(text: str) -> dict[str, str]:
    import json

    return {key: json.dumps(item) for key, item in json.loads(text).items()}


def _split(text: str, places: int) -> list[float]:
    parts = [float(part) for part in text.replace("/", ",").split(",")]
    return parts + [0.0] * (places - len(parts))


# How a value is read: (library, option, current value of the field, text) -> new value.
READERS: dict[str, Callable[[Any, Option, Any, str], Any]] = {
    "text": lambda _x, _o, _now, text: text,
    "int": lambda _x, _o, _now, text: int(text),
    "float": lambda _x, _o, _now, text: float(text),
    "inverse": lambda _x, _o, _now, text: 1.0 / float(text),
    "yes": lambda _x, _o, _now, _text: True,
    "no": lambda _x, _o, _now, _text: False,
    "onoff": lambda _x, _o, _now, text: {"on": True, "off": False}[text],
    "digit": lambda _x, _o, _now, text: bool(int(text)),
    "choice": lambda _x, o, _now, text: {"off": 0, "on": 1, "auto": -1}[o.detail[o.detail.index(text)]],
    "layers": lambda _x, _o, _now, text: {"auto": -1, "all": -2}.get(text) or int(text),
    "names": lambda _x, _o, _now, text: set(text.split(",")),
    "words": lambda _x, _o, _now, text: text.split(","),
    "one_more": lambda _x, _o, now, text: [*now, text],
    "keys": lambda _x, _o, now, text: [*now, *text.split(",")],
    "keyfile": lambda _x, _o, now, text: [*now, *_lines(text)],
    "file": lambda _x, _o, _now, text: _whole(text),
    "folder": lambda _x, _o, _now, text: text if text.endswith("/") else text + "/",
    "object": lambda _x, _o, _now, text: _object(text),
    "split": lambda _x, _o, now, text: _split(text, len(now)),
    "cpus": lambda _x, _o, now, text: _cpus(now, text),
    "loras": lambda x, _o, now, text: [*now, *(x.CommonAdapterLoraInfo(path, 1.0) for path in text.split(","))],
    "origins": lambda _x, _o, now, text: text if isinstance(now, str) else True,
    "member": lambda x, o, _now, text: getattr(x, o.detail[0])(int(text)),
    "enum": lambda x, o, _now, text: _members(x, o, text),
    "enums": lambda x, o, _now, text: [_members(x, o, word) for word in text.split(",")],
}


def params_from(library: Any, given: Sequence[Said]) -> Any:
    """`CommonParams` with every given option set; raises `WrongWord` for a value that cannot be read."""
    params = library.CommonParams()
    params.port = 8080
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    for option, name, text in given:
        for path in option.fields.split():
            *owners, field = path.split(".")
            owner = params
            for part in owners:
                owner = getattr(owner, part)
            try:
                setattr(owner, field, READERS[option.kind](library, option, getattr(owner, field), text))
            except (ValueError, KeyError, OSError, TypeError, AttributeError) as error:
                raise WrongWord(f'error while handling argument "{name}": {error}') from error
    return params


def help_text() -> str:
    """The options in llama-server's layout, so that one probe reads both."""
    lines = ["----- common params -----", ""]
    rows = [("-h, --help, --usage", "print usage and exit"), ("--version", "show version and build info")]
    rows += [(f"{', '.join(o.names.split())} {o.meta}".rstrip(), o.help) for o in OPTIONS]
    for head, about in rows:
        if len(head) < HELP_COLUMN:
            lines.append(head.ljust(HELP_COLUMN) + about)
        else:
            lines += [head, " " * HELP_COLUMN + about]
    return "\n".join(lines)


def version_text() -> str:
    """Two lines in llama-server's format."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("xllamacpp")
    except PackageNotFoundError:
        number = "missing"
    return f"version: {number} (build 0, commit unknown)\nbuilt with xllamacpp for {platform.system()} {platform.machine()}"


def _leave(_number: int, _frame: object) -> None:
    # ODD: it leaves without a destructor. That one waits, holding the interpreter, until every streaming client hangs up.
    os._exit(0)


def serve(library: Any, params: Any) -> int:
    """Load and serve until a signal. The interpreter is blocked while it loads: until then signals keep their default."""
    try:
        server = library.Server(params)
    except (RuntimeError, ValueError, OSError) as error:
        print(f"main: exiting due to model loading error: {error}", file=sys.stderr, flush=True)
        return 1
    # The handler of a signal that comes just before `signal.pause` would run after the next one only: this wakes us in any case.
    waking, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    # One write, line end included: under PYTHONUNBUFFERED the engine's own log would get in between.
    print(f"main: server is listening on {server.listening_address}\n", end="", file=sys.stderr, flush=True)
    while True:
        waking.recv(1)


def main(words: Sequence[str]) -> int:
    """Exit code. Errors are llama-server's lines on stderr."""
    tether.die_with(os.environ.get(tether.PARENT_VARIABLE, ""))
    if {"-h", "--help", "--usage"}.intersection(words):
        print(help_text())
        return 0
    if "--version" in words:
        print(version_text(), file=sys.stderr)
        return 0
    try:
        given = list(said(words))
        import xllamacpp

        params = params_from(xllamacpp, given)
    except WrongWord as wrong:
        print(wrong, file=sys.stderr)
        return 1
    except ImportError as error:
        print(teaching.embedded_missing(str(error)), file=sys.stderr)
        return 1
    return serve(xllamacpp, params)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
