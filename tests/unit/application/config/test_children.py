"""Forms of what engine processes are told."""

import pytest

from blazar.domain import teaching
from tests.support.configuration import held, refusal

RANGES = ["cpu_range", "spec_draft_cpu_range"]


@pytest.mark.parametrize("key", RANGES)
@pytest.mark.parametrize("text", ["0-7", "3-3", "0-511", ""])
def test_processors_are_a_range(key, text):
    """Both ends belong to it."""
    assert getattr(held(f"{key} = '{text}'"), key) == text


@pytest.mark.parametrize("key", RANGES)
@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("7", "range"),
        ("-7", "range"),
        ("0-", "range"),
        ("0-1,4-5", "range"),
        ("٠-٣", "range"),
        ("99999-99999", "range"),
        ("7-0", "range_order"),
        ("0-512", "range_order"),
    ],
)
def test_odd_a_range_that_runs_backwards_is_refused(key, text, wants):
    """The engine takes it and binds its threads to nothing; what it cannot count to ends it as it starts."""
    assert teaching.config_wants(wants, 512) in refusal(f"{key} = '{text}'")


def test_samplers_are_names_in_their_order():
    """Divided as the engine divides them."""
    assert held("samplers = 'top_k;typ_p;temperature'").samplers == "top_k;typ_p;temperature"
    assert teaching.config_wants("samplers") in refusal("samplers = 'top_k, top_p'")


@pytest.mark.parametrize(
    "text", ["top_k;top_p;typical", "Top-K;topp;nucleus;temp", "dry;xtc;min_p;penalties;infill;adaptive_p"]
)
def test_a_sampler_has_the_names_that_the_engine_reads(text):
    """In any case, with - or nothing for _, and as the setup document has it."""
    assert held(f"samplers = '{text}'").samplers == text


def test_a_sampler_that_there_is_not_is_refused_with_what_was_meant():
    """The engine would pass it over, and sample with the rest."""
    meant = ("top_k", "top_p", "typ_p")
    assert teaching.config_unknown_step("top_kk", meant) in refusal("samplers = 'top_p;top_kk'")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("child_transport = 'pipe'", "must be one of 'tcp' or 'unix'"),
        ("child_auth = 'auto'", "must be true or false"),
        ("cache_type = 'q6_k'", "must be one of"),
        ("slot_prompt_similarity = 1.01", "must be 1 or less"),
        ("ctx_extend = -1.0", "must be 0 or more"),
        ("load_mode = 'none'", "must be one of"),
        ("prio = 4", "must be 3 or less"),
        ("poll = 101", "must be 100 or less"),
        ("threads = -1", "must be 0 or more"),
        ("threads = 513", "must be 512 or less"),
        ("threads_batch = 513", "must be 512 or less"),
        ("threads_http = 513", "must be 512 or less"),
        ("spec_draft_threads = 513", "must be 512 or less"),
        ("ctx_extend = 100.1", "must be 100 or less"),
        ("yarn_orig_ctx = 16777217", "must be 16777216 or less"),
        ("chat_template_kwargs = '['", "must be a table"),
        ("keep_tokens = -2", "must be -1 or more"),
    ],
)
def test_a_bound_is_kept(text, why):
    """Each with its sentence."""
    assert why in refusal(text)


def test_three_answers_to_whether_a_child_is_authenticated():
    """Unset is not false: then the transport decides."""
    assert [held(text).child_auth for text in ("", "child_auth = true", "child_auth = false")] == [None, True, False]
