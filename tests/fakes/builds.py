"""Engine builds without a disk, trials without a process, and a finder that finds what a test says."""

from collections.abc import Collection, Mapping, Sequence

from blazar.application.ports.engines import Archive, EngineBuilds, EngineFinder, EngineTrial, FoundEngine, Staged
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Malformed, NotFound
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine


class MemoryEngineBuilds(EngineBuilds):
    """`archives` maps an archive's path to (tag, sha256); folders are names in sets. `empty` are builds whose program is gone."""

    def __init__(self, archives: Mapping[str, tuple[str, str]] | None = None) -> None:
        self.archives = dict(archives or {})
        self.present: set[str] = set()
        self.aside: set[str] = set()
        self.staged: set[str] = set()
        self.unsettled: set[str] = set()
        self.empty: set[str] = set()
        self.swept: list[list[str]] = []

    def stage(self, archives: Sequence[Archive], tag: str | None, server: str) -> Staged:
        for archive, sha256 in archives:
            if archive not in self.archives:
                raise NotFound(teaching.no_such_file(archive))
            if not sha256:
                raise Malformed(teaching.sha256_needed(archive), "sha256")
            digest = self.archives[archive][1]
            if digest != sha256:
                raise Malformed(teaching.sha256_differs(archive, sha256, digest), "sha256")
        return self._stage(tag or self.archives[archives[0].path][0], server)

    def adopt(self, folder: str, tag: str, server: str) -> Staged:
        return self._stage(tag, server)

    def _stage(self, tag: str, server: str) -> Staged:
        self.staged.add(tag)
        return Staged(tag, f"/engines/.{tag}", f"/engines/.{tag}/{server}")

    def publish(self, staged: Staged) -> str:
        if staged.tag in self.present - self.unsettled:
            raise Conflict(teaching.engine_installed_already(staged.tag))
        self.staged.discard(staged.tag)
        self.present.add(staged.tag)
        self.unsettled.add(staged.tag)
        return staged.server.replace(f".{staged.tag}", staged.tag)

    def settle(self, tag: str) -> None:
        self.unsettled.discard(tag)

    def unstage(self, staged: Staged) -> None:
        self.staged.discard(staged.tag)

    def holds(self, engine: Engine) -> bool:
        return engine.tag not in self.empty

    def flaw(self, engine: Engine) -> str:
        return teaching.flaw_gone(engine.server_path) if engine.tag in self.empty else ""

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
        self.swept.append(sorted(known))
        self.present -= self.unsettled - set(known)
        self.unsettled.clear()
        self.present |= self.aside & set(known)
        self.aside.clear()


class FakeEngineTrial(EngineTrial):
    """Every program runs and is `version`, but those in `broken`, which give their reason."""

    def __init__(self, version: str = "1.0", broken: Mapping[str, str] | None = None) -> None:
        self.version, self.broken = version, dict(broken or {})
        self.tried: list[tuple[str, ...]] = []
        self.kinds: list[EngineKind] = []

    def try_out(self, words: tuple[str, ...], kind: EngineKind = EngineKind.LLAMACPP) -> str:
        self.tried.append(words)
        self.kinds.append(kind)
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
