"""Downloads out of memory, onto the disk: what a host has by address, and when it fails."""

from collections.abc import Callable, Mapping
from pathlib import Path

from blazar.application.ports.downloads import Downloads, Told, Wanted
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, NotFound


class FakeDownloads(Downloads):
    """`fails` by address are raised when half of the file is there; `fetched` names what was asked for, `met` is called before each."""

    def __init__(self, content: Mapping[str, bytes]) -> None:
        self.content = dict(content)
        self.fails: dict[str, BlazarError] = {}
        self.fetched: list[str] = []
        self.met: Callable[[Wanted], None] = lambda _: None
        self.why: BlazarError | None = None
        self.says, self._notes = "", list[Callable[[str], None]]()
        """What is told of each file."""

    def fetch(self, wanted: Wanted, told: Told) -> None:
        self.met(wanted)
        if self.why is not None:
            raise self.why
        self.fetched.append(wanted.url)
        if wanted.url not in self.content:
            raise NotFound(teaching.download_gone(wanted.name, "registry.example"))
        for notes in self._notes if self.says else ():
            notes(self.says)
        data, path = self.content[wanted.url], Path(wanted.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(data[: len(data) // 2])
        told(len(data) // 2, len(data))
        if wanted.url in self.fails:
            raise self.fails.pop(wanted.url)
        part.write_bytes(data)
        part.replace(path)
        told(len(data), len(data))

    def tells(self, notes: Callable[[str], None]) -> None:
        self._notes = [notes]

    def came(self, path: str) -> int:
        part = Path(f"{path}.part")
        return part.stat().st_size if part.exists() else 0

    def stop(self, why: BlazarError) -> None:
        self.why = self.why or why
