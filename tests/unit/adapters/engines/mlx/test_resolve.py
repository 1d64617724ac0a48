"""What configuration leaves open for mlx-lm."""

from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.engines.mlx.spec import MLX
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Weights
from blazar.domain.launch import Beside, Brief, Compiled, compile_launch
from blazar.domain.manifest import Manifest
from tests.support.lane_briefs import brief

FILES = ("/models/m/model-1.safetensors", "/models/m/model-2.safetensors")


def of(manifest: Manifest | None = None, **said: Any) -> Brief:
    return brief(Weights.MLX_QUANT, FILES, said, manifest)


def compiled(manifest: Manifest | None = None, **said: Any) -> Compiled:
    return compile_launch(MLX, of(manifest, **said))


def flags(result: Compiled) -> dict[str, str]:
    words = result.words
    return {word: words[index + 1] for index, word in enumerate(words[:-1]) if word.startswith("--")}


def test_the_model_is_the_folder_of_its_files() -> None:
    """Not one of its shards: tokenizer and config lie beside them."""
    assert compiled().words == ("--model", "/models/m", "--allowed-origins", "localhost")


def test_a_child_never_phones_home() -> None:
    """Whatever a model's files ask for."""
    assert compiled().env["HF_HUB_OFFLINE"] == "1"


def test_odd_the_hub_s_cache_is_the_model_s_own_folder() -> None:
    """Its list of models needs a cache that exists; that folder does, and holds nobody else's models."""
    assert compiled().env == {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": "/models/m"}


@pytest.mark.parametrize(
    ("said", "decode", "prompt"),
    [
        ({"slots": 4}, "4", "4"),
        ({"slots": 16}, "16", None),
        ({"mlx__decode_concurrency": 2}, "2", "2"),
        ({"slots": 4, "mlx__decode_concurrency": 2}, "2", "2"),
        ({"slots": 4, "mlx__prompt_concurrency": 1}, "4", "1"),
        ({"mlx__prompt_concurrency": 1}, None, "1"),
        ({"deterministic": True, "slots": 4, "mlx__decode_concurrency": 8}, "1", "1"),
        ({}, None, None),
    ],
)
def test_odd_the_larger_of_the_two_is_what_runs_side_by_side(
    said: dict[str, Any], decode: str | None, prompt: str | None
) -> None:
    """decode_concurrency alone bounds nothing below the engine's own 8 prompts, so that both are said."""
    told = flags(compiled(**said))
    assert (told.get("--decode-concurrency"), told.get("--prompt-concurrency")) == (decode, prompt)


def test_the_reason_names_who_decided() -> None:
    """`explain` says slots or deterministic, not the engine's word for it."""
    for key in ("slots", "deterministic", "mlx.decode_concurrency"):
        result = compiled(**{key.replace(".", "__"): 1})
        said = {choice.words[0]: choice.reason for choice in result.decisions if choice.words}
        assert said["--decode-concurrency"] == said["--prompt-concurrency"] == f"{key} (config.toml, line 7)"


def test_more_prompts_than_answers_is_warned_of() -> None:
    """Both were asked for, and one of them will not hold."""
    result = compiled(mlx__decode_concurrency=2, mlx__prompt_concurrency=4)
    assert result.notes == (teaching.mlx_more_prompts(4, 2),)


@pytest.mark.parametrize("said", [{"mlx__kv_bits": 4}, {"mlx__draft_model": "/d"}])
def test_one_request_at_a_time_is_said(said: dict[str, Any]) -> None:
    """A quantised cache and a draft end batching upstream."""
    key = next(iter(said)).replace("__", ".")
    assert compiled(**said).notes == (teaching.mlx_one_at_a_time(key),)


def test_a_flag_that_the_build_lacks_is_left_out_with_a_warning() -> None:
    """And what it would have changed is not announced."""
    result = compiled(Manifest.spelled(["--model", "--allowed-origins"]), mlx__kv_bits=4)
    assert "--kv-bits" not in result.words
    assert result.notes == (teaching.flag_unknown_to_engine("--kv-bits", "build"),)


def test_a_draft_that_offline_cannot_be_found_is_left_out() -> None:
    """It changes no answer, so the load does not fail for it."""
    result = compiled(mlx__draft_model="someone/small-draft")
    assert "--draft-model" not in result.words
    assert result.notes == (teaching.mlx_draft_no_folder("someone/small-draft"),)


def test_a_draft_that_the_catalog_knows_is_said_by_its_folder() -> None:
    """A name is enough where the files beside the model were found."""
    known = replace(of(mlx__draft_model="small"), beside=Beside(draft="/models/small"))
    assert flags(compile_launch(MLX, known))["--draft-model"] == "/models/small"
    assert "--draft-model" not in compile_launch(MLX, replace(known, settings=of().settings)).words


def test_the_template_of_the_table_wins_over_the_models() -> None:
    """chat_template is for every kind, mlx.chat_template for this one."""
    one, other = "{{ one }}", "{{ other }}"
    assert flags(compiled(chat_template=one))["--chat-template"] == one
    assert flags(compiled(chat_template=one, mlx__chat_template=other))["--chat-template"] == other
    assert compiled(chat_template_file="/t.jinja").notes == (teaching.mlx_template_file(),)


@pytest.mark.parametrize("key", ["chat_template", "mlx.chat_template"])
def test_odd_a_name_is_no_template(key: str) -> None:
    """The engine would say the name instead of every prompt."""
    result = compiled(**{key.replace(".", "__"): "chatml"})
    assert "--chat-template" not in result.words
    assert result.notes == (teaching.mlx_template_name(key, "chatml"),)


def test_extra_words_come_last_and_ours_give_way() -> None:
    """The person's own word is said once."""
    result = compiled(mlx__kv_group_size=32, extra_args=["--kv-group-size", "64"])
    assert result.words[-2:] == ("--kv-group-size", "64")
    assert result.words.count("--kv-group-size") == 1
    assert teaching.flag_given_way("--kv-group-size", "extra_args") in result.notes


@pytest.mark.parametrize("word", ["--model", "--mod", "--port", "--host=0.0.0.0"])
def test_reserved_words_are_refused(word: str) -> None:
    """Also abbreviated and joined, and where the build could not be asked."""
    with pytest.raises(Malformed, match="cannot stand in extra_args"):
        compiled(extra_args=[word, "x"])


def test_a_models_own_folder_is_what_it_is_told() -> None:
    """Its files may lie below it."""
    given = of()
    given = replace(given, model=replace(given.model, folder="/models/own"))
    assert flags(compile_launch(MLX, given))["--model"] == "/models/own"
    assert compile_launch(MLX, given).env["HF_HUB_CACHE"] == "/models/own"
