"""Knobs of engine kinds: their bounds, and a model's table over the root's, field by field."""

import pytest
from pydantic import ValidationError

from blazar.application.config.layers import load_config
from blazar.application.config.tuning import INSIDE, TUNINGS, MistralrsOverride, MistralrsTuning


def settings(text, model="m"):
    return load_config(text, "config.toml").config.settings_for(model)


def test_every_knob_is_a_setting():
    """By `table.key`, with its default; keys with the table's name as prefix are the root's."""
    said = settings("")
    for table, keys in TUNINGS.items():
        assert {f"{table}.{key}" for key in keys.model_fields} == {key for key in said if key.startswith(f"{table}.")}
        assert all(said[f"{table}.{key}"] == field.default for key, field in keys.model_fields.items())
        assert all(field.description for field in keys.model_fields.values())
    assert said["sglang.cache_report"] is True
    assert all(key in said for key in INSIDE["mistralrs"])
    assert set(MistralrsOverride.model_fields) == set(MistralrsTuning.model_fields) | INSIDE["mistralrs"]


def test_a_models_table_replaces_single_fields():
    """What it does not say holds as at the root; false and "" are said; other models see nothing."""
    text = """
    [sglang]
    tp_size = 2
    mixed_chunk = true
    attention_backend = "triton"
    [model_overrides.m.sglang]
    tp_size = 4
    mixed_chunk = false
    attention_backend = ""
    [model_overrides.m.mlx]
    kv_bits = 4
    """
    mine, other = settings(text), settings(text, "other")
    keys = ("sglang.tp_size", "sglang.mixed_chunk", "sglang.attention_backend", "sglang.cache_report", "mlx.kv_bits")
    assert [mine[key] for key in keys] == [4, False, "", True, 4]
    assert [other[key] for key in keys] == [2, True, "triton", True, None]


def test_the_two_root_keys_may_stand_in_the_table():
    """They are the same keys; a model's table says them too."""
    flat = load_config("mistralrs_paged_attn = false\n[mistralrs]\nisq = 4", "c").config
    table = load_config("[mistralrs]\nmistralrs_paged_attn = false\nisq = '4'", "c").config
    assert flat == table
    own = "[mistralrs]\nmistralrs_pa_memory_fraction = 0.5\n[model_overrides.m.mistralrs]\nmistralrs_pa_memory_fraction = 0.25"
    assert [settings(own, model)["mistralrs_pa_memory_fraction"] for model in ("m", "other")] == [0.25, 0.5]


def test_origins_name_single_knobs():
    """Explanations say which line or whose override a knob comes from."""
    loaded = load_config(
        "[sglang]\n\ntp_size = 2\n[model_overrides.m.mistralrs]\nisq = 'q4k'\nmistralrs_paged_attn = true", "c"
    )
    origins = loaded.origins_for("m")
    assert origins["sglang.tp_size"] == "config.toml, line 3"
    assert origins["mistralrs.isq"] == origins["mistralrs_paged_attn"] == "[model_overrides.m]"
    assert "sglang.dp_size" not in origins


@pytest.mark.parametrize("isq", ["q4k", "Q8_0", "q4_1", "q6k", "hqq4", "fp8", 2, 8, "4"])
def test_formats_of_quantising_while_loading(isq):
    """Names of the engine's, or a number of bits, which is a text afterwards."""
    assert MistralrsTuning.model_validate({"isq": isq}).isq == str(isq)


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        *(("mistralrs", {"isq": isq}) for isq in (1, 9, True, "q9", "q4_k_m", 4.5)),
        ("mistralrs", {"pa_memory_mb": 0}),
        ("mistralrs", {"isq_organization": "experts"}),
        ("sglang", {"mem_fraction_static": 0}),
        ("sglang", {"mem_fraction_static": 1}),
        ("sglang", {"tp_size": 0}),
        ("sglang", {"spec_algorithm": "dflash"}),
        ("sglang", {"retraction_policy": "oldest"}),
        ("sglang", {"radix_eviction_policy": "mru"}),
        ("sglang", {"speculative_accept_threshold_acc": 1.5}),
        ("sglang", {"attention_backend": "two words"}),
        ("sglang", {"cpu_offload_gb": 4}),
        ("mlx", {"kv_bits": 1}),
        ("mlx", {"kv_bits": 7}),
        ("mlx", {"prompt_cache_bytes": 2**63}),
        ("mlx", {"kv_group_size": 48}),
        ("mlx", {"chat_template_args": "[1]"}),
        ("mlx", {"num_draft_tokens": 0}),
    ],
)
def test_what_cannot_be_is_refused(table, wrong):
    """Bounds, words of no meaning, and flags that the planner owns."""
    with pytest.raises(ValidationError):
        TUNINGS[table].model_validate(wrong)


def test_template_variables_may_be_json():
    """As with the root's chat_template_kwargs."""
    assert settings("[mlx]\nchat_template_args = '{\"a\": 1}'")["mlx.chat_template_args"] == {"a": 1}
