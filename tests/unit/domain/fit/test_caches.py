"""KV and recurrent memory against what the engine itself allocated, and what it refused."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.fit.caches import aborts, caches, recurrent, refusal, window_cells
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import CACHE_TYPES, Settings
from blazar.domain.fit.shape import ModelShape
from tests.support.fit_rows import MIB, models, rows, settings_of, shape_of

STATE = "state"  # the compressor's state, which the engine reports on lines that the fixture does not hold


def mib(count: int) -> str:
    return f"{count / MIB:.2f}"


@pytest.mark.parametrize(("model", "index"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in rows()])
def test_every_row_agrees_with_the_engine_to_its_own_rounding(model: str, index: int) -> None:
    """Cells, layers, keys, values and state are the log's to 0.01 MiB, and exactly the refused rows are refused."""
    row, shape = models()[model]["rows"][index], shape_of(model)
    asked = settings_of(row)
    refused = refusal(shape, asked)
    assert bool(refused) == bool(row.get("refused")), (refused, row.get("refused"))
    if refused:
        return
    found = [cache for cache in caches(shape, asked) if not cache.name.endswith(STATE)]
    got = [(cache.cells, len(cache.layers), mib(cache.k_bytes), mib(cache.v_bytes)) for cache in found]
    assert got == [(kv["cells"], kv["layers"], f"{kv['k_mib']:.2f}", f"{kv['v_mib']:.2f}") for kv in row["kv"]]
    state = sum(layer.bytes for layer in recurrent(shape, asked))
    assert mib(state) == f"{row['recurrent_total_mib']:.2f}"


def gguf(arch: str, **values: Any) -> ModelShape:
    """A model of `arch`; keys with a double underscore for their dot."""
    keys = {f"{arch}.{key.replace('__', '.')}": value for key, value in values.items()}
    return shape_from_gguf({"general.architecture": arch, **keys}, [])


def kv(shape: ModelShape, **values: Any) -> int:
    return sum(cache.bytes for cache in caches(shape, Settings(**values)))


QWEN2_7B: dict[str, Any] = {
    "block_count": 28,
    "embedding_length": 3584,
    "attention__head_count": 28,
    "attention__head_count_kv": 4,
}
QWEN3_06B: dict[str, Any] = {
    "block_count": 28,
    "embedding_length": 1024,
    "attention__head_count": 16,
    "attention__head_count_kv": 8,
    "attention__key_length": 128,
    "attention__value_length": 128,
}
LFM2_12B: dict[str, Any] = {
    "block_count": 16,
    "embedding_length": 2048,
    "attention__head_count": 32,
    "attention__head_count_kv": [0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0],
    "shortconv__l_cache": 3,
}
DEEPSEEK_V31: dict[str, Any] = {
    "block_count": 61,
    "embedding_length": 7168,
    "attention__head_count": 128,
    "attention__head_count_kv": 1,
    "attention__kv_lora_rank": 512,
    "attention__key_length": 576,
    "attention__value_length": 512,
    "attention__key_length_mla": 192,
    "attention__value_length_mla": 128,
}


@pytest.mark.parametrize(
    ("arch", "values", "ctx", "right"),
    [
        ("qwen2", QWEN2_7B, 131072, 7_516_192_768),
        ("qwen3", QWEN3_06B, 40960, 4_697_620_480),
        ("lfm2", LFM2_12B, 32768, 402_653_184),
        ("deepseek2", DEEPSEEK_V31, 163840, 11_513_364_480),
    ],
)
def test_published_models_come_out_right(arch: str, values: dict[str, Any], ctx: int, right: int) -> None:
    """Head widths, attention-free blocks and latent rows are counted as the engine does, not by embedding over heads."""
    assert kv(gguf(arch, **values), ctx=ctx) == right


GEMMA3_27B: dict[str, Any] = {
    "block_count": 62,
    "embedding_length": 5376,
    "attention__head_count": 32,
    "attention__head_count_kv": 16,
    "attention__key_length": 128,
    "attention__value_length": 128,
    "attention__sliding_window": 1024,
}


