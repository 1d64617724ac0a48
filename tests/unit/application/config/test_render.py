"""The declaration as text: what is printed loads back."""

import tomllib

import pytest

from blazar.application.config.layers import Origin, load_config
from blazar.application.config.model import Config
from blazar.application.config.render import REDACTED, defaults_toml, find_value, listing, ordered_keys, toml_value
from blazar.domain.errors import Malformed

TEXT = """
port = 9
kv_unified = false
[engine_env]
HF_TOKEN = "hush"
[[keys]]
name = "ed"
key = "hush"
[model_overrides."a.b:c"]
ctx = 512
slots = 0
"""


def test_the_defaults_file_loads_back():
    """`config defaults` prints a file that means the defaults, and a table can be added to it."""
    assert load_config(defaults_toml(), "d.toml").config == Config()
    more = defaults_toml() + '[[keys]]\nname = "a"\nkey = "b"\n[engine_env]\nA = "b"\n'
    assert load_config(more, "d.toml").config.keys[0].name == "a"


def test_optional_keys_are_left_out_of_the_defaults():
    """A key without a default is not dumped, as the setup document shows."""
    keys = set(tomllib.loads(defaults_toml()))
    assert "model_load_timeout_secs" not in keys
    assert "log_level" not in keys
    assert {"host", "port", "default_ctx", "reasoning_budget", "preload"} <= keys


@pytest.mark.parametrize(
    "value",
    [0, -1, 1.5, 120.0, True, False, "", 'a"b\\c\n\t\x7f\u20ac', (), ("a", "b'"), {}, {"a b": "x", "c": (1, 2)}],
)
def test_a_value_survives_its_toml(value):
    """Numbers, texts with odd characters, lists and tables come back as they were."""
    back = tomllib.loads(f"v = {toml_value(value)}")["v"]
    assert back == (list(value) if isinstance(value, tuple) else toml_lists(value))


def toml_lists(value):
    return {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()} if isinstance(value, dict) else value


def test_a_listing_names_every_key_and_its_origin():
    """`config list` shows all keys in the order of the documentation, and who set them."""
    rows = {row.key: row for row in listing(load_config(TEXT, "c.toml"))}
    assert tuple(rows) == ordered_keys()
    assert set(rows) == set(Config.model_fields)
    assert rows["port"].origin == Origin("file", "line 2")
    assert rows["port"].toml == "9"
    assert rows["host"].origin == Origin("default")
    assert rows["log_level"].toml == ""
    assert not any("hush" in str(row) for row in rows.values())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("port", 9),
        ("gateway.port", 9),
        ("kv_unified", False),
        ("log_level", None),
        ("keys", [{"name": "ed", "key": REDACTED, "models": []}]),
        ("engine_env.HF_TOKEN", REDACTED),
        ("model_overrides.a.b:c.ctx", 512),
        ("model_overrides.a.b:c.slots", 0),
        ("model_overrides.a.b:c", {"ctx": 512, "slots": 0}),
    ],
)
def test_a_single_value(key, value):
    """`config get` reads flat, grouped and dotted keys; secrets stay hidden."""
    assert find_value(load_config(TEXT, "c.toml").config, key) == value


@pytest.mark.parametrize(
    "key", ["prt", "gateway.slots", "resources", "model_overrides.x.ctx", "engine_env.NO", "port.x", ""]
)
def test_a_key_that_is_none(key):
    """An unknown key is refused by name."""
    with pytest.raises(Malformed, match=f"there is no configuration key '{key}'"):
        find_value(load_config(TEXT, "c.toml").config, key)


def test_near_keys_are_named():
    """A typo gets a hint."""
    with pytest.raises(Malformed, match="did you mean port"):
        find_value(Config(), "prt")
