"""Whether settings are values that a load can have at all. What the engine makes of such values is said elsewhere (`caches.refusal`).

Knows no model and no machine. Configuration is checked where it is read; but a plan may be asked for by anybody, and a negative
count would come out as memory that is won.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.settings import NO_DEVICE, Draft, Settings
from blazar.domain.fit.shape import ModelShape, Projector

_MOST = 2**31 - 1
"""Counts are signed 32-bit numbers on the engine's command line (common/arg.cpp)."""

_LARGEST = 2**63 - 1
"""Bytes; and counts that are refused with a sentence of their own above what the engine takes."""

_LARGEST_RATIO = 1e30
"""The engine sums ratios up in single precision, which ends at 3.4e38."""

_MOST_PATTERNS = 4096
"""`llama_max_tensor_buft_overrides` (src/llama.cpp, b11434)."""

_Holds = Callable[[Any], bool]


def _whole(least: int, most: int) -> _Holds:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


_count, _size = _whole(0, _MOST), _whole(0, _LARGEST)


def _switch(value: Any) -> bool:
    return isinstance(value, bool)


def _layers(value: Any) -> bool:
    # The engine takes -1 and -2 for "automatic" and "all".
    return value is None or _whole(-2, _MOST)(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _ratio(value: Any) -> bool:
    # NaN is in no interval.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST_RATIO


def _each(holds: _Holds) -> _Holds:
    return lambda value: isinstance(value, tuple) and all(map(holds, value))


def _devices(value: Any) -> bool:
    texts = _each(lambda name: _text(name) and name != "")(value)
    return texts and len(set(value)) == len(value) and (NO_DEVICE not in value or len(value) == 1)


def _patterns(value: Any) -> bool:
    pairs = _each(lambda pair: _each(_text)(pair) and len(pair) == 2 and pair[1] != "")(value)
    return pairs and len(value) <= _MOST_PATTERNS


def _projector(value: Any) -> bool:
    return value is None or (isinstance(value, Projector) and _size(value.weights_bytes) and _size(value.compute_bytes))


def _draft(value: Any) -> bool:
    known = isinstance(value, Draft) and isinstance(value.shape, ModelShape) and isinstance(value.settings, Settings)
    return value is None or known


_SWITCHES = tuple(field.name for field in fields(Settings) if isinstance(field.default, bool))
_RULES: tuple[tuple[str, _Holds, str], ...] = (
    ("ctx", _size, "count"),
    ("parallel", _size, "count"),
    ("adopted", _size, "count"),
    ("cache_type_k", _text, "text"),
    ("cache_type_v", _text, "text"),
    ("batch", _count, "count"),
    ("ubatch", _count, "count"),
    ("gpu_layers", _layers, "layers"),
    ("cpu_moe_n", _count, "count"),
    ("cpu_ffn_n", _count, "count"),
    ("override_tensor", _patterns, "patterns"),
    ("tensor_preset", _text, "text"),
    ("tensor_split", _each(_ratio), "ratios"),
    ("devices", _devices, "devices"),
    ("lora_bytes", _each(_size), "sizes"),
    ("projector", _projector, "projector"),
    ("projector_device", _text, "text"),
    ("draft", _draft, "draft"),
    ("drafted", _count, "count"),
    # Anything is true or false in Python; but what cannot be hashed breaks the memory of what was counted before.
    *((name, _switch, "switch") for name in _SWITCHES),
)
"""What each setting must be; the last is a row of teaching's table."""


def check(settings: Settings) -> None:
    """Raises `Malformed` naming the first setting that has no such value, the draft's as `draft.ctx` and so on."""
    path = ""
    asked: Settings | None = settings
    while asked is not None:
        for name, holds, must in _RULES:
            if not holds(getattr(asked, name)):
                key = f"{path}{name}"
                raise Malformed(teaching.fit_bad_setting(key, must), key)
        path, asked = f"{path}draft.", asked.draft.settings if asked.draft else None
