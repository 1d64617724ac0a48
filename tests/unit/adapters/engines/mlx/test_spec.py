"""mlx-lm's record, and what it makes of any settings."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.adapters.engines.mlx.spec import MLX
from blazar.domain.kinds import EngineKind, Task, Weights
from blazar.domain.launch import compile_launch, flags_of
from blazar.domain.manifest import Manifest
from tests.support.lane_briefs import brief, build

RECORDED = build("mlx-lm-0.32.2")
SAID: dict[str, st.SearchStrategy[Any]] = {
    "slots": st.integers(0, 64),
    "deterministic": st.booleans(),
    "chat_template": st.sampled_from(["", "{{ messages }}"]),
    "mlx__draft_model": st.sampled_from(["", "/d", "a/b"]),
    "mlx__num_draft_tokens": st.none() | st.integers(1, 9),
    "mlx__kv_bits": st.none() | st.integers(2, 8),
    "mlx__kv_group_size": st.sampled_from([None, 32, 64, 128]),
    "mlx__quantized_kv_start": st.none() | st.integers(0, 9000),
    "mlx__prefill_step_size": st.none() | st.integers(1, 4096),
    "mlx__prompt_cache_size": st.none() | st.integers(0, 20),
    "mlx__prompt_cache_bytes": st.none() | st.integers(0, 2**40),
    "mlx__decode_concurrency": st.none() | st.integers(1, 64),
    "mlx__prompt_concurrency": st.none() | st.integers(1, 64),
    "mlx__chat_template": st.sampled_from(["", "{{ messages }}"]),
    "mlx__chat_template_args": st.none() | st.just({"enable_thinking": False}),
    "mlx__use_default_chat_template": st.booleans(),
    "mlx__trust_remote_code": st.booleans(),
    "mlx__adapter_path": st.sampled_from(["", "/a"]),
}


def test_the_record_says_what_is_special() -> None:
    """Ten minutes for kernels that are compiled at the first start (D34); no key (D21); nobody else's hub."""
    assert (MLX.kind, MLX.load_cap_secs, MLX.key_file_flag) == (EngineKind.MLX, 600.0, "")
    assert all(
        name.startswith(MLX.scrubbed) for name in ("HF_HUB_CACHE", "HF_TOKEN", "MLXLM_USE_MODELSCOPE", "MLX_RANK")
    )
    assert {MLX.host_flag, MLX.port_flag} <= MLX.reserved


def test_odd_health_answers_200_while_the_model_loads() -> None:
    """So that the list of models, asked for after it, is what says that the child is ours."""
    assert (MLX.health, MLX.models) == (b"/health", b"/v1/models")


def test_odd_mlx_lm_knows_no_alias() -> None:
    """The model's own name stands nowhere among the words: whatever it is called, they are the same."""
    given = brief(Weights.MLX_QUANT, ("/m/a.safetensors",), {}, RECORDED)
    renamed = replace(given, model=replace(given.model, name="alias"))
    assert compile_launch(MLX, renamed).words == compile_launch(MLX, given).words
    assert not [flag.name for flag in MLX.flags if flag.key == "alias"]


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional=SAID), st.booleans())
def test_every_word_with_dashes_is_one_that_the_build_prints(said: dict[str, Any], whole: bool) -> None:
    """Whatever the settings, and for a build that knows only half of them."""
    known = RECORDED if whole else Manifest(RECORDED.options[::2])
    compiled = compile_launch(MLX, brief(Weights.MLX_QUANT, ("/m/a.safetensors",), said, known))
    flags = flags_of(compiled.words)
    assert set(flags) <= set(known)
    assert len(flags) == len(set(flags))
    assert tuple(word for choice in compiled.decisions for word in choice.words) == compiled.words
    assert all(choice.reason for choice in compiled.decisions)


def test_it_is_asked_for_its_own_model_and_always_with_a_bound() -> None:
    """No form is held, no other model is loaded by a request, no embeddings; ready is who answers one token."""
    manners = MLX.manners
    assert (manners.asked_as, manners.listed_as, manners.bounded) == ("default_model", "{folder}", True)
    assert (manners.tasks, manners.forms) == ({Task.CHAT}, frozenset())
    assert {"draft_model", "adapters"} <= manners.strips
    proof = json.loads(MLX.proof)
    assert (proof["model"], proof["max_tokens"], MLX.failed) == ("default_model", 1, 503)
