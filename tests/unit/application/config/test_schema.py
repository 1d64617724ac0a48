"""The declaration as JSON Schema."""

import tomllib

import pytest
from jsonschema import Draft202012Validator

from blazar.application.config.layers import load_config
from blazar.application.config.model import GROUPS, Config, Override
from blazar.application.config.render import defaults_toml
from blazar.application.config.schema import config_schema, declared, key_names, resolved

BROAD = """
port = 1
preload = ["a"]
model_load_timeout_secs = 3
kv_unified = true
chat_template_kwargs = { a = { b = [1] } }
[gateway]
host = "::1"
[reasoning]
reasoning = "on"
reasoning_budget = 5
[engine_env]
A_B = "x"
[semantic_cache]
enabled = true
[sglang]
mem_fraction_static = 0.5
[mistralrs]
mistralrs_pa_memory_fraction = 0.5
[[keys]]
name = "a"
key = "b"
[[remotes]]
name = "r"
url = "https://r.example"
[model_overrides."a.b:c"]
ctx = 512
extra_args = ["--temp", "0"]
[model_overrides."a.b:c".sglang]
mem_fraction_static = 0.25
"""


@pytest.fixture(scope="module")
def judge():
    """A validator of the whole schema, which is one itself."""
    Draft202012Validator.check_schema(config_schema())
    return Draft202012Validator(config_schema())


@pytest.mark.parametrize("text", ["", defaults_toml(), BROAD], ids=["nothing", "defaults", "broad"])
def test_what_loads_is_valid(judge, text):
    """The defaults file, and one of everything."""
    load_config(text, "c.toml")
    judge.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "prot = 1",
        "port = 70000",
        'port = "1"',
        'cache_type = "q9"',
        "[gateway]\nprot = 1",
        "[gateway]\nslots = 1",
        "[nope]",
        "[engine_env]\n1x = 'a'",
        "[engine_env]\nA = 1",
        "[semantic_cache]\nenable = true",
        "[[keys]]\nname = 'a'",
        "[[keys]]\nname = 'a'\nkey = 'b'\nkeey = 1",
        "[model_overrides.m]\nctxx = 512",
        "[model_overrides.m.sglang]\nnope = 1",
        "[reasoning]\nreasoning = 'maybe'",
        "preload = 'a'",
    ],
)
def test_what_does_not_load_is_not(judge, text):
    """A typo, a bound, a type: an editor underlines them."""
    assert not judge.is_valid(tomllib.loads(text))


def test_odd_a_group_may_be_called_like_one_of_its_keys(judge):
    """`reasoning` is a text or a table, each with its own bounds, and nothing else."""
    for text in ("reasoning = 'on'", "[reasoning]\nreasoning = 'on'\nreasoning_budget = 1"):
        assert judge.is_valid(tomllib.loads(text))
    for text in ("reasoning = 1", "reasoning = 'maybe'", "[reasoning]\nreasoning_budget = 'x'"):
        assert not judge.is_valid(tomllib.loads(text))


def test_every_key_is_described():
    """In its place, with its sentence, its default where it has one."""
    schema = config_schema()
    for name, field in Config.model_fields.items():
        node = resolved(schema["properties"][name])
        told = [node, *node.get("anyOf", ())]
        assert any(option.get("description") for option in told), name
        if isinstance(field.default, str | int | float):
            assert any(option.get("default", ...) == field.default for option in told), name
    for table in schema["$defs"].values():
        assert all(resolved(node).get("description") for node in table.get("properties", {}).values()), table
    override = resolved(schema["properties"]["model_overrides"]["additionalProperties"])
    assert set(override["properties"]) == set(Override.model_fields)
    for group, section in GROUPS.items():
        node = schema["properties"][group]
        table = next(option for option in node.get("anyOf", [node]) if option.get("type") == "object")
        assert set(table["properties"]) == set(section.model_fields)


def test_no_null_and_no_names_said_twice():
    """TOML has no null; a title that repeats the key is noise."""
    text = repr(config_schema())
    assert "'null'" not in text
    assert "'default': None" not in text
    assert "'title': 'Port'" not in text


def test_making_it_twice_changes_nothing():
    """What is remembered is never written into."""
    before = repr(declared())
    assert config_schema() == config_schema()
    assert repr(declared()) == before


def test_key_names_lead_into_tables():
    """What completion offers."""
    names = key_names()
    assert {"port", "semantic_cache.enabled", "sglang.mem_fraction_static", "keys", "model_overrides"} <= set(names)
    assert "sglang" not in names
    assert len(names) == len(set(names)) > len(Config.model_fields)
