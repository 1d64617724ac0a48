"""mlx-lm's flag table."""

from typing import Any

import pytest

from blazar.adapters.engines.mlx.flags import MLX_FLAGS
from blazar.domain.argv import FLOOR, Missing, compile_argv
from tests.support.lane_briefs import settings


def words(**said: Any) -> str:
    told = {key.replace("__", "."): text for key, text in said.items()}
    return " ".join(compile_argv(MLX_FLAGS, {"model_path": "/m"} | told, ()).words)


@pytest.mark.parametrize(
    ("said", "flag"),
    [
        ({"mlx__adapter_path": "/a"}, "--adapter-path /a"),
        ({"mlx__trust_remote_code": True}, "--trust-remote-code"),
        ({"mlx__draft_model": "/d"}, "--draft-model /d"),
        ({"mlx__num_draft_tokens": 3}, "--num-draft-tokens 3"),
        ({"mlx__kv_bits": 4}, "--kv-bits 4"),
        ({"mlx__kv_group_size": 32}, "--kv-group-size 32"),
        ({"mlx__quantized_kv_start": 0}, "--quantized-kv-start 0"),
        ({"mlx__prompt_cache_size": 0}, "--prompt-cache-size 0"),
        ({"mlx__prompt_cache_bytes": 1000}, "--prompt-cache-bytes 1000"),
        ({"mlx__prefill_step_size": 512}, "--prefill-step-size 512"),
        ({"mlx__decode_concurrency": 2}, "--decode-concurrency 2"),
        ({"mlx__prompt_concurrency": 2}, "--prompt-concurrency 2"),
        ({"mlx__chat_template": "{{ x }}"}, "--chat-template {{ x }}"),
        ({"mlx__chat_template_args": {"b": 1, "a": False}}, '--chat-template-args {"a":false,"b":1}'),
        ({"mlx__use_default_chat_template": True}, "--use-default-chat-template"),
    ],
)
def test_settings_that_are_said(said: dict[str, Any], flag: str) -> None:
    """Each key of the table by its flag; zero is a choice."""
    assert words(**said) == words().replace("--model /m", f"--model /m {flag}")


def test_what_is_unset_is_left_to_the_engine() -> None:
    """Only the model and the closed door are always said: the engine's default is any origin (case J21)."""
    told = settings()
    assert compile_argv(MLX_FLAGS, told | {"model_path": "/m"}, ()).words == (
        *("--model", "/m"),
        *("--allowed-origins", "localhost"),
    )


def test_every_key_of_the_table_has_a_row() -> None:
    """And no row names a key that nobody supplies."""
    rows = {flag.key for flag in MLX_FLAGS} - {FLOOR, "model_path"}
    assert rows == {key for key in settings() if key.startswith("mlx.")}


def test_nothing_is_refused_for_a_build_that_lacks_a_flag() -> None:
    """Left out with a warning, all of them (setup document)."""
    assert {flag.missing for flag in MLX_FLAGS} == {Missing.SKIP}
