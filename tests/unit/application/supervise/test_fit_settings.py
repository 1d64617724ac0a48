"""Configuration in the planner's words."""

import pytest

from blazar.application.supervise.fit_settings import Extras, cap_for, extended, fit_settings, window_for
from blazar.domain.fit.shape import Projector
from tests.support.supervision import a_config


def settings_of(**said):
    """What configuration says of a model; its default window is 4096 tokens."""
    return a_config({"m": said}).settings_for("m")


def asked(trained=8192, wish=0, **said):
    return fit_settings(settings_of(**said), trained, wish)


def test_what_nobody_chose_stays_open():
    """Slots and cache types; batches are the engine's own."""
    found = asked()
    assert (found.ctx, found.parallel, found.cache_type_k, found.cache_type_v) == (4096, 0, "", "")
    assert (found.batch, found.ubatch, found.kv_unified, found.kv_offload) == (2048, 512, True, True)
    assert found.gpu_layers is None


@pytest.mark.parametrize(
    ("said", "slots", "ctx", "shared"),
    [
        ({"slots": 4}, 4, 4096, True),
        ({"slots": 4, "kv_unified": False}, 4, 16384, False),
        ({"slots": 4, "deterministic": True}, 1, 4096, False),
        ({"slots": 1}, 1, 4096, False),
        ({"kv_unified": False}, 0, 4096, False),
    ],
)
def test_the_window_is_one_request_s_and_the_engine_is_told_for_all(said, slots, ctx, shared):
    """Divided by the engine unless the cache is a shared one (D30)."""
    found = asked(**said)
    assert (found.parallel, found.ctx, found.kv_unified) == (slots, ctx, shared)


@pytest.mark.parametrize(
    ("said", "trained", "wish", "cap"),
    [
        ({}, 8192, 0, 4096),
        ({}, 512, 0, 512),
        ({"ctx": 2048}, 8192, 0, 0),
        ({}, 8192, 6000, 0),
        ({}, 8192, 1000, 4096),
    ],
)
def test_only_the_default_window_may_give_way(said, trained, wish, cap):
    """A choice of configuration or of a request is kept (case F14)."""
    assert cap_for(settings_of(**said), trained, wish) == cap


def test_places_are_passed_on():
    """Devices, shares, and what stays in main memory; a pattern may hold an equals sign only as its end."""
    found = asked(
        devices=["CUDA1"],
        tensor_split="3,1.5",
        cpu_moe_n=2,
        cpu_ffn_n=1,
        override_tensor=["exps=CPU", "blk.1=CUDA0"],
        no_kv_offload=True,
        swa_full=True,
        cache_type="q8_0",
        ubatch_size=64,
    )
    assert (found.devices, found.tensor_split, found.cpu_moe_n, found.cpu_ffn_n) == (("CUDA1",), (3.0, 1.5), 2, 1)
    assert found.override_tensor == (("exps", "CPU"), ("blk.1", "CUDA0"))
    assert (found.kv_offload, found.swa_full, found.ubatch) == (False, True, 64)
    assert (found.cache_type_k, found.cache_type_v) == ("q8_0", "q8_0")


def test_an_embedding_model_reads_its_window_at_once():
    """Batches are its window, within a bound, unless configured."""
    found = fit_settings(settings_of(), 2048, embeds=True)
    assert (found.batch, found.ubatch) == (2048, 2048)
    assert fit_settings(settings_of(ctx=10_000), 0, embeds=True).ubatch == 8192
    assert fit_settings(settings_of(ubatch_size=128), 2048, embeds=True).ubatch == 128


def test_what_is_loaded_beside_comes_along():
    """A projector and adapters, where somebody names them."""
    projector = Projector("clip", 10, 20)
    found = fit_settings(settings_of(), 8192, extras=Extras(projector, lora_bytes=(5,)))
    assert (found.projector, found.lora_bytes, found.draft) == (projector, (5,), None)


def test_a_stretched_window_is_longer_than_the_trained_one():
    """By its factor, only above 1; what somebody chose may then go so far, and the default is used up to there."""
    assert [extended(settings_of(ctx_extend=factor), 1000) for factor in (0.0, 0.5, 1.0, 2.5)] == [
        1000,
        1000,
        1000,
        2500,
    ]
    assert window_for(settings_of(ctx_extend=4.0), 1024, 1).ctx == 4096
    assert window_for(settings_of(ctx_extend=2.0, ctx=9000), 1024, 1).ctx == 2048
    assert cap_for(settings_of(ctx_extend=2.0), 1024) == 2048


def test_odd_a_window_before_it_is_stretched_may_be_a_shorter_one():
    """The engine caps every slot at yarn_orig_ctx times the factor: more must not be promised. Unstretched, it says nothing."""
    assert extended(settings_of(ctx_extend=2.0, yarn_orig_ctx=64), 1000) == 128
    assert window_for(settings_of(ctx_extend=2.0, yarn_orig_ctx=64), 1024, 1).ctx == 128
    assert extended(settings_of(yarn_orig_ctx=64), 1000) == 1000
    assert extended(settings_of(ctx_extend=100.0, yarn_orig_ctx=2**24), 1000) < 2**31


def test_where_experts_and_the_projector_lie_by_the_configuration():
    """A preset, a device, and the word for none of them."""
    found = asked(tensor_preset="moe-cpu-offload", mmproj_device="CUDA1")
    assert (found.tensor_preset, found.projector_offload, found.projector_device) == ("moe-cpu-offload", True, "CUDA1")
    for said in ({"mmproj_device": "none"}, {"mmproj_offload": False}):
        found = asked(**said)
        assert (found.projector_offload, found.projector_device) == (False, "")


def test_what_is_guessed_at_once_is_planned_with():
    """So many rows of logits more."""
    assert fit_settings(settings_of(), 8192, extras=Extras(drafted=8)).drafted == 8
