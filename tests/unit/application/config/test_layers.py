"""Reading a configuration: precedence, origins, and a sentence with a line for everything that is wrong."""

from typing import Any

import pytest

from blazar.application.config.layers import Loaded, Origin, load_config
from blazar.application.config.render import redacted
from blazar.domain import teaching
from blazar.domain.errors import BadConfig


def load(text: str = "", env: dict[str, str] | None = None, **overrides: Any) -> Loaded:
    return load_config(text, "config.toml", env, overrides)


def problems(text: str = "", env: dict[str, str] | None = None, **overrides: Any) -> tuple[str, ...]:
    with pytest.raises(BadConfig) as caught:
        load(text, env, **overrides)
    return caught.value.problems


def test_nothing_said_means_defaults():
    """Without file, environment and options every key is at its default, and its origin says so."""
    loaded = load()
    assert (loaded.config.host, loaded.config.port, loaded.config.default_ctx) == ("127.0.0.1", 11435, 16384)
    assert set(loaded.origins.values()) == {Origin("default")}
    assert set(loaded.origins) == set(type(loaded.config).model_fields)


def test_the_command_line_wins_over_environment_over_file():
    """Each layer hides the one below, and the origin names the winner."""
    text = "default_ctx = 1024\nport = 1\nidle_timeout_secs = 5\n"
    loaded = load(text, {"BLAZAR_DEFAULT_CTX": "2048"}, port=2)
    assert (loaded.config.default_ctx, loaded.config.port, loaded.config.idle_timeout_secs) == (2048, 2, 5)
    assert loaded.origins["default_ctx"] == Origin("environment", "BLAZAR_DEFAULT_CTX")
    assert loaded.origins["port"] == Origin("command line")
    assert loaded.origins["idle_timeout_secs"] == Origin("file", "line 3")


def test_an_option_that_was_not_given_hides_nothing():
    """None on the command line and an empty variable mean "not given"."""
    loaded = load("port = 7\ndefault_ctx = 512", {"BLAZAR_DEFAULT_CTX": " "}, port=None)
    assert (loaded.config.port, loaded.config.default_ctx) == (7, 512)


def test_the_bind_address_is_not_the_clients_variable():
    """BLAZAR_HOST says where the CLI finds a daemon; it never moves the listener."""
    assert load("", {"BLAZAR_HOST": "http://10.0.0.9:1"}).config.host == "127.0.0.1"


def test_preload_comes_from_its_variable():
    """BLAZAR_PRELOAD is a comma-separated list; model names may hold colons."""
    assert load("", {"BLAZAR_PRELOAD": "qwen:0.6b, smol ,"}).config.preload == ("qwen:0.6b", "smol")


@pytest.mark.parametrize(
    ("env", "level"),
    [
        ({"RUST_LOG": "debug"}, "debug"),
        ({"BLAZAR_LOG": "warn,blazar::access=off"}, "warn,blazar::access=off"),
        ({"RUST_LOG": "debug", "BLAZAR_LOG": "error"}, "error"),
        ({"RUST_LOG": "other_crate[span{x=1}]=trace"}, "info"),
        ({"RUST_LOG": "warn,other[x]=y"}, "warn"),
    ],
)
def test_the_log_level_comes_from_two_variables(env, level):
    """Ours wins over RUST_LOG, and what RUST_LOG says to other programs in words we do not know is not our business."""
    assert load('log_level = "info"', env).config.log_level == level


def test_a_bad_level_of_our_own_is_refused():
    """BLAZAR_LOG is meant for us alone, so a typo in it is told."""
    (sentence,) = problems(env={"BLAZAR_LOG": "verbos"})
    assert sentence.startswith("environment variable BLAZAR_LOG: 'log_level' must be a level (off, error,")


def test_keys_in_the_environment_join_those_of_the_file():
    """BLAZAR_KEYS adds keys; a name or secret that the file has is left as the file says."""
    text = '[[keys]]\nname = "ed"\nkey = "new"\n'
    keys = load(text, {"BLAZAR_KEYS": "ed:old, ci:s3cret bare\n new"}).config.keys
    assert [(key.name, key.key) for key in keys] == [("ed", "new"), ("ci", "s3cret"), ("env-3", "bare")]


def test_no_new_key_in_the_environment_leaves_the_origin_alone():
    """A variable that adds nothing is not named as the origin."""
    assert load('[[keys]]\nname = "a"\nkey = "b"', {"BLAZAR_KEYS": "a:c"}).origins["keys"].layer == "file"