def test_a_window_without_a_pattern_takes_the_engines_period() -> None:
    """Gemma 3 files name no pattern: one block in six is full, the others hold a window and a micro-batch."""
    full, window = caches(gguf("gemma3", **GEMMA3_27B), Settings(ctx=131072))
    assert (len(full.layers), len(window.layers)) == (10, 52)
    assert (full.cells, window.cells) == (131072, 1536)
    assert full.bytes == 10 * 131072 * 16 * 128 * 2 * 2


GEMMA4_26B: dict[str, Any] = {
    "block_count": 30,
    "embedding_length": 2816,
    "attention__head_count": 16,
    "attention__head_count_kv": ([8] * 5 + [2]) * 5,
    "attention__key_length": 512,
    "attention__value_length": 512,
    "attention__key_length_swa": 256,
    "attention__value_length_swa": 256,
    "attention__sliding_window": 1024,
    "attention__sliding_window_pattern": ([True] * 5 + [False]) * 5,
    "attention__shared_kv_layers": 0,
}


def test_a_pattern_of_flags_is_read_block_by_block() -> None:
    """Gemma 4 26B-A4B at 128k takes 3.0 GB, not 56.4: 25 of its 30 blocks are windowed, with heads of another width."""
    found = caches(gguf("gemma4", **GEMMA4_26B), Settings(ctx=131072))
    assert [len(cache.layers) for cache in found] == [5, 25]
    assert 2.9e9 < sum(cache.bytes for cache in found) < 3.1e9


def test_blocks_that_share_anothers_cache_hold_none() -> None:
    """Shared-KV blocks are no layers of any cache: the last of Gemma 4's, and Gemma 3n's behind its twentieth."""
    shared = gguf("gemma4", **{**GEMMA4_26B, "attention__shared_kv_layers": 10})
    assert sum(len(cache.layers) for cache in caches(shared, Settings(ctx=4096))) == 20
    gemma3n = {**QWEN3_06B, "block_count": 35, "attention__sliding_window": 512}
    assert [len(cache.layers) for cache in caches(gguf("gemma3n", **gemma3n), Settings(ctx=4096))] == [4, 16]


def test_chunked_attention_has_the_engines_own_chunk() -> None:
    """Llama 4 attends in chunks of 8192 in three of four blocks, whatever window the file names, unless it names 0."""
    full, chunked = caches(gguf("llama4", **{**QWEN3_06B, "attention__sliding_window": 1024}), Settings(ctx=131072))
    assert (len(full.layers), len(chunked.layers), chunked.cells) == (7, 21, 8704)
    assert len(caches(gguf("llama4", **{**QWEN3_06B, "attention__sliding_window": 0}), Settings(ctx=4096))) == 1


def test_a_period_for_one_size_only_holds_for_no_other() -> None:
    """EXAONE 4 is windowed in its 64-block model alone, and Phi 3's window is switched off."""
    values = {**QWEN3_06B, "attention__sliding_window": 4096}
    assert len(caches(gguf("exaone4", **values), Settings(ctx=8192))) == 1
    assert len(caches(gguf("exaone4", **{**values, "block_count": 64}), Settings(ctx=8192))) == 2
    assert len(caches(gguf("phi3", **values), Settings(ctx=8192))) == 1


def test_quantised_caches_scale_by_their_blocks() -> None:
    """q8_0 is 34 bytes for 32 elements and q4_0 18; keys and values are scaled apart."""
    shape = gguf("qwen3", **QWEN3_06B)
    f16 = kv(shape, ctx=40960)
    assert kv(shape, ctx=40960, cache_type_k="q8_0", cache_type_v="q8_0") == f16 * 34 // 64
    assert kv(shape, ctx=40960, cache_type_k="q8_0", cache_type_v="q4_0") == f16 // 2 * 34 // 64 + f16 // 2 * 18 // 64


def test_predicting_blocks_keep_nothing_in_the_main_cache() -> None:
    """NextN blocks are not attended by the trunk; a file that is nothing but predicting blocks keeps them all."""
    assert len(caches(gguf("glm4moe", **{**QWEN3_06B, "nextn_predict_layers": 1}), Settings(ctx=256))[0].layers) == 27
    assert len(caches(gguf("glm4moe", **{**QWEN3_06B, "nextn_predict_layers": 28}), Settings(ctx=256))[0].layers) == 28


