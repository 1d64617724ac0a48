"""The loopback registry does what its switches say: a test that relies on a fault must not pass because there was none."""

import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.support.model_registry import Auth, ModelRegistry
from tests.support.registry_faults import Fault

DATA = bytes(range(256)) * 256


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    server = ModelRegistry()
    yield server
    server.close()


def asked(url: str, timeout: float = 20.0, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(url, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with closing(opener.open(request, timeout=timeout)) as answer:
        return answer.status, answer.read()


def refused(url: str, **headers: str) -> tuple[int, dict[str, str]]:
    with pytest.raises(urllib.error.HTTPError) as failed:
        asked(url, **headers)
    failed.value.close()
    return failed.value.code, {name.lower(): value for name, value in failed.value.headers.items()}


def test_the_hub_lists_and_redirects(registry: ModelRegistry, tmp_path: Path) -> None:
    """Large files by their digest on the second server, from memory or from disk; small ones by itself."""
    (tmp_path / "m.gguf").write_bytes(DATA)
    registry.publish_hub("me/m", {"m.gguf": tmp_path / "m.gguf", "config.json": b"{}"})
    _, listed = asked(f"{registry.url}/api/models/me/m/tree/main?recursive=true")
    weights, config = json.loads(listed)
    assert weights["lfs"]["oid"] == hashlib.sha256(DATA).hexdigest()
    assert "lfs" not in config
    assert asked(registry.file_url("me/m", "m.gguf"))[1] == DATA
    assert asked(registry.file_url("me/m", "config.json"))[1] == b"{}"
    assert asked(registry.file_url("me/m", "m.gguf"), range="bytes=5-9") == (206, DATA[5:10])
    assert [one.path.partition("?")[0] for one in registry.network.asked] == [f"/lfs/{weights['lfs']['oid']}"] * 2


def test_ollamas_manifests_and_blobs(registry: ModelRegistry) -> None:
    """By tag, by digest, and behind a token where one is asked for."""
    manifest = registry.publish("library/m", "1b", [("model", DATA)])
    (layer,) = manifest["layers"]
    assert json.loads(asked(f"{registry.url}/v2/library/m/manifests/1b")[1]) == manifest
    assert asked(f"{registry.url}/v2/library/m/blobs/{layer['digest']}")[1] == DATA
    assert json.loads(asked(f"{registry.url}/v2/library/m/tags/list")[1])["tags"] == ["1b"]
    registry.auth = Auth()
    assert refused(f"{registry.url}/v2/library/m/manifests/1b")[0] == 401
    token = json.loads(asked(f"{registry.url}/token?service=registry")[1])["token"]
    assert asked(f"{registry.url}/v2/library/m/manifests/1b", authorization=f"Bearer {token}")[0] == 200


def test_a_flipped_byte_is_flipped_once(registry: ModelRegistry) -> None:
    """By the range that holds it, and never again."""
    repo = registry.publish_hub("me/m", {"m.gguf": DATA})
    registry.spoil(repo.files["m.gguf"].digest, Fault(flip=1000, times=1))
    url = registry.file_url("me/m", "m.gguf")
    assert asked(url, range="bytes=0-99")[1] == DATA[:100]
    spoilt = asked(url)[1]
    assert (len(spoilt), spoilt[1000] ^ DATA[1000]) == (len(DATA), 1)
    assert spoilt[:1000] + spoilt[1001:] == DATA[:1000] + DATA[1001:]
    assert asked(url)[1] == DATA


def test_every_other_switch(registry: ModelRegistry) -> None:
    """One after the other on one path, and all is well behind them."""
    registry.given["/x"] = lambda _: pytest.fail("not reached while a fault holds")
    registry.faults.set(
        "/x", Fault(status=429, headers=(("retry-after", "7"),), times=1), Fault(redirect="/y", times=1)
    )
    status, headers = refused(f"{registry.url}/x")
    assert (status, headers["retry-after"]) == (429, "7")
    repo = registry.publish_hub("me/m", {"m.gguf": DATA})
    registry.given["/y"] = stored = repo.files["m.gguf"].stored
    assert asked(f"{registry.url}/x")[1] == DATA
    registry.faults.set(
        "/y",
        Fault(cut=100, times=1),
        Fault(ranges=False, times=1),
        Fault(shift=3, times=1),
        Fault(length=10, times=1),
        Fault(length=1 << 20, times=1),
    )
    with pytest.raises(HTTPException):
        asked(f"{registry.url}/y")
    assert asked(f"{registry.url}/y", range="bytes=0-9") == (200, DATA)
    assert asked(f"{registry.url}/y", range="bytes=0-9") == (206, DATA[3:10])
    assert asked(f"{registry.url}/y")[1] == DATA[:10]
    with pytest.raises(HTTPException):
        asked(f"{registry.url}/y")
    assert asked(f"{registry.url}/y", range=f"bytes=5-{len(DATA)}") == (206, DATA[5:])
    assert refused(f"{registry.url}/y", range=f"bytes={len(DATA)}-")[0] == 416
    assert stored.sent >= 3 * len(DATA)


@pytest.mark.parametrize("where", ["before", "head", "body"])
def test_silence(registry: ModelRegistry, where: str) -> None:
    """Until who asked has left."""
    repo = registry.publish_hub("me/m", {"m.gguf": DATA})
    registry.spoil(repo.files["m.gguf"].digest, Fault(stall=where, after=10, times=1))
    with pytest.raises(TimeoutError):
        asked(registry.file_url("me/m", "m.gguf"), 0.5)
    assert asked(registry.file_url("me/m", "m.gguf"))[1] == DATA