def test_groups_are_the_same_keys():
    """A key below its table is the flat key."""
    flat = load("port = 9\ndefault_ctx = 512\nreasoning_budget = 0")
    grouped = load("[gateway]\nport = 9\n[resources]\ndefault_ctx = 512\n[reasoning]\nreasoning_budget = 0")
    assert flat.config == grouped.config
    assert grouped.origins["default_ctx"] == Origin("file", "line 4")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("listen = 8081", "config.toml line 1: unknown key 'listen'; did you mean port or host?"),
        ("\n\ndefalt_ctx = 1", "config.toml line 3: unknown key 'defalt_ctx'; did you mean default_ctx?"),
        ("[gateway]\nprt = 1", "config.toml line 2: unknown key 'gateway.prt'; did you mean port?"),
        (
            "port = 1\n[gateway]\n\nport = 2",
            "config.toml line 4: 'port' is set at the root and under [gateway]: keep one of them",
        ),
        (
            "[gateway]\ndefault_ctx = 512",
            "config.toml line 2: 'default_ctx' does not belong under [gateway]: write it under [resources] or at the root",
        ),
        ("[gateway]\nslots = 2", "config.toml line 2: 'slots' does not belong under [gateway]: write it at the root"),
        (
            "[gateway.model_overrides.a]\nctx = 512",
            "config.toml line 1: 'model_overrides' does not belong under [gateway]: write it at the root",
        ),
        (
            "[resorces]\nport = 1",
            "config.toml line 1: unknown key 'resorces'; did you mean resources?",
        ),
        (
            "[plugh]\nport = 1",
            "config.toml line 1: there is no table [plugh] (tables: chat_template_kwargs, diffusion, engine_env, ",
        ),
        ("gateway = 3", "config.toml line 1: 'gateway' must be a table"),
        ("[[gateway]]\nport = 1", "config.toml line 1: 'gateway' must be one table: write [gateway], with one bracket"),
        ('port = "11435"', "config.toml line 1: 'port' must be a whole number (found \"11435\")"),
        ("port = 70000", "config.toml line 1: 'port' must be 65535 or less (found 70000)"),
        ("port = true", "config.toml line 1: 'port' must be a whole number (found true)"),
        ("default_ctx = 12", "config.toml line 1: 'default_ctx' must be 256 or more (found 12)"),
        ("model_load_timeout_secs = 0", "config.toml line 1: 'model_load_timeout_secs' must be more than 0 (found 0)"),
        ("spawn_mem_guard = 1", "config.toml line 1: 'spawn_mem_guard' must be true or false (found 1)"),
        ('host = ""', "config.toml line 1: 'host' must not be empty (found \"\")"),
        ('preload = "a"', "config.toml line 1: 'preload' must be a list (found \"a\")"),
        ("preload = [\n'a',\n3\n]", "config.toml line 1: 'preload' must be text in quotes (found 3)"),
        ("engine_env = 3", "config.toml line 1: 'engine_env' must be a table"),
        ("[engine_env]\nA = 1", "config.toml line 2: 'engine_env.A' must be text in quotes"),
        (
            "[engine_env]\n\n'1A' = 'x'",
            "config.toml line 3: 'engine_env.…' must be letters, digits and _, not beginning with a digit",
        ),
        (
            'log_level = "loud"',
            "config.toml line 1: 'log_level' must be a level (off, error, warn, info, debug, trace)",
        ),
        ("[[keys]]\nname = 'a'\nkey = 'b'\nscope = 3", "config.toml line 4: unknown key 'keys.scope'"),
        ("[[keys]]\nname = 'a'", "config.toml line 1: 'keys.key' is required"),
        (
            "[[keys]]\nname = 'a'\nkey = 'b'\n[[keys]]\nname = 'a'\nkey = 'c'",
            "config.toml line 5: 'keys.name' must be unique: a appears twice",
        ),
        (
            "[model_overrides.m]\nctx = 3",
            "config.toml line 2: 'model_overrides.m.ctx' must be 256 or more (found 3)",
        ),
        (
            "[model_overrides.m]\nslot = 3",
            "config.toml line 2: unknown key 'model_overrides.m.slot'; did you mean slots?",
        ),
        ("[model_overrides.'m#1']", "config.toml line 1: 'model_overrides.m#1' must be a model name"),
        (
            "[model_overrides.m]\nchat_template = 'a'\nchat_template_file = 'b'",
            "config.toml line 3: 'model_overrides.m.chat_template_file' excludes chat_template: set one of the two",
        ),
        ("port = ", "config.toml cannot be read: it is not valid TOML: invalid value (at line 1, the end of the file)"),
        (
            "port = 1\nport = 2",
            "config.toml cannot be read: it is not valid TOML: 'port' stands there twice (at ",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line(text, sentence):
    """Unknown, misplaced, doubled and wrong keys each have their sentence (case I1)."""
    (found,) = problems(text)
    assert found.startswith(sentence)


def test_every_mistake_is_told_at_once():
    """All problems come together, in the order of the file; the message counts the rest."""
    with pytest.raises(BadConfig) as caught:
        load('prt = 1\nport = "x"\n[gateway]\nslots = 1\n')
    assert [sentence.split(":")[0] for sentence in caught.value.problems] == [
        "config.toml line 1",
        "config.toml line 2",
        "config.toml line 4",
    ]
    assert str(caught.value).startswith("config.toml line 1: ")
    assert "(and 2 more" in str(caught.value)


def test_a_hidden_mistake_is_still_one():
    """A bad value in the file is told although a variable would replace it."""
    assert "'default_ctx' must be 256" in problems("default_ctx = 1", {"BLAZAR_DEFAULT_CTX": "512"})[0]


@pytest.mark.parametrize(
    ("env", "overrides", "sentence"),
    [
        ({"BLAZAR_DEFAULT_CTX": "many"}, {}, "environment variable BLAZAR_DEFAULT_CTX: 'default_ctx' must be a whole"),
        ({}, {"port": 70000}, "command line: 'port' must be 65535 or less (found 70000)"),
        ({}, {"prot": 1}, "there is no configuration key 'prot'; did you mean prio or port"),
    ],
)
def test_a_mistake_outside_the_file_names_its_source(env, overrides, sentence):
    """The variable or the command line is named instead of a line."""
    assert problems("", env, **overrides)[0].startswith(sentence)


def test_no_sentence_repeats_a_secret():
    """A mistake in [[keys]] never prints what the key was."""
    told = problems("[[keys]]\nname = 7\nkey = 424242\n[[keys]]\nname='x'\nkey=''")
    assert len(told) == 3
    assert not any("424242" in sentence for sentence in told)
    repeated = problems("[[keys]]\nname='a'\nkey='hush'\n[[keys]]\nname='b'\nkey='hush'")
    assert "hush" not in repeated[0]


def test_a_secret_is_not_printed_by_accident():
    """Neither repr nor the redacted dump shows a secret."""
    config = load('engine_env = { TOKEN = "hush" }\n[[keys]]\nname = "a"\nkey = "hush"').config
    assert "hush" not in repr(config.keys)
    assert "hush" not in str(redacted(config))


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff",
        "\x00",
        "[",
        "a.b.c = 1\n[a.b]",
        "[[gateway]]\nport=1",
        "port = 99999999999999999999",
        f"port = {'9' * 5000}",
        f"host = {'[' * 9000}",
    ],
)
def test_strange_texts_give_sentences(text):
    """Hostile or broken text is refused with a sentence, never with a traceback."""
    assert all(sentence.startswith("config.toml ") for sentence in problems(text))


