"""Engine builds without a disk, trials without a process, and a finder that finds what a test says."""

from collections.abc import Collection, Mapping

from blazar.application.ports.engines import EngineBuilds, EngineFinder, EngineTrial, FoundEngine
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Malformed, NotFound


class MemoryEngineBuilds(EngineBuilds):
    """`archives` maps an archive's path to (tag, sha256); folders are names in sets."""

    def __init__(self, archives: Mapping[str, tuple[str, str]] | None = None) -> None:
        self.archives = dict(archives or {})
        self.present: set[str] = set()
        self.aside: set[str] = set()

    def unpack(self, archive: str, tag: str | None, sha256: str) -> tuple[str, str]:
        if archive not in self.archives:
            raise NotFound(teaching.no_such_file(archive))
        if not sha256:
            raise Malformed(teaching.sha256_needed(archive), "sha256")
        own, digest = self.archives[archive]
        if digest != sha256:
            raise Malformed(teaching.sha256_differs(archive, sha256, digest), "sha256")
        named = tag or own
        if named in self.present:
            raise Conflict(teaching.engine_installed_already(named))
        self.present.add(named)
        return named, f"/engines/{named}/llama-server"

    def set_aside(self, tag: str) -> bool:
        if tag not in self.present:
            return False
        self.present.discard(tag)
        self.aside.add(tag)
        return True

    def restore(self, tag: str) -> None:
        if tag in self.aside:
            self.aside.discard(tag)
            self.present.add(tag)

    def discard(self, tag: str) -> None:
        self.aside.discard(tag)

    def sweep(self, known: Collection[str]) -> None:
        self.present |= self.aside & set(known)
        self.aside.clear()


class FakeEngineTrial(EngineTrial):
    """Every program runs and is `version`, but those in `broken`, which give their reason."""

    def __init__(self, version: str = "1.0", broken: Mapping[str, str] | None = None) -> None:
        self.version, self.broken = version, dict(broken or {})
        self.tried: list[tuple[str, ...]] = []

    def try_out(self, words: tuple[str, ...]) -> str:
        self.tried.append(words)
        if words[0] in self.broken:
            raise Malformed(teaching.engine_did_not_run(words[0], self.broken[words[0]]), "engine")
        return self.version


class FakeEngineFinder(EngineFinder):
    """Set `embedded` and `local`; `trouble` is raised instead of a local one."""

    def __init__(self) -> None:
        self.embedded: FoundEngine | None = None
        self.local: FoundEngine | None = None
        self.trouble: Malformed | None = None

    def find_embedded(self) -> FoundEngine | None:
        return self.embedded

    def find_local(self) -> FoundEngine | None:
        if self.trouble is not None:
            raise self.trouble
        return self.local