def test_a_router_is_one_more_single_headed_block() -> None:
    """Granite Switch keeps one head's keys and values more."""
    plain, switch = kv(gguf("granite", **QWEN3_06B), ctx=256), kv(gguf("graniteswitch", **QWEN3_06B), ctx=256)
    assert switch - plain == 256 * 2 * 128 * 2


def test_an_open_context_is_the_trained_one() -> None:
    """Ctx 0 is the trained window, rounded up; without either there is nothing to load, and the sentence says what to set."""
    shape = gguf("qwen3", context_length=1000, **QWEN3_06B)
    assert window_cells(Settings(), shape) == 1024
    assert "set ctx" in (refusal(gguf("qwen3", **QWEN3_06B), Settings()) or "")


def test_the_compressors_state_is_counted() -> None:
    """What compression carries between batches is the engine's memory too: f32, for each sequence."""
    found = {cache.name: cache for cache in caches(shape_of("deepseek4-moe"), Settings(ctx=4096, parallel=2))}
    assert found["csa state"].bytes == 2 * (8 * 128 * 4) * 2
    assert found["hca state"].bytes == 2 * (128 * 64 * 4) * 2
    assert found["indexer state"].bytes == 2 * (8 * 256 * 4) * 2


def test_without_flash_attention_values_are_padded_to_the_widest() -> None:
    """Transposed values of all blocks are as wide as the widest block's."""
    shape = gguf("gemma4", **GEMMA4_26B)
    padded = caches(shape, Settings(ctx=4096, flash_attention=False))
    assert {layer.v_bytes // cache.cells for cache in padded for layer in cache.layers} == {8 * 256 * 2}


@pytest.mark.parametrize(
    ("arch", "asked", "names"),
    [
        (
            "deepseek2",
            {"cache_type_k": "q8_0", "cache_type_v": "q4_0"},
            ("cache_type_k", "cache_type_v", "q8_0", "q4_0"),
        ),
        ("deepseek2", {"cache_type_k": "q8_0"}, ("cache_type_v", "f16")),
        ("qwen3", {"cache_type_v": "nope"}, ("cache_type_v nope", "q8_0")),
        ("qwen3", {"cache_type_k": "nope"}, ("cache_type_k nope", "q8_0")),
        ("qwen3", {"cache_type_v": "q8_0", "flash_attention": False}, ("cache_type_v", "flash")),
        ("grok", {"cache_type_v": "q8_0"}, ("cache_type_v", "grok", "flash")),
        ("qwen3", {"cache_type_k": "q3_K"}, ("cache_type_k", "q3_K", "q8_0")),
        ("qwen3", {"parallel": 257}, ("parallel", "256")),
        ("qwen3", {"ctx": 2**31}, ("ctx",)),
    ],
)
def test_what_the_engine_refuses_is_said_with_the_setting_to_change(
    arch: str, asked: dict[str, Any], names: tuple[str, ...]
) -> None:
    """Latent caches want one type, quantised values flash attention, and counts have the engine's bounds."""
    shape = gguf(arch, **(DEEPSEEK_V31 if arch == "deepseek2" else QWEN3_06B))
    sentence = refusal(shape, Settings(**{"ctx": 4096, **asked})) or ""
    assert all(name in sentence for name in names), sentence


def test_what_was_allocated_is_served_but_for_windows_of_one_token_and_slots_that_do_not_divide() -> None:
    """Of all rows, the one whose log ends before its compute buffer (kimi-linear with 3 slots), and those of one token."""
    found = {
        (name, models()[name]["rows"][index]["ctx"])
        for name, index in rows()
        if aborts(shape_of(name), settings_of(models()[name]["rows"][index]))
    }
    kept = {name for name in models() if shape_of(name).caches or shape_of(name).recurrent}
    assert found == {("kimi-linear-moe", 5000)} | {(name, 1) for name in kept if shape_of(name).causal}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"batch": 3, "parallel": 4}, ("batch_size", "4")),
        ({"batch": 1, "parallel": 1}, ("batch_size", "2")),
        ({"ctx": 1, "parallel": 1}, ("ctx", "2")),
        ({"batch": 4, "parallel": 4}, ()),
        ({"ctx": 2, "parallel": 4}, ()),
        ({"ubatch": 3, "parallel": 4}, ()),
        ({"batch": 0, "parallel": 4}, ()),
    ],
)
def test_batches_that_the_server_would_end_itself_over(asked: dict[str, Any], names: tuple[str, ...]) -> None:
    """A token for every slot, and two at once to start with; as measured, whether the cache is unified or not."""
    for unified in (False, True):
        sentence = aborts(gguf("qwen3", **QWEN3_06B), Settings(**{"ctx": 4096, "kv_unified": unified, **asked}))
        assert bool(sentence) == bool(names)
        assert all(name in (sentence or "") for name in names)


