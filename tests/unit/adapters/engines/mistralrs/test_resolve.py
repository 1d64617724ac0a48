"""What configuration leaves open for mistral.rs: the whole command line, against a recorded build."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.engines.mistralrs.resolve import FRACTION, MEGABYTES, PAGED, STEP_FLAG
from blazar.adapters.engines.mistralrs.spec import MISTRALRS
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.machine import GIB
from blazar.domain.kinds import Weights
from blazar.domain.launch import Beside, Brief, Compiled, compile_launch, flags_of
from blazar.domain.manifest import Manifest, Option, ValueKind
from tests.support.fit_shapes import Dense, cards
from tests.support.lane_briefs import brief
from tests.support.manifests import golden
from tests.support.pairwise import covering_rows

OLD = golden("mistralrs-0.9.2")
KNOWN = Manifest((*OLD.options, Option((STEP_FLAG,), kind=ValueKind.INT, value="<N>")))
"""0.9.3 as far as the contract speaks of it."""
GGUF = ("/models/qwen.gguf",)
SHARDS = ("/models/q-00001-of-00002.gguf", "/models/q-00002-of-00002.gguf")
PINS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0,1"}
ENV = {"HF_HUB_OFFLINE": "1"}
BIG = Dense(size=30 * GIB).shape()
SIZES = ("--pa-memory-mb", "--pa-memory-fraction", "--pa-context-len")


def of(files: tuple[str, ...] = GGUF, manifest: Manifest = KNOWN, ctx: int = 16384, **said: Any) -> Brief:
    weights = Weights.GGUF if files[0].endswith(".gguf") else Weights.SAFETENSORS
    return replace(brief(weights, files, said, manifest), ctx=ctx, ctx_size=ctx)


def compiled(given: Brief) -> Compiled:
    return compile_launch(MISTRALRS, given)


def flags(result: Compiled) -> dict[str, str]:
    words = (*result.words, "")
    return {word: words[index + 1] for index, word in enumerate(words) if word.startswith("--")}


def reasons(result: Compiled) -> Mapping[str, str]:
    return {decision.words[0]: decision.reason for decision in result.decisions if decision.words}


def sizes(result: Compiled) -> dict[str, str]:
    """What is said about the cache."""
    return {flag: text for flag, text in flags(result).items() if flag in (*SIZES, "--paged-attn")}


def test_the_plainest_line() -> None:
    """A file in a folder, a window, a step, a cache for that window, no page."""
    result = compiled(of())
    assert result.words == (
        *("--model-id", "/models", "--quantized-file", "qwen.gguf", "--format", "gguf"),
        *("--max-seq-len", "16384", "--max-num-batched-tokens", "4096", "--pa-context-len", "16384", "--no-ui"),
    )
    assert (result.env, result.notes) == (ENV, ())


def test_odd_it_cannot_be_told_a_name() -> None:
    """It answers to `default` and to its folder; the model's own name stands nowhere on the line."""
    given = of()
    named = replace(given, model=replace(given.model, name="alias"))
    assert compiled(named).words == compiled(given).words


def test_shards_are_named_in_order() -> None:
    """Its own separator is the semicolon."""
    assert flags(compiled(of(SHARDS)))["--quantized-file"] == "q-00001-of-00002.gguf;q-00002-of-00002.gguf"


def test_plain_safetensors_are_a_folder() -> None:
    """No file is named."""
    said = flags(compiled(of(("/models/phi/model.safetensors",))))
    assert (said["--model-id"], said["--format"]) == ("/models/phi", "plain")
    assert "--quantized-file" not in said


def test_the_projector_comes_with_a_vision_child_only() -> None:
    """And only beside a GGUF: safetensors bring their own."""
    seeing = replace(of(), vision=True, beside=Beside(projector="/models/mmproj.gguf"))
    assert flags(compiled(seeing))["--mmproj"] == "/models/mmproj.gguf"
    assert "--mmproj" not in compiled(replace(seeing, vision=False)).words
    plain = replace(of(("/models/phi/model.safetensors",)), vision=True, beside=Beside(projector="/p.gguf"))
    assert "--mmproj" not in compiled(plain).words


@pytest.mark.parametrize(("ctx", "step"), [(16384, "4096"), (4096, "4096"), (2048, "2048")])
def test_odd_the_step_is_said_although_it_is_the_engine_s_default_or_less(ctx: int, step: str) -> None:
    """--max-num-batched-tokens is the window and 4096 at most (contract): 0.9.3 answered longer prompts with nothing."""
    assert flags(compiled(of(ctx=ctx)))[STEP_FLAG] == step


