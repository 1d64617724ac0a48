"""Threads that receive by turns."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blazar.adapters.net.turns import Turns
from blazar.adapters.net.web import Web
from tests.support.registry import Answer, Registry
from tests.support.registry_faults import Fault, Stored

DATA = bytes(range(256)) * 4096


@pytest.fixture
def host() -> Iterator[Registry]:
    server = Registry()
    server.given["/file"] = Stored(DATA)
    yield server
    server.close()


def fetched(web: Web, turns: Turns) -> bytes:
    with web.get(f"{web.base}/file", "file") as answer:
        return b"".join(turns.parts(answer, web.parts(answer), 5.0))


def test_all_bytes_come_in_order(host: Registry) -> None:
    """Whoever else receives."""
    web, turns = Web(host.url), Turns()
    with ThreadPoolExecutor(4) as pool:
        assert all(data == DATA for data in pool.map(lambda _: fetched(web, turns), range(8)))
    web.close()


@pytest.mark.parametrize("secs", [60.0, 0.01])
def test_who_waits_for_bytes_holds_no_turn(host: Registry, secs: float) -> None:
    """One whose host has fallen silent does not keep another from receiving: not when it has been silent for long, either."""
    host.given["/silent"] = Stored(DATA)
    host.faults.set("/silent", Fault(stall="body", after=1000))
    web, turns = Web(host.url), Turns()
    with web.get(f"{web.base}/silent", "silent") as silent, ThreadPoolExecutor(1) as pool:
        parts = turns.parts(silent, web.parts(silent), secs)
        assert len(next(parts)) == 1000
        rest = pool.submit(next, parts, None)
        for _ in range(20):
            assert fetched(web, turns) == DATA
        assert not rest.done()
        host.closed.set()
        with pytest.raises(Exception, match="no proper HTTP"):
            rest.result(10)
    web.close()


def test_an_answer_without_length_is_its_readers(tmp_path: Path, host: Registry) -> None:
    """Nobody knows before its end whether more comes."""
    host.given["/file"] = Answer(b"abc", headers=(("content-length", "3"), ("x", "y")))
    web = Web(host.url)
    assert fetched(web, Turns()) == b"abc"
    web.close()