def test_origins_speak_the_names_of_settings():
    """For every model; a default has none, and the daemon's own keys are nobody's settings."""
    loaded = load(
        """port = 1
slots = 2
cache_type = "q8_0"
rpc_servers = "a:1"
tensor_split = "3,1"
[sglang]
tp_size = 2
mixed_chunk = true
[model_overrides.m]
slots = 1
ctx = 512
tensor_split = ""
[model_overrides.m.sglang]
tp_size = 4
""",
        {"BLAZAR_DEFAULT_CTX": "4096"},
    )
    mine, other = loaded.origins_for("m"), loaded.origins_for("other")
    assert mine == {
        "slots": "[model_overrides.m]",
        "ctx": "[model_overrides.m]",
        "sglang.tp_size": "[model_overrides.m]",
        "sglang.mixed_chunk": "config.toml, line 8",
        "cache_type": "config.toml, line 3",
        "cache_type_k": "as cache_type: config.toml, line 3",
        "cache_type_v": "as cache_type: config.toml, line 3",
        "rpc_servers": "config.toml, line 4",
        "tensor_split": "config.toml, line 5",
        "default_ctx": "BLAZAR_DEFAULT_CTX",
    }
    assert other["slots"] == "config.toml, line 2"
    assert other["sglang.tp_size"] == "config.toml, line 7"
    assert mine.keys() <= loaded.config.settings_for("m").keys()
    assert other.keys() <= loaded.config.settings_for("other").keys()


def test_the_side_of_a_cache_that_is_mirrored_has_the_other_s_origin():
    """Who reads why the values have a format finds the line that says so, and which key it is that stands there."""
    origins = load("\ncache_type_k = 'q8_0'").origins_for("any")
    assert origins == {
        "cache_type_k": "config.toml, line 2",
        "cache_type_v": teaching.setting_mirrored("cache_type_k", "config.toml, line 2"),
    }


def test_a_variable_that_hides_the_file_is_told():
    """A daemon that never follows its file would be a riddle."""
    said = load_config("default_ctx = 512", "c", {"BLAZAR_DEFAULT_CTX": "1024"}).warnings
    assert said == (teaching.variable_over_file("BLAZAR_DEFAULT_CTX", "default_ctx"),)
    assert load_config("default_ctx = 512", "c", {"BLAZAR_DEFAULT_CTX": "512"}).warnings == ()
    assert load_config("", "c", {"BLAZAR_DEFAULT_CTX": "512"}).warnings == ()
    assert load_config("preload = ['a']", "c", {"BLAZAR_PRELOAD": "a"}).warnings == ()
