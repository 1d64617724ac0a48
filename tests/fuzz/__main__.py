"""`python -m tests.fuzz`: mutated requests to every route, a table of what they were answered, 1 where something must not be.

python -m tests.fuzz --count 20000 --seed 1      so many requests to each route, by a daemon of this checkout
python -m tests.fuzz --total 20000               so many over all routes
python -m tests.fuzz --real --total 2000         the embedded engine in place of the stub
python -m tests.fuzz --url http://127.0.0.1:1    another daemon, whose process cannot be looked into
python -m tests.fuzz --only /v1/messages --at 17 --seed 1     one request again, and its answer
"""

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from blazar.adapters.http.routes import ROUTES, Route
from tests.fuzz.drive import Drive, table
from tests.fuzz.gateway import Watch, real_gateway, stub_gateway


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="requests to each route")
    parser.add_argument("--total", type=int, default=0, help="requests to all routes together, in place of --count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="WORD", help="only routes with this in `METHOD /path`")
    parser.add_argument("--at", type=int, default=-1, metavar="INDEX", help="only the request of this number")
    parser.add_argument("--real", action="store_true", help="the embedded engine in place of the stub")
    parser.add_argument("--sentences", action="store_true", help="also print what refusals said, most often first")
    parser.add_argument("--url", default="", help="a daemon that runs already, on this machine")
    return parser


def parts(count: int) -> tuple[range, range]:
    """The requests of each route before and after the daemon's memory is marked."""
    half = (count + 1) // 2
    return range(half), range(half, count)


def fuzz(drive: Drive, routes: list[Route], count: int, watch: Watch | None) -> list[str]:
    """All of it; what must not be."""
    before, after = parts(count)
    drive.run(routes, before)
    if watch is not None:
        watch.mark()
    tally = drive.run(routes, after)
    print(table(tally))
    complaints = watch.complaints() if watch is not None else []
    if watch is not None:
        print(watch)
    return [*map(str, tally.findings), *complaints]


def main(words: list[str] | None = None) -> int:
    """0 where nothing was found, 1 where something was."""
    asked = arguments().parse_args(words)
    routes = [route for route in ROUTES if asked.only in f"{route.method} {route.path}"]
    count = -(-asked.total // len(routes)) if asked.total else asked.count
    with ExitStack() as stack:
        watch = None
        if asked.url:
            port = urlsplit(asked.url).port or 80
        else:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blazar-fuzz-")))
            daemon = stack.enter_context((real_gateway if asked.real else stub_gateway)(home))
            watch, port = Watch(daemon), daemon.port
        drive = Drive(port, asked.seed)
        if asked.at >= 0:
            tally = drive.run(routes, range(asked.at, asked.at + 1))
            print(table(tally))
            found = [str(one) for one in tally.findings]
        else:
            found = fuzz(drive, routes, count, watch)
    if asked.sentences:
        print("\n".join(f"{times:>8} {text}" for text, times in drive.tally.sentences.most_common(400)))
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the daemon is ended by its pid on the way out
    sys.exit(main())
