"""The declaration as text: what is printed loads back."""

import json
import re
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.application.config.knob import Keys
from blazar.application.config.layers import Origin, load_config
from blazar.application.config.model import Config
from blazar.application.config.render import (
    REDACTED,
    defaults_toml,
    find_value,
    listing,
    ordered_keys,
    redacted,
    toml_value,
)
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
    loaded = load_config(TEXT, "c.toml")
    rows = {row.key: row for row in listing(loaded)}
    assert tuple(dict.fromkeys(key.partition(".")[0] for key in rows)) == ordered_keys()
    assert set(Config.model_fields) - rows.keys() == {
        name for name in Config.model_fields if isinstance(getattr(loaded.config, name), Keys)
    } | {"model_overrides"}
    assert all(find_value(loaded.config, key) == row.value for key, row in rows.items())
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
        ("keys", [{"name": "ed", "key": REDACTED, "models": [], "weight": 1.0}]),
        ("engine_env.HF_TOKEN", REDACTED),
        ("model_overrides.a.b:c.ctx", 512),
        ("model_overrides.a.b:c.slots", 0),
        ('model_overrides."a.b:c".slots', 0),
        ("routing.engine_routing.mode", "auto"),
        ("semantic_cache.enabled", False),
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


TABLES = """
mcp_servers_json = '{"a": "hush"}'
[[remotes]]
name = "box"
url = "https://h"
key = "hush"
[[remotes]]
name = "open"
url = "https://h"
[[mcp]]
name = "fetch"
command = ["x"]
[mcp.env]
TOKEN = "hush"
[sglang]
tp_size = 2
[mistralrs]
mistralrs_paged_attn = false
"""


def test_no_listing_shows_a_secret_of_a_table():
    """Remotes' keys, the environment of MCP servers, and servers written as JSON; what is not there has no mark."""
    loaded = load_config(TABLES, "c.toml")
    plain = redacted(loaded.config)
    assert "hush" not in json.dumps(plain)
    assert not any("hush" in row.toml for row in listing(loaded))
    assert [remote["key"] for remote in plain["remotes"]] == [REDACTED, ""]
    assert plain["mcp"][0]["env"] == {"TOKEN": REDACTED}
    assert plain["mcp_servers_json"] == REDACTED


def test_a_single_key_of_a_table():
    """`table.key`, also where the key is one of the root that was written there."""
    config = load_config(TABLES, "c.toml").config
    assert find_value(config, "sglang.tp_size") == 2
    assert find_value(config, "semantic_cache.ttl_secs") == 600
    assert find_value(config, "mistralrs.mistralrs_paged_attn") is find_value(config, "mistralrs_paged_attn") is False
    with pytest.raises(Malformed):
        find_value(config, "sglang.nonsense")


def test_the_defaults_end_with_the_tables():
    """What stands behind a table's header belongs to it; lists of tables are left out."""
    tables = re.findall(r"^\[+([a-z_]+)\]", defaults_toml(), re.MULTILINE)
    assert set(tables) == {"engine_routing", "semantic_cache", "warm_peg", "sglang", "mistralrs", "mlx"}
    flat, _, rest = defaults_toml().partition("\n[")
    assert "port = 11435" in flat
    assert "cache_report = true" in rest


PROPERTIES = Config.model_json_schema()["properties"]
FREE = ("video_ffmpeg_dir", "reasoning_budget_message")
LISTS = {
    "preload": ["smol", "qwen:0.6b", "peer:owner/model:q4"],
    "cors_origins": ["*", "https://app.example:8443", "app://x"],
    "allowed_hosts": ["box.lan", "10.0.0.2", "fd00::1"],
}


def some(key: str) -> st.SearchStrategy | None:
    """Values that the declaration allows for a key, where its schema says all about them."""
    schema = PROPERTIES[key]
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    for option in options:
        low, high = option.get("minimum", -1000), option.get("maximum", 1000)
        match option:
            case {"enum": words}:
                return st.sampled_from(words)
            case {"type": "boolean"}:
                return st.booleans()
            case {"type": "integer"}:
                return st.integers(low, high)
            case {"type": "number"}:
                return st.floats(max(low, option.get("exclusiveMinimum", low) + 0.001), high)
    if key in FREE:
        return st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    return st.lists(st.sampled_from(LISTS[key])).map(tuple) if key in LISTS else None


VALUES = {key: strategy for key in Config.model_fields if (strategy := some(key)) is not None}


@given(st.fixed_dictionaries({}, optional=VALUES))
@settings(max_examples=100, deadline=None)
def test_whatever_is_written_down_loads_back(values):
    """Every key of a type that the schema tells, in any combination; the root's rules aside, no value is changed."""
    text = "\n".join(f"{key} = {toml_value(value)}" for key, value in values.items())
    raw = tomllib.loads(text)
    config = Config.model_validate(raw)
    dumped = "\n".join(
        f"{key} = {toml_value(getattr(config, key))}" for key in VALUES if getattr(config, key) is not None
    )
    assert Config.model_validate(tomllib.loads(dumped)) == config
    assert {key: getattr(config, key) for key in values if key != "mmproj_policy"} == {
        key: value for key, value in values.items() if key != "mmproj_policy"
    }


def test_most_keys_are_in_that_property():
    """It would hold of nothing as well."""
    assert len(VALUES) > 120


def test_tables_and_overrides_are_listed_key_by_key():
    """A line of its own for each, with who set it; a table in one line would be wider than any screen."""
    text = "[sglang]\n\ntp_size = 2\n[semantic_cache]\nenabled = true\n[model_overrides.'a.b']\nctx = 512\nsglang.tp_size = 4"
    rows = {row.key: row for row in listing(load_config(text, "c.toml"))}
    assert rows["sglang.tp_size"][2:] == ("2", Origin("file", "line 3"))
    assert rows["sglang.mixed_chunk"][2:] == ("false", Origin("default"))
    assert rows["mlx.kv_bits"][2:] == ("", Origin("default"))
    assert rows["semantic_cache.enabled"][2:] == ("true", Origin("file"))
    assert rows["semantic_cache.ttl_secs"].origin == Origin("default")
    assert rows["model_overrides.a.b.ctx"][2:] == ("512", Origin("file", "line 7"))
    assert rows["model_overrides.a.b.sglang"].toml == "{ tp_size = 4 }"
    nothing = {row.key: row for row in listing(load_config("", "c.toml"))}
    assert nothing["model_overrides"].toml == "{}"
