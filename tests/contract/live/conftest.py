"""One running gateway for the whole suite.

A vendor points the suite at any gateway: `BLAZAR_URL=http://host:port pytest tests/contract/live` (with `BLAZAR_API_KEY`,
`BLAZAR_MODEL`, `BLAZAR_EMBED_MODEL`, `BLAZAR_RANK_MODEL` where they differ from the defaults). Without it, a daemon with the embedded engine,
SmolLM2, the scripted model and a small embedding model is started; tests of behaviour that only a scripted model can
show skip on a foreign gateway.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.matrix.gateway import own_gateway
from tests.matrix.registry import Lacking


class Gateway(NamedTuple):
    """Where the suite talks to, and the names it may use there. `scripted` and `played` are empty on a foreign gateway, `rank` may be."""

    url: str
    key: str
    chat: str
    embed: str
    scripted: str
    rank: str = ""
    played: str = ""


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


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The gateway under test."""
    if (there := foreign()) is not None:
        yield there
        return
    try:
        with own_gateway(tmp_path_factory.mktemp("live")) as own:
            names = own.models
            yield Gateway(
                own.url, own.key, names["chat"], names["embed"], names["scripted"], names["rank"], names["played"]
            )
    except Lacking as reason:
        pytest.skip(str(reason))


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
