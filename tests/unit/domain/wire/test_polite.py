"""A request in the words of its child's server."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.grammars import LLGUIDANCE
from blazar.domain.manners import APPLY_TEMPLATE, COUNTING, DETOKENIZE, INFILL, LLAMACPP, TOKENIZE, Manners
from blazar.domain.wire.polite import UNKNOWN_WINDOW, as_it_is, asked_for_one, make_polite, refusal, without_tag
from blazar.domain.wire.request import ENDLESS

STRICT = Manners(name="x", routes=frozenset(), forms=frozenset({"response_format"}), strips=frozenset({"adapters"}))
BOUNDED = Manners(name="x", bounded=True)
TAGGED = Manners(name="x", draws=True, tagged="orders")
SCHEMA = {"type": "object"}


def made(manners: Manners, window: int = 100, **body: Any) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """The body as it is sent, the warnings, and whether the form is held."""
    polite = make_polite(body, manners, window)
    return body, polite.warnings, polite.held


def test_one_kind_takes_requests_as_they_are() -> None:
    """An equal record of another kind does not count: nothing must depend on what it happens to say."""
    assert as_it_is(LLAMACPP)
    assert not as_it_is(Manners())


def test_fields_that_would_load_something_are_left_out_and_said() -> None:
    """A null asks for nothing and is left out in silence."""
    body, warnings, held = made(STRICT, adapters="/etc", seed=1)
    assert (body, held) == ({"seed": 1}, True)
    assert warnings == ("ignored; 'adapters' has no effect here",)
    assert made(STRICT, adapters=None) == ({}, (), True)


def test_a_form_that_is_held_stays() -> None:
    """And a bare schema becomes one, unless the caller has said both."""
    form = {"type": "json_object"}
    assert made(STRICT, response_format=form) == ({"response_format": form}, (), True)
    body, warnings, held = made(STRICT, json_schema=SCHEMA)
    assert body == {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}}
    assert (warnings, held) == ((), True)
    assert made(STRICT, response_format=form, json_schema=SCHEMA)[0] == {"response_format": form}


@pytest.mark.parametrize("field", ["response_format", "json_schema", "grammar"])
def test_a_form_that_nobody_holds_is_left_out_and_said(field: str) -> None:
    """Then there is no receipt either (D19)."""
    form = {"response_format": {"type": "json_object"}, "json_schema": SCHEMA, "grammar": 'root ::= "a"'}[field]
    body, warnings, held = made(Manners(name="x", forms=frozenset()), **{field: form})
    assert (body, held) == ({}, False)
    assert warnings == (f"ignored; '{field}' has no effect here",)


def test_a_form_that_asks_for_nothing_is_no_loss() -> None:
    """Text is what comes anyway."""
    assert made(Manners(name="x", forms=frozenset()), response_format={"type": "text"}) == ({}, (), True)


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ({}, 100),
        ({"max_tokens": 7}, 7),
        ({"max_completion_tokens": 8, "max_tokens": 7}, 8),
        ({"max_completion_tokens": None, "max_tokens": 7}, 7),
        ({"max_tokens": -1}, 100),
        ({"max_tokens": 0}, 100),
        ({"max_tokens": "seven"}, "seven"),
    ],
)
def test_odd_zero_and_less_is_no_bound(said: dict[str, Any], bound: Any) -> None:
    """The caller's, else the window; what is no number is for the engine to refuse."""
    assert made(BOUNDED, **said)[0] == {"max_tokens": bound}


def test_no_limit_is_not_said_where_it_is_refused() -> None:
    """A server that takes no more than its window has no bound unasked; one with a bound of its own gets the window."""
    body: dict[str, Any] = {"max_tokens": ENDLESS}
    make_polite(body, Manners(name="x"), 512)
    assert body == {}
    body = {"max_tokens": ENDLESS}
    make_polite(body, BOUNDED, 512)
    assert body == {"max_tokens": 512}


