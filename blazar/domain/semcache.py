"""Answers that are given again to questions which mean the same: which chats may share one, how alike two questions are, what is kept. Pure.

Two chats are compared only where everything but the words of the last question is the same, numbers in it included: a long history
that two requests have in common would make any two questions look alike. Never across keys, models or ways in.
"""

import json
import re
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import fsum, isfinite, sqrt
from operator import mul
from typing import Any, Final, NamedTuple

LARGEST_ANSWER: Final = 64 * 1024
"""Bytes of an answer that is remembered: what thousands of tokens of text take."""
LONGEST_QUESTION: Final = 8192
"""Characters: embedding models read no more, and the end of a longer one would count for nothing."""
_BYPASS: Final = (
    *("response_format", "format", "grammar", "json_schema", "output_config", "output_format"),  # structured (contract)
    *("tools", "functions", "mcp"),
    *("seed", "logprobs", "top_logprobs", "store"),  # whose sender measures, or wants to find this very answer
)
_NUMBER: Final = re.compile(r"\d+")


class Settings(NamedTuple):
    """`[semantic_cache]`."""

    enabled: bool = False
    ttl: float = 600.0
    threshold: float = 0.9
    capacity: int = 256


class Question(NamedTuple):
    """What is asked last, and a digest of everything around it that must be the same."""

    text: str
    frame: bytes


class Partition(NamedTuple):
    """Within which answers are shared. `scope` are the models of a scoped key, `lane` is the way in, `embedder` what made the vectors."""

    key: str
    scope: frozenset[str] | None
    model: str
    lane: str
    frame: bytes
    embedder: tuple[str, str, str]


class Kept(NamedTuple):
    """One answer, and the child that gave it: it is good while that one serves."""

    body: bytes
    headers: Sequence[tuple[bytes, bytes]]
    instance: str
    pid: int


class Entry(NamedTuple):
    """One that is remembered."""

    partition: Partition
    vector: "array[float]"
    kept: Kept
    at: float


def question_in(body: Mapping[str, Any], marks: Sequence[bytes] = ()) -> Question | None:
    """The question of a chat's body; None where its answer is not to be shared. `marks` is what else must be the same."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or any(body.get(field) for field in _BYPASS):
        return None
    options = body.get("options")
    if body.get("seed") is not None or (isinstance(options, dict) and options.get("seed") is not None):
        return None
    if body.get("n") not in (None, 1):
        return None
    last = messages[-1]
    text = _words(last)
    if text is None or not text.strip() or len(text) > LONGEST_QUESTION:
        return None
    around = {**body, "messages": [*messages[:-1], {**last, "content": _NUMBER.findall(text)}]}
    try:
        digest = blake2b(json.dumps(around, sort_keys=True).encode(), digest_size=16)
    except RecursionError:
        return None
    for mark in marks:
        digest.update(b"\0" + mark)
    return Question(text, digest.digest())


def _words(message: Any) -> str | None:
    """The text of a user's message that is nothing but text."""
    if not isinstance(message, dict) or message.get("role") != "user" or message.get("images"):
        return None
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    said = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    texts = [part["text"] for part in said if isinstance(part.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(content) else None


def unit_vector(numbers: Any) -> "array[float] | None":
    """Of length 1; None for one without a direction: empty, all zero, or with something in it that is no finite number."""
    if not isinstance(numbers, list) or not numbers:
        return None
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and isfinite(one) for one in numbers):
        return None
    largest = max(map(abs, numbers))
    if not largest > 0:
        return None
    scaled = [one / largest for one in numbers]  # squares of what is very large or small are infinite or nothing
    length = sqrt(fsum(map(mul, scaled, scaled)))
    return array("d", [one / length for one in scaled])


def likeness(one: "array[float]", other: "array[float]") -> float:
    """The cosine of two unit vectors; of different widths they have none in common."""
    return sum(map(mul, one, other)) if len(one) == len(other) else -1.0


def nearest(vector: "array[float]", entries: Sequence[Entry], threshold: float) -> tuple[Entry, float] | None:
    """The entry that is most like it, and how much; None where none is enough."""
    best: tuple[Entry, float] | None = None
    for entry in entries:
        alike = likeness(vector, entry.vector)
        if alike >= threshold - _ROUNDING and (best is None or alike > best[1]):
            best = entry, min(alike, 1.0)
    return best


_ROUNDING: Final = 1e-9
"""The same vector twice is 1 but for its last digits, and a threshold of 1 means the same."""


class SemanticCache:
    """What is remembered, the oldest first. Bounded by count; an answer that has outlived the time to live is as good as gone."""

    def __init__(self, settings: Settings = Settings()) -> None:  # noqa: B008 - immutable
        self.settings = settings
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._of: dict[Partition, dict[int, Entry]] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def exchange(self, settings: Settings) -> None:
        """Other settings. Everything is forgotten: what else was changed may be why an answer would be another one now."""
        self.settings = settings
        self._entries.clear()
        self._of.clear()

    def candidates(self, partition: Partition, now: float) -> tuple[Entry, ...]:
        """What may be compared."""
        self._expire(now)
        return tuple(self._of.get(partition, {}).values())

    def put(self, entry: Entry) -> bool:
        """Remember it in the place of one for the same vector; False for what is of another width than its like, or too large."""
        if not entry.kept.body or len(entry.kept.body) > LARGEST_ANSWER:
            return False
        self._expire(entry.at)
        for number, other in tuple(self._of.get(entry.partition, {}).items()):
            if len(other.vector) != len(entry.vector):
                return False
            if other.vector == entry.vector:
                self._forget(number)
        self._number += 1
        self._entries[self._number] = entry
        self._of.setdefault(entry.partition, {})[self._number] = entry
        while len(self._entries) > self.settings.capacity:
            self._forget(next(iter(self._entries)))
        return True

    def drop(self, entry: Entry) -> None:
        """The child that gave it serves no more."""
        for number, other in tuple(self._of.get(entry.partition, {}).items()):
            if other is entry:
                self._forget(number)

    def _expire(self, now: float) -> None:
        while self._entries:
            number, entry = next(iter(self._entries.items()))
            if now - entry.at < self.settings.ttl:
                return
            self._forget(number)

    def _forget(self, number: int) -> None:
        entry = self._entries.pop(number)
        of = self._of[entry.partition]
        del of[number]
        if not of:
            del self._of[entry.partition]
