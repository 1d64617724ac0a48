"""Weight files in memory: what is at which path, what was linked, what went missing."""

from collections.abc import Mapping
from typing import Any

from blazar.application.ports.weights import FileFacts, WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, Conflict, NotFound
from blazar.domain.kinds import Weights
from blazar.domain.names import file_stem


def some_facts(*files: str, **changes: Any) -> FileFacts:
    """Facts of a small chat model in `files`; `changes` replace fields."""
    facts = FileFacts(
        files=files,
        sizes=(240_128,) * len(files),
        weights=Weights.GGUF,
        arch="llama",
        quant="F16",
        parameters=110_000,
        ctx_train=512,
        embedding_length=64,
        pooling=None,
        template=True,
        digest="ab" * 32,
    )
    return facts._replace(**changes)


class MemoryWeightFiles(WeightFiles):
    """`content` maps a file to an identity: two paths with one identity are links of one file."""

    def __init__(self, models: Mapping[str, FileFacts], *, linkable: bool = True, folder: str = "/models") -> None:
        self.facts = dict(models)
        self.linkable = linkable
        self.folder = folder
        self.broken: dict[str, str] = {}
        self.pairs: dict[str, Any] = {"general.architecture": "llama"}
        self.content = {file: file for facts in models.values() for file in facts.files}

    def inspect(self, path: str) -> FileFacts:
        if path in self.broken:
            raise BadModelFile(path, self.broken[path])
        facts = self.facts.get(path)
        if facts is None or self.missing(facts.files):
            raise NotFound(teaching.no_such_file(path))
        return facts

    def metadata(self, path: str) -> dict[str, Any]:
        if path not in self.content:
            raise NotFound(teaching.no_such_file(path))
        return dict(self.pairs)

    def link(self, name: str, files: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        if gone := self.missing(files):
            raise NotFound(teaching.no_such_file(gone))
        targets = self._targets(name, files)
        if not self.linkable or targets == files:
            return files, False
        for file, target in zip(files, targets, strict=True):
            if self.content.get(target, self.content[file]) != self.content[file]:
                raise Conflict(teaching.link_in_the_way(target))
        self.content |= {target: self.content[file] for file, target in zip(files, targets, strict=True)}
        return targets, True

    def unlink(self, files: tuple[str, ...]) -> None:
        for file in files:
            if file.startswith(self.folder + "/"):
                self.content.pop(file, None)

    def missing(self, files: tuple[str, ...]) -> str | None:
        return next((file for file in files if file not in self.content), None)

    def same(self, files: tuple[str, ...], others: tuple[str, ...]) -> bool:
        if gone := self.missing((*files, *others)):
            raise NotFound(teaching.no_such_file(gone))
        return [self.content[file] for file in files] == [self.content[other] for other in others]

    def _targets(self, name: str, files: tuple[str, ...]) -> tuple[str, ...]:
        stem, total = f"{self.folder}/{file_stem(name)}", len(files)
        if total == 1:
            return (f"{stem}.gguf",)
        return tuple(f"{stem}-{number:05d}-of-{total:05d}.gguf" for number in range(1, total + 1))
