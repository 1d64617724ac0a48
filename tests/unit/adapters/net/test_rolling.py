"""A digest that runs behind a file while it arrives."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from blazar.adapters.net import rolling as module
from blazar.adapters.net.partials import Span
from blazar.adapters.net.rolling import Rolling

DATA = bytes(range(256)) * 16
STEP = len(DATA) // 4
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file.part"
    path.write_bytes(DATA)
    return path


def pieces() -> list[Span]:
    return [Span(at, at + STEP, at) for at in range(0, len(DATA), STEP)]


def whole() -> int:
    return len(DATA)


def test_it_follows_what_arrives_in_no_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as there is no gap, and whatever its blocks are; the end needs no second reading."""
    monkeypatch.setattr(module, "_BLOCK", 100)
    spans = pieces()
    rolling = Rolling(path, lambda: spans)
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(rolling.follow, whole, Event())
        for number in (2, 0, 3, 1):
            spans[number].at += STEP // 2
            spans[number].at = spans[number].end
        assert digest.result(10) == DIGEST


def test_a_gap_is_waited_for(path: Path) -> None:
    """Bytes beyond it are not looked at; whoever waits can be ended."""
    spans = pieces()
    spans[0].at, spans[2].at = 10, spans[2].end
    rolling, ended = Rolling(path, lambda: spans), Event()
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(rolling.follow, whole, ended)
        while rolling.at < 10:
            pass
        ended.set()
        assert digest.result(10) == ""
    assert rolling.at == 10


def test_what_was_replaced_is_read_again(path: Path) -> None:
    """From the last boundary before it, not from the beginning."""
    spans = [Span(span.start, span.end, span.end) for span in pieces()]
    rolling = Rolling(path, lambda: spans)
    path.write_bytes(DATA[: 2 * STEP + 1] + b"x" + DATA[2 * STEP + 2 :])
    assert rolling.follow(whole, Event()) != DIGEST
    path.write_bytes(DATA)
    rolling.rewind(2 * STEP + 1)
    assert rolling.at == 2 * STEP
    assert rolling.follow(whole, Event()) == DIGEST


def test_a_file_of_unknown_size(path: Path) -> None:
    """It is whole when somebody knows its size."""
    span, size = Span(0, 0, len(DATA)), [0]
    rolling = Rolling(path, lambda: [span])
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(rolling.follow, lambda: size[0], Event())
        while rolling.at < len(DATA):
            pass
        assert not digest.done()
        size[0] = len(DATA)
        assert digest.result(10) == DIGEST
