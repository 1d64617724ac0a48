"""Settings that no load can have are refused by their key, before anything is counted with them."""

from dataclasses import fields, replace
from math import inf, nan
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.fit.demand import memory
from blazar.domain.fit.flaws import _RULES, check
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import Projector
from tests.support.fit_shapes import DENSE, cards

HUGE = 10**400
"""Neither a float nor, at ten times its length, a text."""

COUNTS = ("ctx", "parallel", "adopted", "batch", "ubatch", "cpu_moe_n", "cpu_ffn_n", "drafted")
TEXTS = ("cache_type_k", "cache_type_v", "tensor_preset", "projector_device")
NO_COUNTS: tuple[Any, ...] = (-1, -(2**63), HUGE, 10**5000, 1.0, nan, True, "1", None, [1])
NO_RATIOS: tuple[Any, ...] = (nan, inf, -inf, -1.0, -1e-9, 1e31, HUGE, -HUGE, "1", None, True, 1j)
NO_SIZES: tuple[Any, ...] = (-1, -(10**12), HUGE, 1.0, nan, "1", None, True)

FLAWS: list[tuple[str, Any]] = [
    *((name, value) for name in COUNTS for value in NO_COUNTS),
    *((name, value) for name in TEXTS for value in (None, 1, b"f16", ("f16",))),
    *(("gpu_layers", value) for value in (-3, HUGE, 1.5, nan, True, "all", [1])),
    *(("tensor_split", (1, value)) for value in NO_RATIOS),
    *(("lora_bytes", (1, value)) for value in NO_SIZES),
    *(("tensor_split", value) for value in ("1,1", [1.0, 1.0], None, 1.0)),
    *(("lora_bytes", value) for value in (1, [1], None)),
    *(("devices", value) for value in ("CUDA0", ["CUDA0"], (0,), (None,), ("",), None)),
    ("devices", ("CUDA0", "CUDA0")),
    ("devices", ("CUDA0", "CUDA1", "CUDA0")),
    ("devices", ("none", "CUDA0")),
    *(
        ("override_tensor", value)
        for value in ("a=CPU", ("a=CPU",), (("a",),), (("a", ""),), ((1, "CPU"),), [("a", "CPU")])
    ),
    ("override_tensor", (("a", "CPU"),) * 4097),
    *(("projector", value) for value in (Projector("", -1, 1), Projector("", 1, -1), Projector("", 1, HUGE), 1)),
    *(("draft", value) for value in (1, Settings(), (DENSE, Settings()))),
]
"""A setting and what it cannot be."""


@pytest.mark.parametrize(("name", "value"), FLAWS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(FLAWS)])
def test_a_setting_that_no_load_can_have_is_refused_by_its_key(name, value):
    """Also for the draft, whose settings are named as its own; never another error, however odd the value."""
    asked = replace(Settings(), **{name: value})
    drafted = Settings(draft=Draft(DENSE, asked))
    for settings, key in ((asked, name), (drafted, f"draft.{name}")):
        for ask in (check, lambda one: memory(DENSE, one), lambda one: plan(DENSE, cards(24), one)):
            with pytest.raises(Malformed) as refused:
                ask(settings)
            assert refused.value.field == key
            assert str(refused.value).startswith(f"{key} must be ")


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(ctx=10**9, parallel=256, batch=0, ubatch=0, gpu_layers=-1, cpu_moe_n=2**31 - 1),
        Settings(ctx=2**40, parallel=10**6, cache_type_k="nope"),
        Settings(tensor_split=(0, 0.0), devices=("none",), lora_bytes=(0, 2**62)),
        Settings(tensor_split=(3, 1e30, 1e-300), devices=("CUDA0", "CUDA1"), override_tensor=(("", "CPU"),)),
        Settings(projector=Projector("", 0, 0), draft=Draft(DENSE, Settings(draft=Draft(DENSE, Settings())))),
    ],
)
def test_what_a_load_can_have_passes(settings):
    """Open values, the largest ones, and what is refused elsewhere with a sentence of its own."""
    check(settings)


def test_every_setting_has_a_rule():
    """A new setting is not forgotten."""
    assert [name for name, _, _ in _RULES] == list(dict.fromkeys(name for name, _, _ in _RULES))
    assert {name for name, _, _ in _RULES} == {field.name for field in fields(Settings)}
