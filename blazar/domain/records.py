"""What the catalog knows: one record a row, immutable. Paths are plain strings: the domain opens nothing."""

from dataclasses import dataclass
from typing import NamedTuple

from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.parcels import Origin

RANK_POOLING = 4
"""The pooling type of models that score a document for a query (LLAMA_POOLING_TYPE_RANK)."""


@dataclass(frozen=True, slots=True)
class Model:
    """One catalogued model.

    `files` are absolute paths of all that belongs to it, weights first and in shard order, `sizes` their bytes. `owned` is true
    when they are links inside our models folder: only those may be deleted (D36). `digest` is a hex SHA-256 fingerprint of
    headers and samples.
    `ctx_train` is the trained window in tokens (0: unknown); `pooling` the GGUF pooling type (None: not an embedder).
    `folder` is where the files of a model lie together ("" for GGUF, and for a set that is referred to); `components` are the
    files of a diffusion set by role (diffusion_model or model, vae, llm, t5xxl, …), each of them one of `files`. `draft` is the
    path of the small model that guesses tokens ahead for it, which is one of ours ("": none). `origin` is None where it was not pulled.
    """

    name: str
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    weights: Weights
    arch: str
    quant: str
    parameters: int
    ctx_train: int
    embedding_length: int
    pooling: int | None
    template: bool
    owned: bool
    digest: str
    imported_at: float
    folder: str = ""
    components: tuple[tuple[str, str], ...] = ()
    draft: str = ""
    origin: Origin | None = None

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(self.sizes)

    def is_entry(self, other: "Model") -> bool:
        """Whether both are what was entered at one time: a newer version of a name has other files, or came later."""
        return (self.name, self.files, self.imported_at) == (other.name, other.files, other.imported_at)

    @property
    def embeds(self) -> bool:
        """Whether this model is served as an embedding model (D38)."""
        return self.pooling is not None and self.pooling != 0

    @property
    def ranks(self) -> bool:
        """Whether what it makes of a text is no vector but the score of a document for a query."""
        return self.pooling == RANK_POOLING


@dataclass(frozen=True, slots=True)
class Engine:
    """One installed engine build.

    `server_path` is absolute here; the store keeps it relative to the data folder where it lies inside (contract).
    `command` are the words that start the server, usually just `server_path`.
    `release` is upstream's own tag where `tag` says more (`b11434` of `b11434-cuda-12.4`); `source` what it was made of (an
    asset's address, a repository at a commit, pinned packages). `digest` is the hex SHA-256 of the very archive that was unpacked:
    an update holds it against what a release offers. Of what was compiled or put together here no release has such a file: it is
    "", and the checksum of the sources stands in `source`. `pinned`: neither update nor pruning nor retirement takes it. `architectures` are those that it advertises, as its headers spell them (empty: unknown).
    `used_at` is when it was last chosen by a person or gave way to one that was, `superseded_at` when mainstream was first seen to cover a fork (0: never).
    """

    tag: str
    kind: EngineKind
    provenance: Provenance
    server_path: str
    version: str
    active: bool
    installed_at: float
    command: tuple[str, ...] = ()
    release: str = ""
    source: str = ""
    digest: str = ""
    pinned: bool = False
    architectures: tuple[str, ...] = ()
    used_at: float = 0.0
    superseded_at: float = 0.0

    @property
    def words(self) -> tuple[str, ...]:
        """What a spawn begins with."""
        return self.command or (self.server_path,)


class Gpu(NamedTuple):
    """One accelerator; bytes. `driver` is empty where the PCI device has no driver.

    `kind` is the engines' backend for it (cuda, rocm, vulkan, sycl, metal; empty: none). `address` is the PCI address as sysfs
    spells it, `compute_capability` NVIDIA's ("8.9"). `shared`: its memory is the host's. A MIG slice carries its own
    `uuid` and, in `parent`, that of the card it is cut from; such a card has no row of its own.
    """

    ordinal: int
    name: str
    vendor: str
    total: int
    free: int
    driver: str
    kind: str = ""
    address: str = ""
    compute_capability: str = ""
    shared: bool = False
    uuid: str = ""
    parent: str = ""


class Trouble(NamedTuple):
    """A probe that gave no answer, and why; both are shown to people."""

    probe: str
    why: str


class Machine(NamedTuple):
    """What the hardware census found; bytes and counts. `vulkan` names the installed Vulkan drivers.

    A GPU with a `total` of 0 is known to be there and nothing more: it never counts as memory to load into.
    `cuda_version` is the newest CUDA that the NVIDIA driver runs ("12.4"). `troubles` are probes that failed.
    """

    ram_total: int
    ram_available: int
    cores: int
    gpus: tuple[Gpu, ...]
    vulkan: tuple[str, ...] = ()
    cuda_version: str = ""
    troubles: tuple[Trouble, ...] = ()
