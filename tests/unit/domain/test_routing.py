"""Weights to engine, with every other lane's reason."""

from dataclasses import replace

import pytest

from blazar.domain import teaching
from blazar.domain.errors import ArchitectureUnserved, Unserved
from blazar.domain.kinds import EngineKind, LaneClass, Provenance, Weights
from blazar.domain.routing import (
    LANES,
    Rules,
    Subject,
    active_engine,
    architecture_unserved,
    lacks,
    lane_class,
    lane_for,
    rejections,
    route_format,
)
from tests.fakes.engines import an_engine

LLAMA = an_engine("b1", active=True)
OLD = an_engine("b0")
WHEEL = an_engine("embedded-1", provenance=Provenance.EMBEDDED)
FORK = an_engine("fork-1", provenance=Provenance.FORK, architectures=("newarch",))
MISTRAL = an_engine("v0.9", kind=EngineKind.MISTRALRS, active=True)
SGLANG = an_engine("s1", kind=EngineKind.SGLANG, active=True)
SDCPP = an_engine("d1", kind=EngineKind.SDCPP, active=True)
ALL = frozenset(EngineKind)
HERE = frozenset({EngineKind.LLAMACPP})
GGUF = Subject(Weights.GGUF)
NEW = Subject(Weights.GGUF, "newarch")
MANUAL = Rules("manual")


def reasons(route):
    """Rejections as a mapping."""
    return {rejected.lane: rejected.reason for rejected in route.rejected}


def refusal(*asked):
    """The sentence."""
    with pytest.raises(Unserved) as caught:
        lane_for(*asked)
    return str(caught.value)


def test_every_kind_of_weights_has_a_lane():
    """No value of Weights is forgotten, and every row says why."""
    assert set(LANES) == set(Weights)
    assert all(lane.kinds and lane.why for lane in LANES.values())


def test_only_plain_safetensors_are_a_matter_of_policy():
    """Quality and throughput begin with SGLang, latency with mistral.rs."""
    assert route_format(Weights.SAFETENSORS).kinds[0] is EngineKind.SGLANG
    assert route_format(Weights.SAFETENSORS, "throughput").kinds[0] is EngineKind.SGLANG
    assert route_format(Weights.SAFETENSORS, "latency").kinds == (EngineKind.MISTRALRS, EngineKind.SGLANG)
    others = [weights for weights in Weights if weights is not Weights.SAFETENSORS]
    assert all(route_format(weights, "latency") is LANES[weights] for weights in others)


def test_the_active_build_of_the_first_kind_serves():
    """Other builds of the kind and other kinds are named with their reasons."""
    route = lane_for(GGUF, [OLD, LLAMA, WHEEL, MISTRAL], ALL)
    assert route.engine is LLAMA
    found = reasons(route)
    assert found["b0"] == teaching.lane_not_active("b0", "b1")
    assert found["embedded-1"] == teaching.lane_stand_in("embedded-1")
    assert found["mistralrs"] == teaching.lane_not_preferred("mistralrs", "llamacpp", LANES[Weights.GGUF].why)
    assert found["sdcpp"] == teaching.lane_cannot("sdcpp", "gguf", LANES[Weights.GGUF].why)
    assert set(found) == {kind for kind in EngineKind if kind is not EngineKind.LLAMACPP} | {"b0", "embedded-1"}


def test_the_second_kind_serves_where_the_first_is_missing():
    """A GGUF model runs on mistral.rs when there is no llama.cpp."""
    route = lane_for(GGUF, [MISTRAL], ALL)
    assert route.engine is MISTRAL
    assert reasons(route)["llamacpp"] == teaching.lane_no_build("llamacpp")


