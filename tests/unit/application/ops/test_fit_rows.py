"""Rows of a fit answer: one machine, one configuration, several shapes."""

from typing import Any

from blazar.application.config.model import Config
from blazar.application.ops.fit_rows import Judge, Weighed
from blazar.domain.fit.machine import imagined
from blazar.domain.fit.shape import Projector
from tests.fakes.weights import some_shape

GIB = 2**30


def judge(**settings: Any) -> Judge:
    return Judge("hf:me/m", imagined((8,), 32), Config().settings_for("") | settings)


def weighed(quant: str, gib: float, **more: Any) -> Weighed:
    size = int(gib * GIB)
    facts = {"shape": some_shape(blocks=32, width=4096, weights=size), "projector": None, **more}
    return Weighed(quant, size, 1, **facts)


def test_a_row_is_a_plan_and_its_largest_window() -> None:
    """The default window, clamped to what the model was trained for; and how far it could be raised."""
    row = judge(default_ctx=1024).row(weighed("Q4_K_M", 4))
    assert (row.candidate.verdict.ctx, row.up_to) == (1024, 4096)
    assert (row.candidate.whole, row.candidate.roomy) == (True, True)
    assert judge().row(weighed("Q4_K_M", 4)).candidate.verdict.ctx == 4096


def test_a_window_that_somebody_chose_is_kept() -> None:
    """Also where it costs layers; then it is not whole, but roomy."""
    row = judge(ctx=4096, slots=4, kv_unified=False, cache_type_k="f16", cache_type_v="f16").row(weighed("Q8_0", 6))
    assert row.candidate.verdict.ctx == 4096
    assert (row.candidate.whole, row.candidate.roomy) == (False, True)


def test_the_projector_is_part_of_the_plan() -> None:
    """F8: what would be loaded beside it may push layers off the card."""
    plain = judge(ctx=1024).row(weighed("Q4_K_M", 6))
    seeing = judge(ctx=1024).row(weighed("Q4_K_M", 6, projector=Projector("clip", GIB, GIB // 2)))
    assert (plain.candidate.whole, seeing.candidate.whole) == (True, False)


def test_the_answer_marks_what_to_take() -> None:
    """Every row is JSON; one verdict in full, about the row that is shown."""
    asked = judge(ctx=1024)
    rows = [
        asked.row(weighed("Q2_K", 3, estimated=True)),
        asked.row(weighed("Q4_K_M", 5)),
        asked.row(weighed("Q8_0", 9)),
    ]
    answer = asked.answer("hf", "hf:me/m", rows, rows[0])
    assert (answer["take"], answer["quant"], answer["target"]) == ("Q4_K_M", "Q2_K", "hf:me/m")
    assert [row["take"] for row in answer["quants"]] == [False, True, False]
    assert [row["estimated"] for row in answer["quants"]] == [True, False, False]
    assert answer["verdict"]["exact_bytes"] == answer["quants"][0]["exact_bytes"]
    assert answer["machine"]["ram_total"] == 32 * GIB
