"""How a fit verdict looks. `BLAZAR_GOLDEN=write` writes the pages anew."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.cli.fit_view import _bar, page
from blazar.adapters.cli.render import Style
from tests.support.fit_answers import answer, device, quant, repository

GOLDEN = Path(__file__).with_name("golden")
PLAIN = Style(io.StringIO())


class Coloured(Style):
    """As on a terminal."""

    def __init__(self) -> None:
        self.on = True


def lacking() -> dict[str, Any]:
    """A model that is too large for one card that others use too."""
    found = answer(quant("F16", 15.0, "never", ctx=0, ctx_up_to=0), take=None, quant="F16")
    verdict = found["verdict"]
    verdict |= {"outcome": "never", "fits": False, "sentence": "needs 16.1 GiB, and there are 8.0"}
    verdict["devices"] = [
        device("host", 15872, 9000, weights=8000, compute=24, mapped=4000),
        device("CUDA0", 8192, 6200, weights=7300, kv=700, recurrent=12, compute=300, projector=900, margin=1024),
    ]
    verdict["levers"] = ["take a smaller quantisation", "ctx = 4096 saves 0.5 GiB"]
    verdict["notes"] = ["the architecture is unknown"]
    verdict["memory"]["upper_bound"] = True
    found["alternatives"] = [quant("Q8_0", 8.0, "never", files=0), quant("Q4_K_M", 4.6, files=0, take=True)]
    verdict["evict"] = ["other\x1b[2J"]
    verdict["chosen"] |= {"slots": 4, "cache_type_k": "q8_0", "cache_type_v": "q4_0", "gpu_layers": 0}
    return found


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(("name", "make"), [("repository", repository), ("one", answer), ("lacking", lacking)])
def test_a_page_looks_like_this(name: str, make: Any, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, and no wider than the terminal."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    text = page(make(), width, PLAIN) + "\n"
    file = GOLDEN / f"fit-{name}-{width}.txt"
    if os.environ.get("BLAZAR_GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= width
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_a_terminal_without_block_characters_gets_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Latin-1 and the like would show question marks."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    text = page(repository(), 80, PLAIN)
    bars = [line for line in text.splitlines() if line.startswith("CUDA")]
    assert all("###" in bar and "=" in bar and "..." in bar for bar in bars)
    assert not set("█▓▒░→") & set(text)


def test_colour_changes_nothing_but_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its escapes the page is the plain one."""
    import re

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    painted = page(repository(), 80, Coloured())
    assert "\x1b[34m" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == page(repository(), 80, PLAIN)


def test_a_name_cannot_drive_the_terminal() -> None:
    """Names come from files and registries."""
    found = answer(quant("Q4\x1b[2J", 3.0, take=True), quant("B\n", 1.0), model="m\x1b]0;x\x07", take="Q4\x1b[2J")
    assert "\x1b" not in page(found, 80, PLAIN)


@pytest.mark.parametrize("length", [12, 48])
def test_a_bar_always_has_its_length(length: int) -> None:
    """Whatever is claimed: more than there is, almost nothing, nothing at all."""
    parts = ("weights", "kv", "compute", "other", "in use")
    for amounts in ((0, 0, 0, 0, 0), (1, 1, 1, 1, 1), (10**12, 5, 5, 5, 5), (5, 0, 0, 0, 95), (50, 50, 0, 0, 0)):
        bar = _bar(dict(zip(parts, amounts, strict=True)), 100, length, PLAIN, fancy=True)
        assert len(bar) == length
    assert _bar(dict.fromkeys(parts, 0), 0, length, PLAIN, fancy=True) == " " * length


def test_what_is_there_at_all_is_seen() -> None:
    """A hundredth of a device is still a cell."""
    amounts = {"weights": 5000, "kv": 1, "compute": 1, "other": 0, "in use": 0}
    bar = _bar(amounts, 10_000, 20, PLAIN, fancy=True)
    assert (bar.count("▓"), bar.count("▒")) == (1, 1)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "fits  "),
        ({"whole": False, "gpu_layers": 20}, "fits partly on GPU"),
        ({"whole": False, "gpu_layers": 0}, "fits, not on GPU"),
        ({"outcome": "fits-from-disk", "whole": False, "gpu_layers": 0}, "fits, reading disk"),
        ({"outcome": "fits-from-disk", "whole": False}, "fits, reading disk"),
        ({"outcome": "fits-after-eviction"}, "fits when others leave"),
        ({"outcome": "fits-after-eviction", "whole": False}, "fits partly when others leave"),
        ({"outcome": "never"}, "too large"),
        ({"outcome": "refused", "exact_bytes": 0}, "refused"),
        ({"outcome": "something new"}, "something new"),
    ],
)
def test_a_verdict_in_few_words(more: dict[str, Any], words: str) -> None:
    """Where the layers lie belongs to it; a newer daemon's word is shown as it is."""
    text = page(answer(quant("A", 1.0), quant("B", 2.0, **more)), 80, PLAIN)
    (row,) = [line for line in text.splitlines() if line.startswith(" ~  B ")]
    assert words in row


def test_unknown_memory_is_said() -> None:
    """No size is invented; a machine without a card has its memory only."""
    found = answer(machine={"imagined": False, "ram_total": 0, "ram_available": 0, "devices": []})
    assert "on RAM of unknown size" in page(found, 80, PLAIN)


def test_a_refusal_has_no_bars() -> None:
    """The engine would not take it: there is nothing to place."""
    found = answer(quant("Q4_K_M", 3.0, "refused", exact_bytes=0))
    found["verdict"] |= {"outcome": "refused", "devices": [], "sentence": "the engine would refuse it"}
    text = page(found, 80, PLAIN)
    assert "DEVICE" not in text
    assert "the engine would refuse it" in text