@pytest.mark.parametrize(
    ("asked", "fine"),
    [
        ({}, False),
        ({"kv_unified": True}, True),
        ({"parallel": 4}, True),
        ({"ubatch": 510}, True),
        ({"batch": 300}, True),
        ({"batch": 301}, False),
        ({"ctx": 384}, True),
        ({"ctx": 385}, False),
    ],
)
def test_slots_divide_what_some_architectures_compute_at_once(asked: dict[str, Any], fine: bool) -> None:
    """As measured: kimi-linear reserves its last graph for one sequence, whose tokens are cut to whole streams."""
    shape, last = shape_of("kimi-linear-moe"), shape_of("minimax-01-moe")
    settings = Settings(**{"ctx": 6000, "parallel": 3, **asked})
    assert (aborts(shape, settings) is None) == fine
    assert "kv_unified" in (aborts(shape, settings) or "kv_unified")
    assert aborts(last, settings) is None, "only its last block attends"
    assert aborts(shape_of("llama-dense"), settings) is None


def test_rows_that_end_inside_a_block_are_refused() -> None:
    """Heads of 80 elements cannot be stored in blocks of 32, with flash attention or, one head to the row, without."""
    shape = gguf("qwen3", **{**QWEN3_06B, "attention__key_length": 80, "attention__head_count_kv": 1})
    for flash in (True, False):
        asked = Settings(ctx=256, cache_type_k="q8_0", flash_attention=flash)
        assert "cache_type_k" in (refusal(shape, asked) or "")
    assert refusal(shape, Settings(ctx=256)) is None


NAMES = sorted(models())
LOADS = st.builds(
    Settings,
    ctx=st.integers(1, 1 << 20),
    parallel=st.integers(1, 64),
    ubatch=st.integers(1, 4096),
    swa_full=st.booleans(),
    kv_unified=st.booleans(),
)


def held(shape: ModelShape, asked: Settings) -> int:
    found = sum(cache.bytes for cache in caches(shape, asked))
    return found + sum(layer.bytes for layer in recurrent(shape, asked))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), LOADS, st.integers(0, 1 << 18), st.integers(0, 8))
def test_more_never_costs_less(model: str, asked: Settings, tokens: int, slots: int) -> None:
    """More context, a larger micro-batch, the full window or more sequences with as much each never cost less."""
    shape = shape_of(model)
    cost = held(shape, asked)
    assert held(shape, replace(asked, ctx=asked.ctx + tokens)) >= cost
    assert held(shape, replace(asked, ubatch=asked.ubatch + slots, batch=1 << 16)) >= held(
        shape, replace(asked, batch=1 << 16)
    )
    assert held(shape, replace(asked, swa_full=True)) >= cost
    share = window_cells(asked, shape)
    more = asked.parallel + slots
    wider = replace(asked, parallel=more, ctx=share if asked.kv_unified else share * more)
    assert held(shape, wider) >= cost


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NAMES), LOADS)
def test_more_precision_never_costs_less(model: str, asked: Settings) -> None:
    """In the order of their bits, every cache type costs at least what the one before it does."""
    shape = shape_of(model)
    order = sorted(CACHE_TYPES, key=lambda name: CACHE_TYPES[name].bytes / CACHE_TYPES[name].elements)
    costs = [held(shape, replace(asked, cache_type_k=name, cache_type_v=name)) for name in order]
    assert costs == sorted(costs)