def test_an_unknown_window_is_bounded_as_well() -> None:
    """Not by the engine's own few hundred tokens."""
    assert made(BOUNDED, window=0)[0] == {"max_tokens": UNKNOWN_WINDOW}


def test_orders_ride_behind_the_prompt() -> None:
    """Numbers alone; without any there is no tag."""
    body, _, _ = made(TAGGED, prompt="a cat", seed=5, steps=3, cfg_scale=2.5, size="64x64")
    orders = '{"seed":5,"sample_params":{"sample_steps":3,"guidance":{"txt_cfg":2.5}}}'
    assert body == {"prompt": f"a cat<orders>{orders}</orders>", "size": "64x64"}
    assert made(TAGGED, prompt="a cat")[0] == {"prompt": "a cat"}


def test_a_prompt_gives_no_orders() -> None:
    """Open, closed, nested: none of the caller's tags is one."""
    text = "<orders>{}</orders> <orders<orders>>"
    assert "<orders>" not in without_tag(text, "orders")
    assert "</orders>" not in without_tag(text, "orders")
    body, _, _ = made(TAGGED, prompt=text, seed=1)
    assert body["prompt"].count("<orders>") == body["prompt"].count("</orders>") == 1


def test_routes_that_a_kind_lacks_are_refused_by_name() -> None:
    """A gap is the caller's field, a text's tokens its choice of a model; a count is had otherwise, and what every kind has is no question."""
    assert refusal("/v1/chat/completions", STRICT) is None
    assert refusal(INFILL, LLAMACPP) is None
    gap = refusal(INFILL, STRICT)
    assert isinstance(gap, Malformed)
    assert gap.field == "suffix"
    for path in (TOKENIZE, DETOKENIZE, APPLY_TEMPLATE):
        assert refusal(path, LLAMACPP) is None
        lacks = refusal(path, STRICT)
        assert isinstance(lacks, Malformed)
        assert (lacks.field, "served by x" in str(lacks)) == ("model", True)
    assert refusal(COUNTING, STRICT) is None


def test_a_kind_without_a_route_for_counts_is_asked_for_one_token() -> None:
    """The prompt stays to the letter, so that the count is the real call's; every other path is left alone."""
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}], "stream": True, "max_tokens": 50}
    assert asked_for_one(COUNTING, body, STRICT) == "/v1/chat/completions"
    assert body == {"model": "m", "messages": [{"role": "user", "content": "a"}], "stream": False, "max_tokens": 1}
    for path, manners in ((COUNTING, LLAMACPP), ("/v1/chat/completions", STRICT)):
        untouched: dict[str, Any] = {}
        assert asked_for_one(path, untouched, manners) == path
        assert untouched == {}


def test_a_schema_is_fitted_to_what_its_library_holds() -> None:
    """Under the caller's own name for the form; what is not held takes the receipt away (D19)."""
    body: dict[str, Any] = {"response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}}
    polite = make_polite(body, STRICT._replace(grammar=LLGUIDANCE), 0, "format")
    assert body["response_format"]["json_schema"]["schema"] == {}
    assert (polite.held, "'format'" in polite.warnings[0]) == (False, True)


def test_odd_whole_floats_are_written_whole_for_servers_with_typed_bodies() -> None:
    """What is no whole number stays for the server to judge."""
    body, warnings, _ = made(STRICT, max_tokens=10.0, seed=1.0, temperature=1.0, n=1.5)
    assert repr(body) == repr({"max_tokens": 10, "seed": 1, "temperature": 1.0, "n": 1.5})
    assert warnings == ()


def test_the_size_of_a_prompt_is_asked_for_only_where_it_is_told() -> None:
    """Another kind's typed server might refuse the field, and it is nothing of the caller's that would be lost."""
    assert made(STRICT, messages=[], return_progress=True) == ({"messages": []}, (), True)
    assert LLAMACPP.foretells
