"""What pydantic found wrong, in our words."""

import tomllib
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from blazar.application.config.model import Config, Override
from blazar.application.config.problems import _WANTS, read_toml, spelled, unquoted, why
from blazar.domain import teaching
from blazar.domain.errors import BadConfig


class Shape(BaseModel, strict=True):
    """One field of every kind that configuration has."""

    whole: Annotated[int, Field(ge=256, le=1000)] = 300
    part: Annotated[float, Field(gt=0)] = 0.5
    flag: bool = True
    text: Annotated[str, Field(min_length=1)] = "x"
    words: tuple[str, ...] = ()
    table: dict[str, str] = {}
    choice: Literal["a", "b"] = "a"
    long: Annotated[str, Field(min_length=3)] = "xyz"
    finite: Annotated[float, Field(allow_inf_nan=False)] = 0.5
    perhaps: Literal["", "a"] = ""
    keys: str = ""


def told(**value):
    with pytest.raises(ValidationError) as caught:
        Shape.model_validate(value)
    (error,) = caught.value.errors()
    return why(error)


@pytest.mark.parametrize(
    ("value", "what", "limit", "found"),
    [
        ({"whole": "7"}, "int", "", '"7"'),
        ({"whole": 1.5}, "int", "", "1.5"),
        ({"whole": 3}, "at_least", 256, "3"),
        ({"whole": 1001}, "at_most", 1000, "1001"),
        ({"part": 0}, "above", "0", "0"),
        ({"part": "x"}, "number", "", '"x"'),
        ({"flag": 1}, "bool", "", "1"),
        ({"text": 3}, "text", "", "3"),
        ({"text": ""}, "empty", "", '""'),
        ({"long": "ab"}, "long", 3, '"ab"'),
        ({"finite": float("inf")}, "finite", "", "Infinity"),
        ({"perhaps": "c"}, "one_of", "empty text or 'a'", '"c"'),
        ({"words": "a"}, "list", "", '"a"'),
        ({"table": True}, "table", "", "true"),
    ],
)
def test_every_kind_of_mistake_has_our_words(value, what, limit, found):
    """What the value must be, and what stands there instead, as TOML would write it."""
    assert told(**value) == teaching.config_wants(what, limit) + teaching.config_found(found)


def test_a_choice_names_its_words():
    """All of them."""
    sentence = told(choice="c")
    assert "'a'" in sentence
    assert "'b'" in sentence


def test_a_container_is_not_repeated():
    """It may be long, and may hold anything."""
    assert told(whole=["x"] * 1000) == teaching.config_wants("int", "")


def test_a_secret_is_never_repeated():
    """Whatever is wrong below `keys`."""
    with pytest.raises(ValidationError) as caught:
        Shape.model_validate({"keys": 12345})
    assert "12345" not in why(caught.value.errors()[0])


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (("port",), "port"),
        (("keys", 0, "name"), "keys.name"),
        (("model_overrides", "m", "ctx"), "model_overrides.m.ctx"),
        (("engine_env", "A_1"), "engine_env.A_1"),
        (("engine_env", "A=hush", "[key]"), "engine_env.A=…"),
        (("engine_env", "hush!"), "engine_env.…"),
        (("engine_env", "1=hush", "[key]"), "engine_env.…"),
        (("mcp", 0, "env", "A=hush", "[key]"), "mcp.env.A=…"),
    ],
)
def test_a_place_is_spelled_as_in_the_file(location, text):
    """Positions in a list are told by the line."""
    assert spelled(location) == text


WRONG = ["x", "", "a,b", -5, 0, 2**40, 1.5, -0.5, float("nan"), True, [], ["x", 3], [[]], {}, {"a": 1}, {"a": {}}, [{}]]


