"""What kinds say for themselves: keys without a word, windows with their reason."""

from dataclasses import replace

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.mistralrs.spec import MISTRALRS
from blazar.adapters.engines.mlx.spec import MLX
from blazar.adapters.engines.reasons import GATEWAY, PER_MODEL, unheard, window_reason
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.adapters.engines.sglang.spec import SGLANG
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config, Override
from blazar.application.config.render import defaults_toml
from blazar.application.config.tuning import TUNINGS
from blazar.application.supervise.sizing import Sizing
from blazar.domain import teaching
from blazar.domain.kinds import Weights
from blazar.domain.launch import Brief, compile_launch
from tests.fakes.catalog import a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import GIB, FakeCensus, a_machine
from tests.support.supervision import AnyWeightFiles, KnowsAll, a_planner

KINDS = {
    "llama-server": (LLAMACPP, Weights.GGUF, "/models/m.gguf"),
    "SGLang": (SGLANG, Weights.SAFETENSORS, "/models/m/model.safetensors"),
    "mistral.rs": (MISTRALRS, Weights.SAFETENSORS, "/models/m/model.safetensors"),
    "mlx-lm": (MLX, Weights.SAFETENSORS, "/models/m/model.safetensors"),
    "sd-server": (SDCPP, Weights.SAFETENSORS, "/models/m.safetensors"),
}
SAID = {
    "ctx": "512",
    "slots": "2",
    "deterministic": "true",
    "spec": "'ngram-mod'",
    "lazy_mode": "'on'",
    "loras": "['/a.gguf']",
    "cache_type": "'q8_0'",
    "cache_type_k": "'q8_0'",
    "cache_type_v": "'q8_0'",
    "kv_unified": "true",
    "ctx_extend": "2.0",
    "cpu_moe_n": "2",
    "cpu_ffn_n": "2",
    "override_tensor": "['a=CPU']",
    "devices": "['CPU']",
    "warmup": "false",
    "reasoning": "'on'",
    "reasoning_effort": "'low'",
    "reasoning_budget": "64",
    "chat_template": "'{{ messages }}'",
    "chat_template_file": "'/t.jinja'",
    "spm_infill": "true",
    "rpc_servers": "'127.0.0.1:50052'",
    "tensor_split": "'3,1'",
    "mmproj": "'skip'",
    "embeddings": "true",
}
"""A value that is not the default, for every key of a model that its engine has to be told."""
TUNED = {
    "SGLang": {"ctx", "slots", "deterministic", "warmup", "embeddings", "chat_template_file"},
    "mistral.rs": {"ctx", "slots", "deterministic", "chat_template_file"},
    "mlx-lm": {"slots", "deterministic", "chat_template"},
    "sd-server": set(),
}
"""What kinds but llama.cpp act on: their other keys must be told of. llama.cpp acts on all."""


def notes_of(kind: str, text: str) -> tuple[str, ...]:
    """What the launch of a model of that kind says under this configuration."""
    driver, weights, file = KINDS[kind]
    loaded = load_config(text, "config.toml", world=None)
    model = a_model("m", files=(file,), sizes=(GIB,), weights=weights, ctx_train=8192)
    census = FakeCensus(a_machine(64 * GIB, cores=8))
    engine = an_engine("e1", kind=driver.kind, active=True)
    planner = a_planner(
        census,
        {},
        engines=MemoryEngineCatalog([engine]),
        drivers={driver.kind: driver},
        probe=KnowsAll(),
        settings_for=loaded.config.settings_for,
        origins_for=loaded.origins_for,
        sizing=Sizing(AnyWeightFiles(8192), census),
    )
    prepared = planner.sizing.prepare(loaded.config.settings_for("m"), driver.kind)
    brief = Brief(
        prepared.settings, model, census.read(), tag="e1", origins=loaded.origins_for("m"), ctx=8192, ctx_size=8192
    )
    return (*prepared.notes, *compile_launch(driver, brief).notes)


def test_every_key_of_a_model_is_asked_about():
    """A new one has to stand in the table here, and is either its engine's or the gateway's."""
    assert set(PER_MODEL) == set(SAID)
    assert set(PER_MODEL) | GATEWAY | set(TUNINGS) == set(Override.model_fields)


@pytest.mark.parametrize("key", SAID)
@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_acted_on_or_told_of_once(kind, key):
    """Whoever sets one for a model learns that its engine has no word for it, and hears nothing of keys that it has."""
    notes = notes_of(kind, f"[model_overrides.m]\n{key} = {SAID[key]}")
    told = [note for note in notes if note.startswith((f"{key} ", f"{key}:"))]
    heard = kind == "llama-server" or key in TUNED[kind]
    assert len(told) == (0 if heard else 1), notes


@pytest.mark.parametrize("kind", KINDS)
def test_a_default_in_so_many_words_is_not_missed(kind):
    """Nobody loses anything by it."""
    assert notes_of(kind, "[model_overrides.m]\nslots = 0\nspec = 'auto'\nwarmup = true") == notes_of(kind, "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_defaults_changes_nothing(kind):
    """`config defaults > config.toml` is where people begin: no note of it, and no other word."""
    assert notes_of(kind, defaults_toml()) == notes_of(kind, "")


def test_a_side_of_the_cache_that_follows_from_another_key_is_not_missed_twice():
    """The key that stands in the file is named, and only that."""
    left = [note for note in notes_of("mlx-lm", "cache_type_k = 'q8_0'") if "cache_type" in note]
    assert left == [teaching.setting_no_word("cache_type_k", "mlx-lm")]
    left = [note for note in notes_of("mlx-lm", "cache_type = 'q8_0'") if "cache_type" in note]
    assert left == [teaching.setting_no_word("cache_type", "mlx-lm")]


def test_words_for_the_gateway_are_nobody_s_loss():
    """It acts on them whatever engine there is."""
    brief = Brief(
        {**Config().settings_for("m"), "pin": True}, a_model("m"), a_machine(), origins={"pin": "config.toml, line 1"}
    )
    assert list(unheard(brief, frozenset(), "mlx-lm")) == []


@pytest.mark.parametrize(
    ("ctx", "trained", "said", "reason"),
    [
        (16384, 32768, {}, ""),
        (16384, 32768, {"default_ctx": "line 1"}, "default_ctx (line 1)"),
        (8192, 8192, {}, teaching.window_trained("default_ctx (default)", 16384)),
        (8192, 0, {}, teaching.window_fitted("default_ctx (default)", 16384)),
        (4096, 8192, {}, teaching.window_fitted("default_ctx (default)", 16384)),
        (32768, 65536, {}, teaching.window_wished()),
    ],
)
def test_a_window_says_why_it_is_what_it_is(ctx, trained, said, reason):
    """As asked for, by whom; else what the model was trained for, what fits, or what requests wished for."""
    brief = Brief(Config().settings_for("m"), a_model("m", ctx_train=trained), a_machine(), origins=said, ctx=ctx)
    assert window_reason(brief) == reason
    assert window_reason(replace(brief, ctx=16384)) == (
        reason if ctx == 16384 else "default_ctx (line 1)" if said else ""
    )
