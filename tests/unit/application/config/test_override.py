"""What only an override says."""

import tomllib

import pytest

from blazar.application.config.model import Config, Override
from blazar.application.config.override import SAMPLER_DEFAULTS, OverrideOnly
from blazar.application.config.render import toml_value
from blazar.domain import teaching
from tests.support.configuration import held, refusal

HEAD = "[model_overrides.m]\n"


def settings(text: str) -> dict:
    return held(HEAD + text).settings_for("m")


def test_a_model_without_an_override_has_the_defaults():
    """By their names, beside the root's keys."""
    said = held("").settings_for("m")
    assert {name: said[name] for name in OverrideOnly.model_fields if name in said} == {
        name: getattr(OverrideOnly(), name) for name in OverrideOnly.model_fields if name not in Config.model_fields
    }
    assert (said["replicas"], said["loras"], said["sampler_defaults"], said["mmproj"]) == (1, (), {}, None)


def test_every_key_of_the_document_is_one():
    """The row of [model_overrides] in the setup document, and what decisions add to it."""
    document = """ctx, slots, deterministic, spec, lazy_mode, loras, extra_args, cache_type, cache_type_k, cache_type_v, kv_unified,
        ctx_extend, cpu_moe_n, cpu_ffn_n, override_tensor, devices, warmup, reasoning_budget, reasoning_effort, reasoning, replicas,
        pin, chat_template, chat_template_file, sampler_defaults, spm_infill, late_chunking, rpc_servers, tensor_split, mmproj,
        sglang, mistralrs, engine, mlx, ollama_compat, embeddings, raw_lane_max_tokens"""
    assert set(Override.model_fields) == {name.strip() for name in document.split(",")}


@pytest.mark.parametrize(
    ("name", "text"),
    [("temperature", "0.7"), ("top_k", "40"), ("seed", "-1"), ("repeat_last_n", "0"), ("mirostat", "2")],
)
def test_odd_whole_numbers_of_samplers_stay_whole(name, text):
    """40 is not 40.0; they are put into requests as they were written."""
    (value,) = settings(f"sampler_defaults = {{ {name} = {text} }}")["sampler_defaults"].values()
    assert toml_value(value) == text
    assert name in SAMPLER_DEFAULTS


@pytest.mark.parametrize(
    ("text", "wants"), [("true", ""), ("'0.7'", ""), ("nan", "finite "), ("inf", "finite "), ("[1]", "")]
)
def test_what_is_no_number_is_refused(text, wants):
    """A sampler takes nothing else."""
    why = refusal(f"{HEAD}sampler_defaults.temperature = {text}")
    key = "model_overrides.m.sampler_defaults.temperature"
    assert why.startswith(f"config.toml line 2: '{key}' must be a {wants}number")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("temprature", "; did you mean temperature"), ("top-k", "; did you mean top_k"), ("xyzzy", "")],
)
def test_an_unknown_sampler_is_named(name, hint):
    """With its line and what was meant: the engine would pass over it without a word."""
    why = refusal(f"{HEAD}ctx = 512\n[model_overrides.m.sampler_defaults]\n{name} = 1")
    assert why.startswith(
        f"config.toml line 4: 'model_overrides.m.sampler_defaults.{name}' is no parameter of a sampler"
    )
    assert hint in why
    assert ("did you mean" in why) is bool(hint)


@pytest.mark.parametrize("adapters", [["a.gguf"], ["a.gguf:0.5", "b c.gguf:-1"], ["C:\\a.gguf"], ["a:b"]])
def test_adapters_are_files_with_or_without_a_scale(adapters):
    """In their order."""
    assert settings(f"loras = {toml_value(adapters)}")["loras"] == tuple(adapters)


@pytest.mark.parametrize("adapter", ["", "a.gguf,b.gguf"])
def test_an_adapter_without_a_name_or_with_a_comma_is_refused(adapter):
    """The engine reads a comma as the beginning of the next one."""
    assert teaching.config_wants("lora") in refusal(f"{HEAD}loras = ['{adapter}']")


def test_a_projector_is_a_file_or_a_policy():
    """Empty it would be neither."""
    assert settings("mmproj = 'p.gguf'")["mmproj"] == "p.gguf"
    assert settings("mmproj = 'lazy'")["mmproj"] == "lazy"
    assert "must not be empty" in refusal(f"{HEAD}mmproj = ''")


def test_replicas_are_counted_from_one():
    """None at all would be a model that nothing can serve."""
    assert settings("replicas = 64")["replicas"] == 64
    assert "1 or more" in refusal(f"{HEAD}replicas = 0")
    assert "64 or less" in refusal(f"{HEAD}replicas = 65")


def test_a_misspelled_key_fails_loudly():
    """With its line and the nearest key."""
    why = refusal(f"{HEAD}\ncache_typ = 'q8_0'")
    assert why.startswith("config.toml line 3: unknown key 'model_overrides.m.cache_typ'; did you mean cache_type")


def test_the_page_s_example_of_an_override_is_one():
    """Every per-model value survives being written down and read again."""
    text = """ctx = 4096
slots = 2
spec = "ngram-mod"
loras = ["a.gguf:0.5"]
mmproj = "skip"
sampler_defaults = { temperature = 0.7, top_k = 40 }
extra_args = ["--cache-ram", "-1", "--temp", "-0.5", "--lora", "a", "--lora", "b"]"""
    first = held(HEAD + text)
    plain = first.model_overrides["m"].model_dump(exclude_unset=True)
    again = "\n".join(f"{name} = {toml_value(value)}" for name, value in plain.items())
    assert tomllib.loads(again)
    assert held(HEAD + again) == first
