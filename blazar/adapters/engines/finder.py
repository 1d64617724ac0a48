"""Engines that are there without having been installed by us: the wheel in this environment, the binary that the user names."""

import shutil
import sys
from collections.abc import Mapping
from importlib import metadata, util
from pathlib import Path

from blazar.application.ports.engines import EngineFinder, FoundEngine
from blazar.domain import teaching
from blazar.domain.errors import Malformed

ENGINE_PATH = "BLAZAR_ENGINE_PATH"
WHEEL = "xllamacpp"
EMBEDDED_MODULE = "blazar.adapters.engines.llamacpp.embedded"
"""Run with `python -m`; named here so that looking for it does not import it."""
LONGEST_NAMED = 200
"""Characters of an impossible path that are repeated."""


class SystemEngineFinder(EngineFinder):
    """Looks into this Python and into `env`."""

    def __init__(self, env: Mapping[str, str], server: str = "llama-server") -> None:
        self._env, self._server = env, server

    def find_embedded(self) -> FoundEngine | None:
        wheel = util.find_spec(WHEEL)  # finds, imports nothing: the library has 100 MB
        if wheel is None or wheel.origin is None:
            return None
        try:
            version = metadata.version(WHEEL)
        except metadata.PackageNotFoundError:
            return None
        return FoundEngine(wheel.origin, (sys.executable, "-m", EMBEDDED_MODULE), version)

    def find_local(self) -> FoundEngine | None:
        named = self._env.get(ENGINE_PATH, "").strip()
        if not named:
            return None
        try:
            path = Path(named).expanduser().absolute()
            if path.is_dir():
                path /= self._server
            there = path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # longer than a name may be; of somebody who is not here
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise Malformed(teaching.engine_path_unusable(named[:LONGEST_NAMED], why), ENGINE_PATH) from error
        if not there:
            why = teaching.no_server_in(path.name)
        elif shutil.which(str(path)) is None:
            why = teaching.no_program(str(path))
        else:
            return FoundEngine(str(path), (str(path),), "")
        raise Malformed(teaching.engine_path_unusable(named, why), ENGINE_PATH)
