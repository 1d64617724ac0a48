"""Weight files in memory: what is at which path, what was linked, what went missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from blazar.application.ports.weights import FileFacts, Source, WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, Conflict, NotFound
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.shape import ModelShape, Projector, Tensor
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


def some_shape(blocks: int = 2, width: int = 256, weights: int = 240_128, trained: int = 4096) -> ModelShape:
    """A small dense model; `weights` bytes, half of them in its blocks."""
    each = weights // (2 * blocks)
    rest = weights - each * blocks
    rows = [Tensor("token_embd.weight", (width, max(1, rest // (2 * width))), "F16", rest)]
    rows += [
        Tensor(f"blk.{number}.ffn_up.weight", (width, max(1, each // (2 * width))), "F16", each)
        for number in range(blocks)
    ]
    metadata = {
        "general.architecture": "llama",
        "llama.context_length": trained,
        "llama.embedding_length": width,
        "llama.block_count": blocks,
        "llama.feed_forward_length": 4 * width,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 4,
        "llama.vocab_size": max(1, rest // (2 * width)),
    }
    return shape_from_gguf(metadata, rows)


def heavy_shape(weights: int, trained: int = 512) -> ModelShape:
    """A model that costs nearly nothing but its weights: little to compute with, a small cache."""
    small = some_shape()
    rows = [Tensor(f"blk.{block.number}.ffn_up.weight", (64, 256), "F16", weights // 2) for block in small.blocks]
    return replace(small, tensors=(small.tensors[0], *rows), trained_ctx=trained)


class MemoryWeightFiles(WeightFiles):
    """`content` maps a file to an identity: two paths with one identity are links of one file."""

    def __init__(self, models: Mapping[str, FileFacts], *, linkable: bool = True, folder: str = "/models") -> None:
        self.facts = dict(models)
        self.linkable = linkable
        self.folder = folder
        self.parts: tuple[tuple[str, str], ...] = ()
        self.broken: dict[str, str] = {}
        self.pairs: dict[str, Any] = {"general.architecture": "llama"}
        self.shapes: dict[str, ModelShape] = {}
        self.projectors: dict[str, Projector] = {}
        self.beside: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.content = {file: file for facts in models.values() for file in facts.files}

    def inspect(self, path: str, parts: Sequence[tuple[str, str]] = ()) -> FileFacts:
        if path in self.broken:
            raise BadModelFile(path, self.broken[path])
        facts = self.facts.get(path)
        if facts is None or self.missing(facts.files):
            raise NotFound(teaching.no_such_file(path))
        self.parts = tuple(parts)
        return facts

    def metadata(self, path: str) -> dict[str, Any]:
        if path not in self.content:
            raise NotFound(teaching.no_such_file(path))
        return dict(self.pairs)

    def shape(self, files: tuple[str, ...]) -> ModelShape:
        if gone := self.missing(files):
            raise NotFound(teaching.no_such_file(gone))
        if files[0] in self.broken:
            raise BadModelFile(files[0], self.broken[files[0]])
        return self.shapes.get(files[0]) or some_shape()

    def projector(self, files: tuple[str, ...]) -> Projector | None:
        if f"beside {files[0]}" in self.broken:
            raise BadModelFile("mmproj.gguf", self.broken[f"beside {files[0]}"])
        return self.projectors.get(files[0])

    def projector_file(self, files: tuple[str, ...]) -> str:
        return self.beside.get(files[0], "") if self.projector(files) else ""

    def projector_in(self, path: str) -> Projector:
        self._readable(path)
        return self.projectors.get(path) or Projector("clip", self.sizes.get(path, 1), 0)

    def projector_facts(self, path: str) -> dict[str, Any]:
        self._readable(path)
        return {**self.pairs, "general.parameter_count": self.sizes.get(path, 1)}

    def adapter_bytes(self, path: str) -> int:
        self._readable(path)
        return self.sizes.get(path, 1)

    def vet_adapter(self, path: str, arch: str) -> None:
        if path in self.broken:
            raise BadModelFile(path, self.broken[path])

    def _readable(self, path: str) -> None:
        if path in self.broken:
            raise BadModelFile(path, self.broken[path])
        if path not in self.content:
            raise NotFound(teaching.no_such_file(path))

    def shape_elsewhere(self, sources: Iterable[Source]) -> ModelShape:
        names = []
        for source in sources:
            source.read(24)
            names.append(source.name)
            if source.name in self.broken:
                raise BadModelFile(source.name, self.broken[source.name])
        return self.shapes.get(names[0]) or some_shape()

    def projector_elsewhere(self, source: Source) -> Projector:
        source.read(24)
        if source.name in self.broken:
            raise BadModelFile(source.name, self.broken[source.name])
        return self.projectors.get(source.name) or Projector("clip", source.size, 0)

    def vet_elsewhere(self, source: Source, roles: Sequence[str]) -> None:
        """Nothing in memory draws."""

    def vet_part_elsewhere(self, source: Source, role: str) -> None:
        """Nor is it a part."""

    def link(self, name: str, files: tuple[str, ...], names: tuple[str, ...] = ()) -> tuple[tuple[str, ...], bool]:
        if gone := self.missing(files):
            raise NotFound(teaching.no_such_file(gone))
        targets = tuple(f"{self.folder}/{file_stem(name)}/{one}" for one in names) or self._targets(name, files)
        if not self.linkable or targets == files:
            return files, False
        for file, target in zip(files, targets, strict=True):
            if self.content.get(target, self.content[file]) != self.content[file]:
                raise Conflict(teaching.link_in_the_way(target))
        self.content |= {target: self.content[file] for file, target in zip(files, targets, strict=True)}
        return targets, True

    def take(self, name: str, files: tuple[str, ...], names: tuple[str, ...] = ()) -> tuple[str, ...]:
        links, owned = self.link(name, files, names)
        if owned:
            return links
        targets = tuple(f"{self.folder}/{file_stem(name)}/{one}" for one in names) or self._targets(name, files)
        self.content |= {target: self.content.pop(file) for file, target in zip(files, targets, strict=True)}
        return targets

    def check_writable(self) -> None:
        """Memory is."""

    def unlink(self, files: tuple[str, ...], folder: str = "") -> None:
        for file in files:
            parent = file.rpartition("/")[0]
            if parent == self.folder or (folder.rpartition("/")[0] == self.folder and file.startswith(f"{folder}/")):
                self.content.pop(file, None)

    def missing(self, files: tuple[str, ...]) -> str | None:
        return next((file for file in files if file not in self.content), None)

    def stamp(self, path: str) -> str:
        return str(self.content.get(path, ""))

    def same(self, files: tuple[str, ...], others: tuple[str, ...]) -> bool:
        if gone := self.missing((*files, *others)):
            raise NotFound(teaching.no_such_file(gone))
        return [self.content[file] for file in files] == [self.content[other] for other in others]

    def _targets(self, name: str, files: tuple[str, ...]) -> tuple[str, ...]:
        stem, total = f"{self.folder}/{file_stem(name)}", len(files)
        if total == 1:
            return (f"{stem}.gguf",)
        return tuple(f"{stem}-{number:05d}-of-{total:05d}.gguf" for number in range(1, total + 1))