def test_a_kind_without_a_driver_is_passed_over():
    """A build that this version cannot drive serves nothing, and that is said, also where it was chosen."""
    assert reasons(lane_for(GGUF, [LLAMA, MISTRAL], HERE))["mistralrs"] == teaching.lane_no_driver("mistralrs")
    assert refusal(GGUF, [MISTRAL], HERE) == teaching.lane_no_driver("mistralrs")
    assert refusal(GGUF._replace(pin="mistralrs"), [LLAMA, MISTRAL], HERE) == teaching.lane_no_driver("mistralrs")
    chosen = replace(MISTRAL, used_at=5.0)
    assert refusal(GGUF, [LLAMA, chosen], HERE, MANUAL) == teaching.lane_no_driver("mistralrs")


def test_without_an_engine_the_refusal_teaches_how_to_get_one():
    """The sentence names the commands."""
    assert refusal(GGUF, [], ALL) == teaching.no_engine("llamacpp", [])
    assert refusal(GGUF, [], ALL, MANUAL) == teaching.no_engine("llamacpp", [])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (Weights.MLX_QUANT, teaching.mlx_unserved(["b1"])),
        (Weights.QUANTIZED, teaching.quantized_unserved(["b1"])),
        (Weights.DIFFUSION, teaching.diffusion_unserved(["b1"])),
        (Weights.SAFETENSORS, teaching.no_lane("safetensors", ["sglang", "mistralrs"], ["b1"])),
    ],
)
def test_other_weights_never_fall_back(weights, sentence):
    """Garbage is worse than a refusal (contract)."""
    assert refusal(Subject(weights), [LLAMA], ALL) == sentence


def test_quantised_safetensors_never_reach_mistralrs_even_when_pinned():
    """A pin chooses among lanes; it makes none."""
    for pin in ("mistralrs", "v0.9"):
        assert "garbage" not in refusal(Subject(Weights.QUANTIZED, pin=pin), [MISTRAL], ALL)


def test_the_diffusion_gate_holds_in_both_directions():
    """Neither a pin nor manual mode opens it."""
    engines, tags = [LLAMA, replace(SDCPP, used_at=9.0)], ["b1", "d1"]
    for pin in ("llamacpp", "b1"):
        said = refusal(Subject(Weights.DIFFUSION, pin=pin), engines, ALL)
        assert said == teaching.diffusion_elsewhere(teaching.lane_pinned_away(pin), "llamacpp", tags)
    kinds = LANES[Weights.GGUF].kinds
    for pin in ("sdcpp", "d1"):
        said = refusal(GGUF._replace(pin=pin), engines, ALL)
        assert said == teaching.text_on_diffusion(teaching.lane_pinned_away(pin), "gguf", kinds, tags)
    manual = teaching.text_on_diffusion(teaching.by_manual_mode("d1"), "gguf", kinds, tags)
    manual += teaching.ways_out_of_manual("b1")
    assert refusal(GGUF, engines, ALL, MANUAL) == manual
    assert lane_for(Subject(Weights.DIFFUSION), engines, ALL, MANUAL).engine.tag == "d1"


def test_a_pinned_tag_wins_over_the_active_build():
    """Exact tag first."""
    route = lane_for(GGUF._replace(pin="b0"), [OLD, LLAMA, MISTRAL], ALL)
    assert route.engine is OLD
    assert reasons(route)["b1"] == reasons(route)["mistralrs"] == route.why == teaching.lane_pinned_away("b0")


def test_a_pinned_kind_takes_its_active_build():
    """Kind after tag."""
    assert lane_for(GGUF._replace(pin="mistralrs"), [LLAMA, MISTRAL], ALL).engine is MISTRAL


def test_a_pin_to_a_kind_that_is_not_installed_is_refused():
    """Nothing else is served instead of what was pinned."""
    assert refusal(GGUF._replace(pin="mistralrs"), [LLAMA], ALL) == teaching.pin_not_installed("mistralrs", ["b1"])
    assert refusal(GGUF._replace(pin="llamacpp"), [MISTRAL], ALL) == teaching.pin_not_installed("llamacpp", ["v0.9"])


def test_a_pin_that_names_nothing_is_refused():
    """Neither a tag nor a kind: the names that there are, are said."""
    assert refusal(GGUF._replace(pin="b7"), [LLAMA], ALL) == teaching.pin_names_nothing("b7", list(EngineKind), ["b1"])


