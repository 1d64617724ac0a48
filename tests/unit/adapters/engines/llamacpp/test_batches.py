"""Batches that a llama-server survives; the live proof is tests/contract/live/test_argv_pairs_live.py."""

from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.engines.llamacpp.batches import batches
from blazar.application.config.model import Config
from blazar.domain import teaching
from blazar.domain.kinds import Task
from blazar.domain.launch import Brief
from tests.fakes.catalog import a_model
from tests.fakes.hardware import a_machine


def told(slots: int = 1, ctx_size: int = 8192, task: Task = Task.CHAT, **said: Any) -> dict[str, Any]:
    brief = Brief(Config.model_validate(said).settings_for("m"), a_model("m"), a_machine(), task=task, ctx=512)
    return dict(batches(replace(brief, ctx_size=ctx_size), slots, ctx_size).told)


@pytest.mark.parametrize(
    ("slots", "said", "batch"),
    [
        (4, {}, 0),
        (1, {"batch_size": 64}, 64),
        (1, {"batch_size": 1}, 2),
        (4, {"batch_size": 3}, 4),
        (1, {"batch_size": 8, "spec": "ngram-cache"}, 9),
        (2, {"batch_size": 64, "spec": "ngram-mod"}, 130),
        (2, {"spec": "ngram-simple", "ngram_size_m": 1024}, 2050),
        (1, {"spec": "ngram-simple", "ngram_size_m": 1024}, 0),
    ],
)
def test_a_batch_holds_what_all_slots_check_at_once(slots: int, said: dict[str, Any], batch: int) -> None:
    """A smaller one is raised: the engine dies as it starts, or at the first guess. Otherwise it stays as configured."""
    assert told(slots, **said) == {"batch_size": batch, "ubatch_size": 0}


@pytest.mark.parametrize(
    ("slots", "ctx_size", "said", "expected"),
    [
        (1, 512, {}, (512, 512, None)),
        (4, 512, {}, (512, 512, None)),
        (3, 1536, {}, (513, 513, None)),
        (3, 512, {}, (513, 513, 513)),
        (3, 1536, {"ubatch_size": 32}, (512, 33, None)),
        (3, 1536, {"batch_size": 64}, (66, 66, None)),
        (3, 512, {"batch_size": 2048, "ubatch_size": 2048}, (2048, 513, 513)),
        (1, 512, {"batch_size": 1}, (2, 512, None)),
        (1, 512, {"ubatch_size": 1}, (512, 2, None)),
        (2, 512, {"batch_size": 1, "ubatch_size": 1}, (2, 2, None)),
    ],
)
def test_odd_a_micro_batch_has_to_be_so_many_tokens_for_each_slot(
    slots: int, ctx_size: int, said: dict[str, Any], expected: tuple[int, int, int | None]
) -> None:
    """Of an embedding model; rounded up, so that no input becomes too long, and the window with it where it is smaller."""
    found = told(slots, ctx_size, Task.EMBED, **said)
    assert (found["batch_size"], found["ubatch_size"], found.get("ctx_size")) == expected


@pytest.mark.parametrize(
    ("slots", "said", "expected"),
    [
        (3, {"batch_size": 128, "extra_args": ["--batch-size", "128"]}, (126, 126)),
        (3, {"ubatch_size": 128, "extra_args": ["-ub", "128"]}, (126, 126)),
        (3, {"batch_size": 2048, "extra_args": ["-b", "2048"]}, (2048, 513)),
        (4, {"batch_size": 128, "extra_args": ["--batch-size", "128"]}, (128, 512)),
    ],
)
def test_odd_a_micro_batch_has_to_be_so_many_tokens_for_each_slot_beside_a_person_s_own(
    slots: int, said: dict[str, Any], expected: tuple[int, int]
) -> None:
    """What extra words say cannot be raised: the other of the two is rounded down, and the engine takes the smaller for both."""
    settings = {**Config().settings_for("m"), **said}
    brief = Brief(settings, a_model("m"), a_machine(), task=Task.EMBED, ctx=512, ctx_size=1536)
    found = batches(brief, slots, 1536).told
    assert (found["batch_size"], found["ubatch_size"]) == expected


@pytest.mark.parametrize(
    ("ctx", "said", "tokens"),
    [
        (512, {}, None),
        (8192, {}, None),
        (512, {"ubatch_size": 512}, None),
        (2048, {"ubatch_size": 512}, 512),
        (2048, {"batch_size": 64, "ubatch_size": 4096}, 64),
        (16384, {}, 8192),
        (16384, {"batch_size": 16384, "ubatch_size": 16384}, None),
    ],
)
def test_an_input_that_the_window_holds_and_no_batch_is_announced(
    ctx: int, said: dict[str, Any], tokens: int | None
) -> None:
    """Of an embedding model, which reads an input at once; the note names what was set too low."""
    found = embedding(ctx, **said)
    short = [key for key, size in said.items() if size < ctx]
    assert found == ([] if tokens is None else [teaching.embed_batch_short(tokens, ctx, short)])


def test_where_the_last_token_counts_an_input_is_read_in_pieces() -> None:
    """No batch bounds it."""
    assert embedding(16384, pooling=3) == []


def embedding(ctx: int, pooling: int | None = 1, **said: Any) -> list[str]:
    """The notes of a model with such a window."""
    settings = Config.model_validate(said).settings_for("m")
    brief = Brief(settings, a_model("m", pooling=pooling), a_machine(), task=Task.EMBED, ctx=ctx, ctx_size=ctx)
    return list(batches(brief, 1, ctx).notes)
