"""What keeps a build on disk from running, as far as its files tell: looks at names and sizes, opens and starts nothing."""

import os
from pathlib import Path

from blazar.domain import teaching
from blazar.domain.kinds import Provenance
from blazar.domain.records import Engine

_OURS = frozenset({Provenance.ARCHIVE, Provenance.BUILT, Provenance.FORK})
"""Builds that have a folder of their own: what lies beside any other program is not known to be its."""


def flaw_of(engine: Engine) -> str:
    """Why it cannot run; "" where nothing is seen. A wheel is started as a module: it has no file of its own to miss."""
    if engine.provenance is Provenance.EMBEDDED:
        return ""
    program = Path(engine.server_path)
    try:
        if not program.is_file():
            return teaching.flaw_gone(engine.server_path)
        if not program.stat().st_size:
            return teaching.flaw_empty(engine.server_path)
        started = (
            engine.command[0] if engine.command else engine.server_path
        )  # a script may be an interpreter's first word
        if not os.access(started, os.X_OK):
            return teaching.flaw_not_executable(started)
        hollow = _hollow(program.parent) if engine.provenance in _OURS else []
    except (OSError, ValueError) as error:
        return teaching.flaw_unreadable(engine.server_path, getattr(error, "strerror", None) or str(error))
    return teaching.flaw_libraries(hollow) if hollow else ""


def _hollow(folder: Path) -> list[str]:
    """Shared libraries without a byte: a copy or an unpacking that was cut off leaves such."""
    return sorted(path.name for path in folder.iterdir() if _is_library(path) and not path.stat().st_size)


def _is_library(path: Path) -> bool:
    return (path.suffix in (".so", ".dylib", ".dll") or ".so." in path.name) and path.is_file()
