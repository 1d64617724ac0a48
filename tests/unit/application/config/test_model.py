"""The declaration itself: groups, derived overrides, effective settings of a model."""

import pytest
from pydantic import ValidationError

from blazar.application.config.knob import knob_of, table_in
from blazar.application.config.layers import load_config
from blazar.application.config.model import DAEMON_KEYS, GROUPS, SECTIONS, TABLES, Config, Override, section_of
from blazar.application.config.tuning import TUNINGS


def settings(text: str, model: str = "m") -> dict:
    return load_config(text, "config.toml").config.settings_for(model)


def test_every_key_stands_in_exactly_one_group():
    """Config is the union of its sections: nothing twice, nothing of its own but the derived overrides."""
    names = [name for section in SECTIONS for name in section.model_fields]
    assert len(names) == len(set(names))
    assert {*names, "model_overrides"} == set(Config.model_fields)
    assert set(vars(Config)["__annotations__"]) == {"model_overrides"}


def test_every_key_has_a_sentence_and_an_allowed_default():
    """Each key is described, and its default passes its own bounds."""
    for section in (*SECTIONS, Override):
        for name, field in section.model_fields.items():
            assert field.description, name
    assert Config.model_validate({}) == Config()
    spelled_out = {name: getattr(Config(), name) for name in Config.model_fields}
    assert Config.model_validate(spelled_out) == Config()


def test_overrides_are_derived():
    """A per-model key is an optional field of an override with the bound of its declaration."""
    marked = {n for s in SECTIONS for n, f in s.model_fields.items() if knob_of(f).per_model}
    assert marked
    assert marked <= set(Override.model_fields)
    assert all(getattr(Override(), name) is None for name in marked)
    with pytest.raises(ValidationError):
        Override.model_validate({"slots": -1})
    with pytest.raises(ValidationError):
        Override.model_validate({"cache_type": "q9"})


def test_group_names_are_no_keys_of_other_sections():
    """A table name that is also a flat key would make the file ambiguous, unless one is a text and the other a table."""
    assert set(GROUPS) & set(Config.model_fields) == {"reasoning"}
    assert settings('reasoning = "on"')["reasoning"] == "on"
    assert settings('[reasoning]\nreasoning = "off"\nreasoning_budget = 5')["reasoning"] == "off"
    assert section_of("port") is GROUPS["gateway"]
    assert section_of("model_overrides") is None


def test_an_override_replaces_for_its_model_only():
    """Set keys replace, unset ones inherit, other models see nothing."""
    text = "slots = 2\nwarmup = true\n[model_overrides.m]\nslots = 1\nwarmup = false\nctx = 512\npin = true\n"
    mine, other = settings(text), settings(text, "other")
    assert (mine["slots"], mine["warmup"], mine["ctx"], mine["pin"]) == (1, False, 512, True)
    assert (other["slots"], other["warmup"], other["ctx"], other["pin"]) == (2, True, None, False)
    assert (mine["default_ctx"], other["default_ctx"]) == (16384, 16384)


def test_zero_and_false_are_said():
    """An override of 0 or false is a value, not an absence."""
    mine = settings(
        "reasoning_budget = 9\nkv_unified = true\n[model_overrides.m]\nreasoning_budget = 0\nkv_unified = false"
    )
    assert (mine["reasoning_budget"], mine["kv_unified"]) == (0, False)


def test_the_daemons_own_keys_never_reach_a_child():
    """A flag table finds settings by name, and engines have a cors_origins as well (case J21)."""
    assert not DAEMON_KEYS & set(settings('cors_origins = ["*"]'))
    assert set(Config.model_fields) - DAEMON_KEYS - TUNINGS.keys() <= set(settings(""))
    assert TABLES < DAEMON_KEYS


def test_order_and_signs_of_extra_arguments_survive():
    """Words stay words, in order, negative numbers and repetitions included (cases I4, I5)."""
    words = ["--cache-ram", "-1", "--reasoning-budget", "-1", "--temp", "-0.5", "--lora", "a", "--lora", "b"]
    assert settings(f"[model_overrides.m]\nextra_args = {words}")["extra_args"] == tuple(words)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("", "", ""),
        ('cache_type = "q8_0"', "q8_0", "q8_0"),
        ('cache_type = "f16"\ncache_type_k = "q8_0"', "q8_0", "f16"),
        ('cache_type = "f16"\ncache_type_v = "q4_0"', "f16", "q4_0"),
        ('cache_type_k = "q8_0"', "q8_0", "q8_0"),
        ('cache_type_v = "q4_0"', "q4_0", "q4_0"),
        ('cache_type_k = "q8_0"\ncache_type_v = "q4_0"', "q8_0", "q4_0"),
        ('cache_type = "f16"\n[model_overrides.m]\ncache_type_v = "q4_0"', "f16", "q4_0"),
    ],
)
def test_cache_types_resolve(text, key, value):
    """The set side wins over cache_type; a lone side is mirrored where no other grade exists."""
    resolved = settings(text)
    assert (resolved["cache_type_k"], resolved["cache_type_v"]) == (key, value)


