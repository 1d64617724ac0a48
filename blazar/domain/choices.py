"""Ways to have one model among which somebody must choose, and how they are told. Which fits is said by whoever knows the machine."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from blazar.domain import teaching

MOST = 40
"""Choices that one sentence names."""
USUAL = "Q4_K_M"
"""The example where there is no better one: what ollama and llama.cpp take of a repository where no quantisation is said."""


class Choice(NamedTuple):
    """`quant` is what a reference says to mean it; `size` bytes of all its files (0: not known); `verdict` a word of `fit/about.py`."""

    quant: str
    size: int
    verdict: str = ""


def judged(choices: Iterable[Choice], verdict: Callable[[int], str]) -> tuple[Choice, ...]:
    """The same with what `verdict` says of their sizes."""
    return tuple(choice._replace(verdict=verdict(choice.size)) for choice in choices)


def told_choices(repo: str, choices: Sequence[Choice], *, files: bool = False, asked: str = "") -> str:
    """What there is of a repository, by size. `asked` is one that it does not have; "" where none was said."""
    by_size = sorted(choices, key=lambda choice: choice.size)
    there = [teaching.one_choice(*choice) for choice in by_size[:MOST]]
    if asked:
        return teaching.remote_no_quant(repo, asked, there)
    named = f"hf:{repo}{'/' if files else ':'}{example(choices)}"
    return teaching.remote_choices(repo, named, there, max(0, len(choices) - MOST))


def example(choices: Sequence[Choice]) -> str:
    """The one that a sentence may show: the usual one, else the largest that fits, else the smallest; "" where there is none."""
    by_size = sorted(choices, key=lambda choice: choice.size)
    usual = [choice for choice in by_size if choice.quant.upper() == USUAL]
    fitting = [choice for choice in by_size if choice.verdict.startswith("fits")]
    return next((choice.quant for choice in (*usual, *fitting[-1:], *by_size)), "")