def test_a_build_without_that_bound_is_not_warned_about() -> None:
    """Nobody set anything."""
    result = compiled(of(manifest=OLD))
    assert STEP_FLAG not in result.words
    assert result.notes == ()
    assert STEP_FLAG in compiled(of(manifest=Manifest())).words


def test_odd_pa_memory_mb_silences_every_pa_memory_fraction() -> None:
    """The engine refuses both on one command line (setup document); who is silenced is told."""
    result = compiled(of(mistralrs__pa_memory_mb=2048, mistralrs_pa_memory_fraction=0.5))
    assert sizes(result) == {"--pa-memory-mb": "2048"}
    assert result.notes == (teaching.setting_gives_way(FRACTION, MEGABYTES),)
    assert sizes(compiled(of(mistralrs__pa_memory_mb=2048))) == {"--pa-memory-mb": "2048"}


def test_a_fraction_is_said_alone() -> None:
    """It excludes the planned windows too."""
    assert sizes(compiled(of(mistralrs_pa_memory_fraction=0.5))) == {"--pa-memory-fraction": "0.5"}


def test_without_a_size_the_cache_holds_the_planned_windows() -> None:
    """Else the engine would take nine tenths of the card."""
    assert sizes(compiled(of(slots=4))) == {"--pa-context-len": "65536"}
    assert sizes(compiled(replace(of(), ctx_size=32768))) == {"--pa-context-len": "32768"}
    assert reasons(compiled(of()))["--pa-context-len"] == teaching.cache_of_windows()


def test_paged_attn_false_is_a_plain_cache_of_the_windows_size() -> None:
    """Setup document; sizes of the paged one fall silent, and who set them is told."""
    result = compiled(of(mistralrs_paged_attn=False, mistralrs__pa_memory_mb=2048, mistralrs_pa_memory_fraction=0.5))
    assert sizes(result) == {"--paged-attn": "off"}
    assert set(result.notes) == {teaching.setting_gives_way(key, PAGED) for key in (FRACTION, MEGABYTES)}
    assert flags(result)["--max-seq-len"] == "16384"


@pytest.mark.parametrize("paged", [None, True])
def test_the_paged_cache_is_left_to_the_engine_where_it_can(paged: bool | None) -> None:
    """`on` would fail a load on a machine without CUDA; auto uses it wherever there is one."""
    assert "--paged-attn" not in compiled(of(mistralrs_paged_attn=paged)).words


@pytest.mark.parametrize("flag", SIZES)
def test_a_size_among_extra_words_silences_ours(flag: str) -> None:
    """The engine takes one."""
    result = compiled(of(extra_args=[flag, "1"], mistralrs__pa_memory_mb=2048))
    assert sizes(result) == {flag: "1"}
    assert result.notes[0] == teaching.setting_gives_way(MEGABYTES, "extra_args")


def test_slots_are_sequences() -> None:
    """Layers are dealt out for as many; 0 is the engine's own number."""
    said = flags(compiled(of(slots=4)))
    assert (said["--max-seqs"], said["--max-batch-size"]) == ("4", "4")
    assert not {"--max-seqs", "--max-batch-size"} & set(flags(compiled(of())))


def test_deterministic_is_one_sequence() -> None:
    """Whatever slots say."""
    result = compiled(of(deterministic=True, slots=4))
    assert flags(result)["--max-seqs"] == "1"
    assert "--max-batch-size" not in result.words
    assert sizes(result) == {"--pa-context-len": "16384"}
    assert reasons(result)["--max-seqs"] == teaching.argv_reason("deterministic")


@pytest.mark.parametrize("isq", ["q4k", "q8_0", "4"])
def test_isq_quantises_while_loading(isq: str) -> None:
    """And is sharpened by a matrix; the sizes that admission counts stay the file's."""
    said = flags(compiled(of(mistralrs__isq=isq, mistralrs__imatrix="/i", mistralrs__isq_organization="moqe")))
    assert (said["--isq"], said["--imatrix"], said["--isq-organization"]) == (isq, "/i", "moqe")


@pytest.mark.parametrize("key", ["imatrix", "calibration_file", "isq_organization"])
def test_what_sharpens_isq_says_nothing_without_it(key: str) -> None:
    """Left out with a note."""
    result = compiled(of(**{f"mistralrs__{key}": "moqe"}))
    assert result.words == compiled(of()).words
    assert result.notes == (teaching.setting_needs(f"mistralrs.{key}", "mistralrs.isq"),)


