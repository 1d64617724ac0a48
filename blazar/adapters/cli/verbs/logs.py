"""`logs`: the daemon's own log, or that of one model's engine. Follows by polling, across truncation and rotation."""

import argparse
import json
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.root import Root
from blazar.domain import teaching
from blazar.domain.errors import ModelNotFound, NotFound
from blazar.domain.names import file_stem, near, resolve
from blazar.domain.row_names import meant

POLL = 0.25


def logs(args: argparse.Namespace, root: Root) -> int:
    """Print the end of a log; with --follow what is added, until Ctrl-C."""
    path = log_of(root.places.run, args.model)
    if args.model and not path.is_file():  # what it was pulled by, perhaps
        path = log_of(root.places.run, meant(args.model, root.models.list()))
    if not path.is_file():
        raise _why_none(args.model, path, root)
    for line in read_log(path, args.lines, follow=args.follow):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        print(json.dumps({"line": text}, ensure_ascii=False) if args.json else text, flush=args.follow)
    return OK


def _why_none(model: str | None, path: Path, root: Root) -> NotFound:
    """A model that was never loaded has no log; a name that is no model's is a mistake."""
    if model is None:
        return NotFound(teaching.no_daemon_log(str(path)))
    rows = root.models.list()
    names, found = [row.name for row in rows], meant(model, rows)
    return NotFound(teaching.no_log(found, str(path))) if found in names else ModelNotFound(model, near(model, names))


def log_of(run_dir: Path, model: str | None) -> Path:
    """The file of that name; a model may be spelled as anywhere else (`:latest`, other case)."""
    if model is None:
        return run_dir / "daemon.log"
    known = {_name_of(path.stem) for path in run_dir.glob("*.log") if path.stem != "daemon"}
    return run_dir / f"{file_stem(resolve(model, known))}.log"


def _name_of(stem: str) -> str:
    """The reverse of `file_stem`."""
    return re.sub("%([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), stem)


def read_log(path: Path, lines: int, *, follow: bool, pause: Callable[[float], None] = time.sleep) -> Iterator[bytes]:
    """The last `lines` lines (0: all); then, when following, every further one, without end."""
    file: BinaryIO = path.open("rb")
    rest = b""  # a line that is being written is printed when it is whole
    try:
        for line in deque(file, maxlen=lines) if lines else file:
            if follow and not line.endswith(b"\n"):
                rest = line
            else:
                yield line
        while follow:
            rest += file.readline()
            if rest.endswith(b"\n"):
                yield rest
            elif (newer := _replaced(path, file)) is not None:
                file.close()
                file = newer
                if rest:
                    yield rest
            else:
                pause(POLL)
                continue
            rest = b""
    finally:
        file.close()


def _replaced(path: Path, file: BinaryIO) -> BinaryIO | None:
    """The file that has this name now, when it is another one or was cut below what has been read."""
    try:
        now = path.stat()
    except OSError:
        return None  # between the rename and the new file
    held = os.fstat(file.fileno())
    if (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino) and now.st_size >= file.tell():
        return None
    try:
        return path.open("rb")
    except OSError:
        return None
