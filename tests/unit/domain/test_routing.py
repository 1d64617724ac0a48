"""Weights to engine, with every other lane's reason."""

import pytest

from blazar.domain import teaching
from blazar.domain.errors import EngineNotFound, Unserved
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.routing import LANES, lane_for
from tests.fakes.engines import an_engine

LLAMA = an_engine("b1", active=True)
OLD = an_engine("b0")
WHEEL = an_engine("embedded-1", provenance=Provenance.EMBEDDED)
MISTRAL = an_engine("v0.9", kind=EngineKind.MISTRALRS, active=True)
ALL = frozenset(EngineKind)
HERE = frozenset({EngineKind.LLAMACPP})


def reasons(route):
    """Rejections as a mapping."""
    return {rejected.lane: rejected.reason for rejected in route.rejected}


def test_every_kind_of_weights_has_a_lane():
    """No value of Weights is forgotten, and every row says why."""
    assert set(LANES) == set(Weights)
    assert all(lane.kinds and lane.why for lane in LANES.values())


def test_the_active_build_of_the_first_kind_serves():
    """Other builds of the kind and other kinds are named with their reasons."""
    route = lane_for(Weights.GGUF, [OLD, LLAMA, WHEEL, MISTRAL], ALL)
    assert route.engine is LLAMA
    found = reasons(route)
    assert found["b0"] == teaching.lane_not_active("b0", "b1")
    assert found["embedded-1"] == teaching.lane_not_active("embedded-1", "b1")
    assert found["mistralrs"] == teaching.lane_not_preferred("mistralrs", "llamacpp", LANES[Weights.GGUF].why)
    assert found["sdcpp"] == teaching.lane_cannot("sdcpp", "gguf", LANES[Weights.GGUF].why)
    assert set(found) == {kind for kind in EngineKind if kind is not EngineKind.LLAMACPP} | {"b0", "embedded-1"}


def test_the_second_kind_serves_where_the_first_is_missing():
    """A GGUF model runs on mistral.rs when there is no llama.cpp."""
    route = lane_for(Weights.GGUF, [MISTRAL], ALL)
    assert route.engine is MISTRAL
    assert reasons(route)["llamacpp"] == teaching.lane_no_build("llamacpp")


def test_a_kind_without_a_driver_is_passed_over():
    """A build that this version cannot drive serves nothing, and that is said."""
    assert reasons(lane_for(Weights.GGUF, [LLAMA, MISTRAL], HERE))["mistralrs"] == teaching.lane_no_driver("mistralrs")
    with pytest.raises(Unserved):
        lane_for(Weights.GGUF, [MISTRAL], HERE)


def test_without_an_engine_the_refusal_teaches_how_to_get_one():
    """The sentence names the commands."""
    with pytest.raises(Unserved) as caught:
        lane_for(Weights.GGUF, [], ALL)
    assert str(caught.value) == teaching.no_engine("llamacpp", [])


@pytest.mark.parametrize("weights", [Weights.MLX_QUANT, Weights.QUANTIZED, Weights.DIFFUSION, Weights.SAFETENSORS])
def test_other_weights_never_fall_back(weights):
    """Garbage is worse than a refusal (contract)."""
    with pytest.raises(Unserved) as caught:
        lane_for(weights, [LLAMA], ALL)
    assert str(caught.value) == teaching.no_lane(weights, LANES[weights].kinds, ["b1"])


def test_quantised_safetensors_never_reach_mistralrs_even_when_pinned():
    """A pin chooses among lanes; it makes none."""
    for pin in ("mistralrs", "v0.9"):
        with pytest.raises(Unserved):
            lane_for(Weights.QUANTIZED, [MISTRAL], ALL, pin)


def test_a_pinned_tag_wins_over_the_active_build():
    """Exact tag first."""
    route = lane_for(Weights.GGUF, [OLD, LLAMA, MISTRAL], ALL, "b0")
    assert route.engine is OLD
    assert reasons(route)["b1"] == reasons(route)["mistralrs"] == teaching.lane_pinned_away("b0")


def test_a_pinned_kind_takes_its_active_build():
    """Kind after tag."""
    assert lane_for(Weights.GGUF, [LLAMA, MISTRAL], ALL, "mistralrs").engine is MISTRAL


def test_a_pin_to_a_kind_that_is_not_installed_is_refused():
    """Nothing else is served instead of what was pinned."""
    with pytest.raises(Unserved):
        lane_for(Weights.GGUF, [LLAMA], ALL, "mistralrs")
    with pytest.raises(Unserved) as caught:
        lane_for(Weights.GGUF, [MISTRAL], ALL, "llamacpp")
    assert str(caught.value) == teaching.no_engine("llamacpp", ["v0.9"])


def test_a_pin_that_names_nothing_is_not_found():
    """Neither a tag nor a kind."""
    with pytest.raises(EngineNotFound) as caught:
        lane_for(Weights.GGUF, [LLAMA], ALL, "b7")
    assert str(caught.value) == teaching.engine_not_found("b7", ["b1"])