@pytest.mark.parametrize("key", [*Config.model_fields, *(f"model_overrides.{key}" for key in Override.model_fields)])
def test_no_key_can_be_wrong_in_words_that_are_not_ours(key):
    """Pydantic's own English reaches nobody, whatever stands behind a key."""
    for wrong in WRONG:
        name = key.removeprefix("model_overrides.")
        values = {key: wrong} if name == key else {"model_overrides": {"m": {name: wrong}}}
        try:
            Config.model_validate(values)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                assert detail["type"] in {"blazar", "extra_forbidden", *_WANTS}, (detail["type"], wrong)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\na = 2\n", "'a' stands there twice (at line 2, column 6)"),
        ("a.b = 1\na.b = 2", "'a.b' stands there twice (at line 2, the end of the file)"),
        ('"a b" = 1\n"a b" = 2 # c\n', "stands there twice (at line 2,"),
        ("a = 1\n[a]\nb = 1\n", "[a] stands there twice (at line 2,"),
        ("[a]\n[a]\n", "[a] stands there twice (at line 2,"),
        ("a = {b = 1, b = 2}\n", "'b' stands there twice (at line 1,"),
        ("a = {b = 1}\na.c = 2\n", "'a' is already something that cannot be added to (at line 2,"),
        ("a = 1\nb = [\n1,\n\n# c\n\n", "'[' is not closed (from line 2 to the end of the file)"),
        ("a = [\n{b = 1,", "(from line 1 to the end of the file)"),
        ("[a", "'[' is not closed (at line 1, the end of the file)"),
        ("a = ']'\nb = \"[\" # [\nc = ", "invalid value (at line 3, the end of the file)"),
        ('a = """x"""\nb = """\nc = 1\nd = 2\n', "three quotes is not closed (from line 2 to the end of the file)"),
        ("a = '''\nb = 1\n", "three quotes is not closed (from line 1 to the end of the file)"),
        ('a = "b', "unterminated string (at line 1, the end of the file)"),
        ("[model_overrides.q2.5:7b]\nctx = 512\n", 'is written in quotes: [model_overrides."q2.5:7b"] (at line 1, '),
        ("[ model_overrides . o/q.mlx ] # c\n", '[model_overrides."o/q".mlx] (at line 1, '),
        (f"\na = {'9' * 5000}\n", "a number has too many digits (at line 2)"),
        (f"\na = 0x{'f' * 9000}\n", "a number has too many digits (at line 2)"),
        (f"a = {'[' * 5000}", "nested too deeply"),
        (f"{'a.' * 100_000}b = 1\n", "nested too deeply"),
        (f"[{'a . ' * 100_000}b]\n", "nested too deeply"),
        (f"a{'.a' * 300} = 1\n", "nested too deeply"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line_and_key(text, said):
    """Python's own words for it name tuples, functions of Python, and no key."""
    with pytest.raises(BadConfig) as wrong:
        read_toml(text, "c.toml")
    assert said in str(wrong.value)
    assert str(wrong.value).startswith("c.toml cannot be read: ")


def test_a_long_value_is_cut():
    """A missing quote can make a whole file the value."""
    with pytest.raises(ValidationError) as wrong:
        Config.model_validate({"port": "x" * 10_000})
    (detail,) = wrong.value.errors(include_url=False)
    assert len(why(detail)) < 200


@pytest.mark.parametrize("key", ["keys", "remotes", "failover", "mcp"])
@pytest.mark.parametrize("value", [{"name": "a"}, {"a": {"name": "a"}}, "plm_hush"])
def test_tables_that_repeat_are_told_with_their_brackets(key, value):
    """`[keys]` in the place of `[[keys]]`; what stands there is not repeated."""
    (told,) = refusals({key: value})
    assert told.startswith(f"must be tables: write [[{key}]], with two brackets,")
    assert "hush" not in told


@pytest.mark.parametrize(
    ("values", "header"),
    [
        ({"sglang": [{}]}, "[sglang]"),
        ({"model_overrides": [{}]}, "[model_overrides]"),
        ({"model_overrides": {"a.b": [{}]}}, '[model_overrides."a.b"]'),
        ({"model_overrides": {"m": {"sglang": [{}]}}}, "[model_overrides.m.sglang]"),
        ({"engine_env": [{}]}, "[engine_env]"),
    ],
)
def test_a_single_table_is_told_with_its_bracket(values, header):
    """`[[sglang]]` in the place of `[sglang]`."""
    assert refusals(values)[0].startswith(f"must be one table: write {header}, with one bracket")


def refusals(values):
    with pytest.raises(ValidationError) as wrong:
        Config.model_validate(values)
    return [why(detail) for detail in wrong.value.errors(include_url=False)]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("[model_overrides.llama3.2]\nctx = 512", '[model_overrides."llama3.2"]'),
        ("[model_overrides.llama3.2.sglang]\ntp_size = 2", '[model_overrides."llama3.2"]'),
        ("[model_overrides.q2.5-0.5b]\nctxx = 512", '[model_overrides."q2.5-0.5b"]'),
        ("[model_overrides.q2.5-0.5b]\n[model_overrides.q2.5-0.6b]", '[model_overrides."q2.5-0.5b"]'),
        ("[model_overrides]\nllama3.2.ctx = 512", '[model_overrides."llama3.2"]'),
        ("[model_overrides.m.sglng]\nslots = 2", '[model_overrides."m.sglng"]'),
        ("[model_overrides.m.sglng]\ntp_size = 2", ""),
        ("[model_overrides.m]\nctxx = 512", ""),
        ("[warm_peg.a.b]\nc = 1", ""),
    ],
)
def test_a_name_without_its_quotes_is_recognised(text, header):
    """Its dots make tables of it; a misspelled table of an override is still one."""
    with pytest.raises(ValidationError) as wrong:
        Config.model_validate(tomllib.loads(text))
    (detail,) = wrong.value.errors(include_url=False)
    assert unquoted(detail["loc"], detail["input"]) == header
