"""How a fit verdict looks. `BLAZAR_GOLDEN=write` writes the pages anew."""

import io
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.cli.fit_view import _amounts, _bar, page
from blazar.adapters.cli.render import Style
from blazar.domain.fit.report import Memory
from tests.support.command_line import Terminal
from tests.support.fit_answers import CHOSEN, MIB, answer, quant, repository, share, verdict

GOLDEN = Path(__file__).with_name("golden")
PLAIN = Style(io.StringIO())


class Coloured(Style):
    """As on a terminal."""

    def __init__(self) -> None:
        self.on = True


def lacking() -> dict[str, Any]:
    """A model that is too large for one card that others use too, here and now."""
    shares = (
        share("host", 15872, 9000, weights=8000, compute=24, mapped=4000, margin=0),
        share("CUDA0", 8192, 6200, weights=7300, kv=700, recurrent=12, compute=300, projector=900, margin=1024),
    )
    said = verdict(
        "never",
        sentence="needs 16.1 GiB, and there are 8.0",
        memory=Memory(15300 * MIB, 712 * MIB, 0, 324 * MIB, 900 * MIB, 0, 0, (), (), upper_bound=True),
        settings=replace(CHOSEN, parallel=4, kv_unified=True, cache_type_k="q8_0", cache_type_v="q4_0"),
        shares=shares,
        ctx=4096,
        gpu_layers=20,
        evict=("other\x1b[2J",),
        levers=("take a smaller quantisation", "ctx = 4096 saves 0.5 GiB"),
        notes=("the architecture is unknown",),
    )
    machine = {"imagined": True, "imagined_parts": ["gpu"], "ram_total": 15872 * MIB, "ram_available": 9000 * MIB}
    card = {"name": "CUDA0", "kind": "cuda", "total": 8192 * MIB, "free": 6200 * MIB, "label": "", "shared": False}
    return answer(
        quant("F16", 15.0, "never", ctx=0, ctx_up_to=0, gpu_layers=20, layers=33),
        take=None,
        quant="F16",
        verdict=said,
        machine=machine | {"devices": [card]},
        alternatives=[quant("Q8_0", 8.0, "never", files=0), quant("Q4_K_M", 4.6, files=0, take=True)],
    )


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
    parts = ("weights", "kv", "compute", "other", "in use", "kept")
    for amounts in ((0,) * 6, (1,) * 6, (10**12, 5, 5, 5, 5, 5), (5, 0, 0, 0, 95, 0), (50, 50, 0, 0, 0, 0)):
        bar = _bar(dict(zip(parts, amounts, strict=True)), 100, length, PLAIN, fancy=True)
        assert len(bar) == length
    assert _bar(dict.fromkeys(parts, 0), 0, length, PLAIN, fancy=True) == " " * length


def test_what_is_there_at_all_is_seen() -> None:
    """A hundredth of a device is still a cell."""
    amounts = {"weights": 5000, "kv": 1, "compute": 1, "other": 0, "in use": 0, "kept": 0}
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
        ({"outcome": "unreadable", "exact_bytes": 0}, "cannot be read"),
        ({"outcome": "incomplete", "exact_bytes": 0}, "shards missing"),
        ({"outcome": "not-read", "exact_bytes": 0}, "not looked at"),
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


def test_a_refusal_is_all_that_is_printed() -> None:
    """The engine would not take it: nothing was counted and nothing is placed."""
    refused = verdict("refused", sentence="the engine would refuse it", exact_bytes=0, floor_bytes=0, admission_bytes=0)
    found = answer(quant("Q4_K_M", 3.0, "refused", exact_bytes=0), verdict=refused)
    lines = page(found, 80, PLAIN).splitlines()
    assert lines[1:] == ["", "Q4_K_M: the engine would refuse it"]


@pytest.mark.parametrize(
    ("parts", "gpu", "title"),
    [
        ([], True, "2 × 24 GiB cuda, 64 GiB RAM"),
        (["gpu"], True, "2 × 24 GiB cuda (imagined), 64 GiB RAM"),
        (["ram"], True, "2 × 24 GiB cuda, 64 GiB RAM (imagined)"),
        (["gpu", "ram"], True, "2 × 24 GiB cuda (imagined), 64 GiB RAM (imagined)"),
        (["gpu"], False, "no card (imagined), 64 GiB RAM"),
    ],
)
def test_only_what_is_imagined_is_marked(parts: list[str], gpu: bool, title: str) -> None:
    """The rest is this machine."""
    found = answer()
    found["machine"] |= {"imagined": bool(parts), "imagined_parts": parts} | ({} if gpu else {"devices": []})
    assert page(found, 80, PLAIN).splitlines()[0] == f"hf:me/big  on {title}"


@pytest.mark.parametrize("make", [answer, repository, lacking])
def test_a_row_adds_up_to_its_device(make: Any) -> None:
    """And FREE is what the sentence calls free: beyond the margin, mapped weights not being in its way."""
    found = make()
    for device in found["verdict"]["devices"]:
        amounts = _amounts(device)
        mapped = amounts.pop("mapped")
        assert sum(amounts.values()) == device["total"]
        assert amounts["weights"] + mapped == device["weights"]
        assert amounts["free"] == device["headroom"]
    assert sum(_amounts(device)["free"] for device in answer()["verdict"]["devices"][1:]) == 23701 * MIB


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"parallel": 1}, "context 16384 tokens, 1 request at a time, "),
        ({"parallel": 4, "ctx": 65536, "kv_unified": True}, "16384 tokens for each of 4 requests (65536 in one cache)"),
        ({"parallel": 4, "kv_unified": True}, "16384 tokens shared by 4 requests (4096 for each when all are full)"),
        ({"parallel": 4, "ctx": 65536}, "16384 tokens for each of 4 requests (65536 in 4 caches)"),
    ],
)
def test_loads_that_differ_read_differently(more: dict[str, Any], words: str) -> None:
    """One cache for all of them may be four windows or one."""
    found = answer(verdict=verdict(settings=replace(CHOSEN, **more)))
    assert words in " ".join(page(found, 200, PLAIN).split())


@pytest.mark.parametrize(
    ("layers", "words"),
    [(65, "all layers on GPU"), (80, "65 of 80 layers on GPU (the output is one)"), (0, "65 layers on GPU")],
)
def test_layers_are_counted_as_people_do(layers: int, words: str) -> None:
    """A model of 32 layers has no 33; an older daemon does not say how many there are."""
    assert words in page(answer(quant("Q4_K_M", 18.5, layers=layers)), 200, PLAIN)


def test_prose_is_wrapped_for_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs search for sentences in what is piped."""
    long = " ".join(["word"] * 60)
    found = answer(notes=[long])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert long in page(found).splitlines()
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert long not in page(found)
    assert max(map(len, page(found, style=PLAIN).splitlines())) <= 80