def test_a_pin_wins_over_manual_mode():
    """The override is asked first."""
    assert lane_for(GGUF._replace(pin="v0.9"), [replace(LLAMA, used_at=9.0), MISTRAL], ALL, MANUAL).engine is MISTRAL


def test_manual_mode_has_one_engine_for_everything():
    """The active build that a person chose last; what it cannot serve is refused although another one could."""
    chosen = replace(MISTRAL, used_at=2.0)
    engines = [replace(LLAMA, used_at=1.0), chosen, replace(OLD, used_at=3.0)]
    route = lane_for(GGUF, engines, ALL, MANUAL)
    assert (route.engine, route.why) == (chosen, teaching.lane_manual("v0.9"))
    assert reasons(route)["llamacpp"] == teaching.lane_manual("v0.9")
    said = refusal(Subject(Weights.QUANTIZED), [*engines, SGLANG], ALL, MANUAL)
    by = teaching.by_manual_mode("v0.9")
    assert said == teaching.chosen_cannot_serve(
        by, "mistralrs", "quantized-safetensors", ["sglang"], ["b1", "v0.9", "b0", "s1"]
    ) + teaching.ways_out_of_manual("s1")


def test_where_nobody_chose_the_best_rank_is_active_for_everything():
    """Then the newest; without engines there is none."""
    fork = replace(FORK, active=True, installed_at=LLAMA.installed_at + 9)
    newer = replace(MISTRAL, installed_at=LLAMA.installed_at + 5)
    assert active_engine([LLAMA, newer, fork]) is newer
    assert active_engine([OLD]) is None


def test_within_a_class_the_active_build_comes_first_then_the_newest():
    """A fork never, however active or new it is; the wheel last (D20)."""
    newer = replace(OLD, tag="b2", installed_at=LLAMA.installed_at + 5)
    fork = replace(FORK, active=True, installed_at=LLAMA.installed_at + 9)
    assert lane_for(GGUF, [fork, WHEEL, OLD, newer], ALL).engine is newer
    assert lane_for(GGUF, [fork, WHEEL], ALL).engine is WHEEL
    assert lane_for(GGUF, [fork, newer, LLAMA], ALL).engine is LLAMA
    assert [lane_class(one) for one in (fork, WHEEL)] == [LaneClass.FORK, LaneClass.MAINSTREAM]


def test_a_fork_serves_only_what_mainstream_lacks():
    """A lack is known by the build's own list; without a list nothing is known."""
    listing = replace(LLAMA, architectures=("llama",))
    route = lane_for(NEW, [listing, FORK], ALL)
    assert (route.engine, route.why) == (FORK, teaching.lane_for_architecture("newarch", "fork-1"))
    assert reasons(route)["b1"] == teaching.lane_lacks("b1", "newarch")
    assert lane_for(NEW, [LLAMA, FORK], ALL).engine is LLAMA
    both = lane_for(NEW, [replace(LLAMA, architectures=("newarch",)), FORK], ALL)
    assert both.engine.tag == "b1"
    assert reasons(both)["fork-1"] == teaching.lane_fork_waits("fork-1")
    assert lane_for(Subject(Weights.GGUF), [listing, FORK], ALL).engine is listing
    assert lacks(listing, NEW)
    assert not lacks(LLAMA, NEW)


def test_mainstream_that_advertises_comes_before_forks_that_do():
    """An older build, then another kind, then the fork."""
    listing, older = replace(LLAMA, architectures=("llama",)), replace(OLD, architectures=("newarch",))
    mistral = replace(MISTRAL, architectures=("newarch",))
    route = lane_for(NEW, [FORK, mistral, older, listing], ALL)
    assert route.engine is older
    assert reasons(route)["fork-1"] == teaching.lane_fork_waits("fork-1")
    assert lane_for(NEW, [FORK, mistral, listing], ALL).engine is mistral
    unknown = replace(OLD, tag="b2")
    assert "b2" in teaching.lane_not_preferred("b2", "b0", "")
    assert reasons(lane_for(NEW, [older, unknown, listing], ALL))["b2"] == teaching.lane_not_preferred(
        "b2", "b0", teaching.lane_for_architecture("newarch", "b0")
    )


