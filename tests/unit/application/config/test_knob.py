"""What a key may say about itself."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from blazar.application.config.knob import (
    LARGEST,
    ExtraWords,
    Keys,
    Knob,
    Positive,
    Whole,
    Words,
    json_object,
    knob_of,
    model_name,
    model_reference,
    parts_of,
    refused,
    shaped,
    table_in,
    workers,
)
from blazar.application.config.model import Config, Override
from blazar.domain import teaching
from tests.support.configuration import refusal


class Some(Keys):
    """A group."""

    count: Annotated[int, Knob(env=("A", "B"), per_model=True)] = 3
    """How many."""
    words: Words = ()
    """Which."""
    name: Annotated[str, shaped("[a-z]+", "environment")] = ""
    """Who."""


def test_metadata_is_found_beside_the_type():
    """And is empty where nothing is said; the sentence is the field's description."""
    assert knob_of(Some.model_fields["count"]) == Knob(("A", "B"), per_model=True)
    assert knob_of(Some.model_fields["words"]) == Knob()
    assert Some.model_fields["count"].description == "How many."


def test_a_group_is_strict_closed_and_unchangeable():
    """`"3"` is a mistake that a person should see, and so is a key that nobody declared."""
    for value in ({"count": "3"}, {"words": ["a", 1]}, {"other": 1}):
        with pytest.raises(ValidationError):
            Some.model_validate(value)
    with pytest.raises(ValidationError):
        Some().count = 4


def test_a_list_of_texts_is_a_tuple():
    """TOML knows no tuple; only the container is lenient."""
    assert Some.model_validate({"words": ["a", "b"]}).words == ("a", "b")


def test_a_shaped_text_matches_as_a_whole_or_is_empty():
    """The sentence is ours."""
    assert Some(name="abc").name == "abc"
    assert Some(name="").name == ""
    with pytest.raises(ValidationError) as caught:
        Some(name="abc1")
    (error,) = caught.value.errors()
    assert (error["type"], error["msg"]) == ("blazar", teaching.config_wants("environment"))


class Child(Keys):
    """What a command line is made of."""

    words: ExtraWords = ()
    """Words."""
    whole: Whole = 0
    """From zero."""
    positive: Positive = 1
    """From one."""
    part: float = 0.5
    """A number."""


def why(**value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Child(**value)
    (error,) = caught.value.errors()
    return error["msg"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--cache-ram", "-1", "--temp", "-0.5"),
        ("--lora", "a", "--lora", "b"),
        ("-ot", "x=CPU", "-ot", "y=CPU"),
        ("--a=b",),
    ],
)
def test_extra_words_stay_as_they_are(words):
    """In their order, repetitions and negative numbers included (cases I4, I5)."""
    assert Child.model_validate({"words": list(words)}).words == words


@pytest.mark.parametrize("text", ["[::1]:50052", "::1:50052", "a:1,[fe80::1]:2"])
def test_odd_no_ipv6_address_can_be_said(text):
    """The parser of ggml ends the host at the first colon: it would connect to `[`."""
    with pytest.raises(PydanticCustomError, match=teaching.config_wants("worker_v6")):
        workers(text)


@pytest.mark.parametrize("first", ["tiny", "-1", "-.5", "8"])
def test_odd_a_negative_number_is_a_value_and_cannot_come_first(first):
    """No flag is called -1; a value without a flag before it would be taken for a file."""
    assert why(words=(first, "--a")) == teaching.config_wants("extra_first", first)


@pytest.mark.parametrize(("word", "wants"), [("", "extra_empty"), ("a\0b", "nul")])
def test_no_word_is_empty_or_ends_early(word, wants):
    """A program would see another word than the file has."""
    assert why(words=("--a", word)) == teaching.config_wants(wants)


TEXTS = {
    (keys, name)
    for keys in (Config, Override)
    for name, field in keys.model_fields.items()
    if str in set(parts_of(field.annotation))
}