def test_a_configuration_cannot_be_changed():
    """It is shared by everything that runs; a change is a new one."""
    with pytest.raises(ValidationError):
        Config().port = 1


def test_a_model_without_workers_of_its_own_has_everybody_s():
    """Its list replaces theirs; an empty one inherits it."""
    both = 'rpc_servers = "a:1"\n[model_overrides.m]\nrpc_servers = '
    assert [settings(both + own)["rpc_servers"] for own in ('"b:2,c:3"', '""')] == ["b:2,c:3", "a:1"]


def test_shares_that_are_empty_are_everybody_s_too():
    """As the setup document says of both lists; other texts replace, empty or not."""
    both = "tensor_split = '3,1'\ncache_type = 'q8_0'\n[model_overrides.m]\ntensor_split = ''\ncache_type = ''"
    assert (settings(both)["tensor_split"], settings(both)["cache_type"]) == ("3,1", "")


GROUPED = {
    # The setup document: what a group is for, as beginnings of names or as names.
    "gateway": (
        *("host", "port", "tls_", "cors_origins", "allowed_hosts"),
        *("child_header_timeout_secs", "model_load_timeout_secs", "server_timeout_secs"),
    ),
    "routing": ("engine_routing", "router", "router_max_models", "failover"),
    "resources": ("default_ctx", "max_loaded_models", "idle_", "spawn_mem_guard", "cache_ram_mb", "numa"),
    "speculative": ("spec",),
    "diffusion": ("sdcpp_",),
    "whisper": ("whisper_",),
    "vision": ("image_", "mtmd_", "mmproj_"),
    "yarn": ("yarn_",),
    "reasoning": ("reasoning",),
    "observability": ("otlp_",),
}


def test_groups_are_those_of_the_document():
    """Each has the keys that it is for, and no key of another section begins like one of them."""
    assert set(GROUPS) == set(GROUPED)
    for key in Config.model_fields:
        section = section_of(key)
        named = [
            group
            for group, names in GROUPED.items()
            if key in names or key.startswith(tuple(n for n in names if n[-1] == "_"))
        ]
        named += [
            group for group in ("speculative", "reasoning") if key.startswith(GROUPED[group]) and group not in named
        ]
        assert named == ([section.group] if section is not None and section.group else []), key


def test_a_key_of_the_gateway_is_no_setting():
    """What a listener, a governor or a downloader reads, by its kind of key."""
    daemons = {
        "port",
        "tls_key",
        "adaptive_slots",
        "spec_auto_manage",
        "ubatch_auto",
        "keep_tags",
        "sentinel",
        "audit_log",
        "mcp",
    }
    assert daemons <= DAEMON_KEYS
    assert not {"spec", "sessions", "sdcpp_fa", "raw_lane_max_tokens", "child_transport", "numa", "agent"} & DAEMON_KEYS


def test_tables_are_found_by_their_type():
    """A new one needs no list."""
    tables = {name for name, field in Config.model_fields.items() if table_in(field.annotation)}
    assert tables == TABLES | TUNINGS.keys()
    assert {
        "keys",
        "remotes",
        "failover",
        "mcp",
        "engine_routing",
        "semantic_cache",
        "warm_peg",
        "model_overrides",
    } == TABLES


def test_the_engines_that_overrides_name() -> None:
    """Each with the models that name it; an override without one names none."""
    overrides = {"a": {"engine": "b1"}, "b": {"engine": "mlx"}, "c": {"engine": "b1"}, "d": {"ctx": 512}}
    assert Config.model_validate({"model_overrides": overrides}).engines_named == {"b1": ["a", "c"], "mlx": ["b"]}


def test_the_workers_that_the_configuration_names() -> None:
    """Each once, with every key that names it; an override that says nothing names none."""
    said = {
        "rpc_servers": "a:1,b:2,a:1",
        "sdcpp_rpc_servers": ["b:2"],
        "model_overrides": {"m": {"rpc_servers": "c:3"}, "n": {"ctx": 512}, "o": {"rpc_servers": ""}},
    }
    assert Config.model_validate(said).workers_named == {
        "a:1": ["rpc_servers"],
        "b:2": ["rpc_servers", "sdcpp_rpc_servers"],
        "c:3": ["model_overrides.m.rpc_servers"],
    }
    assert Config().workers_named == {}