def test_a_list_alone_keeps_nobody_from_trying():
    """It may be older than the build: without anybody who advertises, the first one is started."""
    listing = replace(LLAMA, architectures=("llama",))
    assert lane_for(NEW, [listing, MISTRAL], ALL).engine is listing


def test_who_ended_over_an_architecture_is_not_asked_again():
    """The fork that advertises it is; without one the refusal names how to build one, and the registry's lane."""
    dead = NEW._replace(lacking=frozenset({"b1"}))
    route = lane_for(dead, [LLAMA, FORK], ALL)
    assert route.engine is FORK
    assert reasons(route)["b1"] == teaching.lane_died_over("b1", "newarch")
    curated = dead._replace(curated=("newlane",))
    with pytest.raises(ArchitectureUnserved) as caught:
        lane_for(curated, [LLAMA, MISTRAL], ALL)
    said = str(caught.value)
    assert said == teaching.architecture_unserved("newarch", ["b1"], ["b1", "v0.9"], ["newlane"])
    assert "blazar engine install --fork REPO@SHA --arch newarch" in said
    assert "blazar engine install --lane newlane" in said
    assert "--lane" not in str(architecture_unserved(dead, [LLAMA]))
    for asked in (dead._replace(pin="b1"), dead._replace(pin="llamacpp")):
        assert refusal(asked, [LLAMA], ALL) == str(architecture_unserved(dead, [LLAMA]))
    assert refusal(dead, [LLAMA, FORK], ALL, MANUAL).startswith("no installed engine knows the architecture")
    assert refusal(dead._replace(lacking=frozenset({"b1", "fork-1"})), [LLAMA, FORK], ALL)


def test_forks_alone_serve_what_they_were_made_for():
    """Anything else is mainstream's, which has to be installed; a pin by tag says otherwise."""
    fork = replace(FORK, active=True)
    assert lane_for(NEW, [fork], ALL).engine is fork
    other = Subject(Weights.GGUF, "llama")
    assert refusal(other, [fork], ALL) == teaching.only_forks(["fork-1"], "llamacpp", ["fork-1"])
    assert refusal(other._replace(pin="llamacpp"), [fork], ALL) == teaching.only_forks(
        ["fork-1"], "llamacpp", ["fork-1"]
    )
    assert refusal(other, [fork, MISTRAL], HERE) == teaching.only_forks(["fork-1"], "llamacpp", ["fork-1", MISTRAL.tag])
    assert lane_for(other._replace(pin="fork-1"), [fork], ALL).engine is fork


def test_where_nothing_serves_every_build_has_its_reason():
    """And its class; kinds that have none are named as kinds."""
    dead = NEW._replace(lacking=frozenset({"b1"}))
    found = {one.lane: one for one in rejections(dead, [LLAMA, MISTRAL], HERE)}
    assert found["b1"].reason == teaching.lane_died_over("b1", "newarch")
    assert found["b1"].lane_class is LaneClass.MAINSTREAM
    assert found["mistralrs"].reason == teaching.lane_no_driver("mistralrs")
    assert found["mistralrs"].lane_class is None
    assert set(found) == {"b1", *(kind for kind in EngineKind if kind is not EngineKind.LLAMACPP)}


def test_another_kind_that_lacks_the_architecture_says_so():
    """The reason of a kind is that of its best build."""
    mistral = replace(MISTRAL, architectures=("llama",))
    assert reasons(lane_for(NEW, [LLAMA, mistral], ALL))["mistralrs"] == teaching.lane_lacks("v0.9", "newarch")
    fork = replace(FORK, tag="m-fork", kind=EngineKind.MISTRALRS)
    assert reasons(lane_for(NEW, [LLAMA, fork], ALL))["mistralrs"] == teaching.lane_fork_waits("m-fork")