@pytest.mark.parametrize(("keys", "name"), sorted(TEXTS, key=str))
def test_no_text_of_any_key_holds_a_nul(keys, name):
    """It would end there as a word of a command line, a variable or a path."""
    for value in ("--a\0b", ["--a", "b\0"], {"A": "b\0"}):
        with pytest.raises(ValidationError):
            keys.model_validate({name: value})
    assert len(TEXTS) > 90


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('tls_cert = "a\\u0000"\ntls_key = "b"', "line 1: 'tls_cert'"),
        ('[engine_env]\nA = "b\\u0000"', "line 1: 'engine_env'"),
        ('[[mcp]]\nname = "m"\ncommand = ["x", "\\u0000"]', "line 3: 'mcp.command'"),
        ('[[mcp]]\nname = "m"\ncommand = ["x"]\nenv = { A = "hush\\u0000" }', "line 4: 'mcp.env'"),
        ('[model_overrides.m]\nchat_template = "\\u0000"', "line 2: 'model_overrides.m.chat_template'"),
        ('[model_overrides.m]\nextra_args = ["--a", "\\u0000"]', "line 2: 'model_overrides.m.extra_args'"),
        ('[mlx]\nchat_template_args = { a = ["\\u0000"] }', "line 2: 'mlx.chat_template_args'"),
    ],
)
def test_a_nul_is_told_at_its_key(text, place):
    """Without what stands around it, which may be a secret."""
    assert refusal(text) == f"config.toml {place} {teaching.config_wants('nul')}"


@pytest.mark.parametrize("text", ["smol", "qwen:0.6b", "owner/model:Q4", "peer:smol", "peer:owner/qwen:0.6b"])
def test_a_model_may_be_somebody_else_s(text):
    """`NAME:TAG` and `REMOTE:MODEL` are spelled alike; which one is meant is found out when it is loaded."""
    assert model_reference(text) == text


@pytest.mark.parametrize("text", ["", "a b", "m#1", "m@vision", "a:b:c:d", ":", "peer:", "--model"])
def test_what_no_model_is_called(text):
    """A child is no model, and a flag is none."""
    with pytest.raises(PydanticCustomError, match="must name a model"):
        model_reference(text)


def test_workers_have_ports_and_no_ipv6_address():
    """The parser of ggml ends the host at the first colon, and takes any number for a port."""
    assert workers("") == ""
    assert workers("a:1,10.0.0.2:65535") == "a:1,10.0.0.2:65535"
    for text, wants in {
        "a:0": "worker_port",
        "a:1,b:65536": "worker_port",
        f"a:{'9' * 5000}": "worker_port",
        "[::1]:50052": "worker_v6",
        "::1:50052": "worker_v6",
    }.items():
        with pytest.raises(PydanticCustomError, match=teaching.config_wants(wants)):
            workers(text)
    assert (
        refusal("rpc_servers = 'a:70000'")
        == f"config.toml line 1: 'rpc_servers' {teaching.config_wants('worker_port')}"
    )
    assert teaching.config_wants("workers") in refusal("rpc_servers = 'a'")


def test_whole_numbers_end_where_the_engines_do():
    """Beyond 32 bits they wrap around, or end the child."""
    assert Child(whole=LARGEST, positive=LARGEST).whole == LARGEST
    for value in ({"whole": LARGEST + 1}, {"whole": -1}, {"positive": 0}, {"positive": 2**70}):
        with pytest.raises(ValidationError):
            Child(**value)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_number_is_finite(value):
    """No engine takes another."""
    with pytest.raises(ValidationError):
        Child(part=value)


def test_the_types_in_an_annotation():
    """Through options, lists and metadata; a choice has the types of its words."""
    assert list(parts_of(Annotated[Annotated[int, Knob()] | None, Knob()])) == [int]
    assert set(parts_of(tuple[Annotated[str, Knob()], ...] | None)) == {tuple, str}
    assert set(parts_of(dict[str, float])) == {dict, str, float}
    assert set(parts_of(Literal["a", 3] | bool)) == {str, int, bool}


def test_the_table_in_an_annotation():
    """One, a list of them, or named ones."""
    assert table_in(Some) is Some
    assert table_in(tuple[Annotated[Some, Knob()], ...]) is Some
    assert table_in(dict[str, Some] | None) is Some
    assert table_in(dict[str, int]) is None


def test_a_refusal_speaks_our_words():
    """With its limit."""
    assert refused("unique", "a").message() == teaching.config_wants("unique", "a")


@pytest.mark.parametrize("name", ["m#1", "", "a b"])
def test_a_models_name_is_one(name):
    """In the sentence that overrides have for it."""
    assert model_name("a.b:c") == "a.b:c"
    with pytest.raises(PydanticCustomError, match=teaching.config_wants("name")):
        model_name(name)


@pytest.mark.parametrize(
    ("given", "value"),
    [('{"a": 1}', {"a": 1}), ({"a": 1}, {"a": 1}), ("{", "{"), (3, 3), ("[" * 100000, "[" * 100000)],
)
def test_an_object_may_be_written_as_json(given, value):
    """What is none stays what it is, and is refused for that."""
    assert json_object(given) == value