def test_of_a_matrix_and_texts_to_compute_one_the_matrix_is_said() -> None:
    """The engine refuses both."""
    result = compiled(of(mistralrs__isq="q4k", mistralrs__imatrix="/i", mistralrs__calibration_file="/c"))
    assert "--calibration-file" not in result.words
    assert result.notes == (teaching.setting_gives_way("mistralrs.calibration_file", "mistralrs.imatrix"),)


def test_the_lanes_template_wins_over_the_models() -> None:
    """Both as files; text cannot be told."""
    both = of(mistralrs__chat_template="/lane.jinja", chat_template_file="/model.jinja")
    assert flags(compiled(both))["--chat-template"] == "/lane.jinja"
    assert reasons(compiled(both))["--chat-template"] == "mistralrs.chat_template (config.toml, line 7)"
    assert flags(compiled(of(chat_template_file="/model.jinja")))["--chat-template"] == "/model.jinja"
    for key in ("chat_template", "mistralrs__chat_template"):
        result = compiled(of(**{key: "{{ messages }}"}))
        assert "--chat-template" not in result.words
        assert result.notes == (teaching.template_needs_file(key.replace("__", "."), "mistral.rs"),)


def test_a_load_over_several_cards_is_dealt_out_by_the_engine() -> None:
    """--device-layers stays away (setup document); the child is held to the cards in their order."""
    result = compiled(replace(of(), shape=BIG, placement=cards(24, 16)))
    assert result.env == ENV | PINS
    assert not {"-n", "--device-layers"} & set(result.words)


@pytest.mark.parametrize(
    "said",
    [{"devices": ["CUDA1"]}, {"tensor_split": "3,1"}, {"extra_args": ["-n", "0:16;1:16"]}, {"extra_args": ["--cpu"]}],
)
def test_whoever_places_a_load_is_not_interfered_with(said: dict[str, Any]) -> None:
    """Manual pins always win."""
    assert compiled(replace(of(**said), shape=BIG, placement=cards(24, 16))).env == ENV


def test_one_card_that_suffices_is_not_pinned() -> None:
    """The child's variables stay untouched."""
    assert compiled(replace(of(), shape=BIG, placement=cards(80, 80))).env == ENV


@pytest.mark.parametrize("word", ["-m", "--model-id", "--log", "--agent", "--enable-shell"])
def test_reserved_words_are_refused(word: str) -> None:
    """Whatever the build."""
    for manifest in (KNOWN, Manifest()):
        with pytest.raises(Malformed, match="extra_args"):
            compiled(of(manifest=manifest, extra_args=[word]))


SPACE: dict[str, tuple[Any, ...]] = {
    "deterministic": (False, True),
    "slots": (0, 1, 4),
    "mistralrs_paged_attn": (None, True, False),
    "mistralrs_pa_memory_fraction": (None, 0.5),
    "mistralrs__pa_memory_mb": (None, 2048),
    "mistralrs__chat_template": ("", "/t.jinja", "{{ x }}"),
    "chat_template_file": (None, "/t.json"),
    "mistralrs__isq": ("", "q4k", "8"),
    "mistralrs__isq_organization": ("", "default", "moqe"),
    "mistralrs__imatrix": ("", "/i"),
    "mistralrs__calibration_file": ("", "/c"),
    "devices": ([], ["CUDA0"]),
}


@pytest.mark.parametrize("manifest", [OLD, KNOWN])
@pytest.mark.parametrize("files", [GGUF, SHARDS, ("/models/phi/model.safetensors",)])
def test_every_flag_that_can_be_said_is_known_to_the_build(manifest: Manifest, files: tuple[str, ...]) -> None:
    """Over a covering set: each flag is listed and said once, has a reason and a value it takes; one size of the cache at most."""
    for said in covering_rows(SPACE):
        result = compiled(of(files, manifest, **said))
        named = flags_of(result.words)
        assert len(named) == len(set(named)), result.words
        assert set(named) <= set(manifest)
        assert len({"--imatrix", "--calibration-file"} & set(named)) < 2
        assert len(set(SIZES) & set(named)) < 2
        for decision in result.decisions:
            assert decision.reason
            if decision.words[1:] and (option := manifest.find(decision.words[0])) and option.choices:
                assert decision.words[1] in option.choices, decision


def test_a_models_own_folder_is_what_it_is_told() -> None:
    """Its files may lie below it."""
    given = brief(Weights.SAFETENSORS, ("/models/m/model.safetensors",), {}, Manifest())
    given = replace(given, model=replace(given.model, folder="/models/own"))
    assert "/models/own" in compile_launch(MISTRALRS, given).words
