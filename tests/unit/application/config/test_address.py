"""Which key is meant, and what the words for its value are."""

import pytest

from blazar.application.config.address import check_settable, find_address, literal, place_of, typed
from blazar.application.config.change import set_key, unset_key
from blazar.domain.errors import Malformed


def value(key, *words):
    return typed(find_address(key, {}), words)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("port", ("port",)),
        ("gateway.port", ("port",)),
        ("reasoning", ("reasoning",)),
        ("reasoning.reasoning_budget", ("reasoning_budget",)),
        ("semantic_cache.enabled", ("semantic_cache", "enabled")),
        ("routing.engine_routing.mode", ("engine_routing", "mode")),
        ("mistralrs.mistralrs_pa_memory_fraction", ("mistralrs_pa_memory_fraction",)),
        ("engine_env.HF_HOME", ("engine_env", "HF_HOME")),
        ("chat_template_kwargs.enable_thinking", ("chat_template_kwargs", "enable_thinking")),
        ("model_overrides.m", ("model_overrides", "m")),
        ("model_overrides.qwen3-0.6b:q4_0.ctx", ("model_overrides", "qwen3-0.6b:q4_0", "ctx")),
        ('model_overrides."a.ctx".pin', ("model_overrides", "a.ctx", "pin")),
        ("model_overrides.a.b.sglang.mem_fraction_static", ("model_overrides", "a.b", "sglang", "mem_fraction_static")),
    ],
)
def test_a_key_is_known_by_every_spelling(key, path):
    """Flat, by its group, in a table, a variable, of one model; a model's name may hold dots."""
    assert find_address(key, {}).path == path
    assert find_address(find_address(key, {}).key, {}).path == path


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("prt", "port"),
        ("listen", "port or host"),
        ("gateway.prt", "port"),
        ("semantic_cache.enable", "enabled"),
        ("model_overrides.a.b.ctxx", "ctx"),
        ("sglang.mem_fraction_sttic", "mem_fraction_static"),
        ("routing.mode", "engine_routing.mode"),
        ("model_overrides.m.default_ctx", "ctx"),
    ],
)
def test_an_unknown_key_is_answered_with_near_ones(key, near):
    """Those of the table where it goes wrong."""
    with pytest.raises(Malformed, match=f"no configuration key '{key}'; did you mean {near}\\?"):
        find_address(key, {})


def test_what_holds_for_every_model_is_not_set_for_one():
    """It is a key, and not one of an override."""
    with pytest.raises(Malformed, match=r"'model_overrides\.a\.b\.threads'; threads holds for every model"):
        find_address("model_overrides.a.b.threads", {})


@pytest.mark.parametrize(
    "key", ["", "port.x", "gateways", "kyes.0.name", "gateway.engine_env", ".", "port.", "engine_env."]
)
def test_what_is_no_key_is_refused(key):
    """No hint is better than a wrong one."""
    with pytest.raises(Malformed, match="no configuration key"):
        find_address(key, {})


@pytest.mark.parametrize(
    ("key", "raw", "place"),
    [
        ("port", {}, ("port",)),
        ("gateway.port", {}, ("port",)),
        ("gateway.port", {"gateway": {"host": "h"}}, ("port",)),
        ("port", {"gateway": {"port": 1}}, ("gateway", "port")),
        ("port", {"port": 2, "gateway": {"port": 1}}, ("port",)),
        ("gateway.port", {"port": 2, "gateway": {"port": 1}}, ("gateway", "port")),
        ("gateway.port", {"port": 2, "gateway": {}}, ("port",)),
        ("reasoning", {"reasoning": {}}, ("reasoning", "reasoning")),
        ("reasoning_budget", {"reasoning": "on"}, ("reasoning_budget",)),
        ("mistralrs_paged_attn", {"mistralrs": {"mistralrs_paged_attn": True}}, ("mistralrs", "mistralrs_paged_attn")),
        ("engine_routing.mode", {"routing": {"engine_routing": {}}}, ("routing", "engine_routing", "mode")),
    ],
)
def test_a_key_is_written_where_it_stands(key, raw, place):
    """Never in a second place; a new one is flat, but where a table has taken its name."""
    assert place_of(find_address(key, raw), key, raw) == place


def test_odd_a_table_may_have_taken_the_name_of_its_key():
    """At the root TOML could not hold it beside the table; without the table it is flat as every key is."""
    address = find_address("reasoning", {})
    assert place_of(address, "reasoning", {"reasoning": {"reasoning_budget": 1}}) == ("reasoning", "reasoning")
    assert place_of(address, "reasoning", {"reasoning": "on"}) == place_of(address, "reasoning", {}) == ("reasoning",)


@pytest.mark.parametrize(
    ("key", "words", "expected"),
    [
        ("port", ["8080"], 8080),
        ("port", ["8_080"], 8080),
        ("port", ["x"], "x"),
        ("host", ["8080"], "8080"),
        ("host", ["true"], "true"),
        ("host", ['"a"'], '"a"'),
        ("warmup", ["false"], False),
        ("warmup", ["False"], "False"),
        ("reasoning_budget", ["-1"], -1),
        ("yarn_ext_factor", ["-0.5"], -0.5),
        ("semantic_cache.threshold", ["1"], 1),
        ("preload", ['["a"]'], ["a"]),
        ("preload", ["a"], ["a"]),
        ("preload", ["a", "1"], ["a", "1"]),
        ("preload", ["[]"], []),
        ("preload", ["[x"], ["[x"]),
        ("model_overrides.m.extra_args", ["--temp", "-0.5"], ["--temp", "-0.5"]),
        ("mmproj_policy", ["lazy"], "lazy"),
        ("chat_template_kwargs", ['{"a": [1, true]}'], {"a": [1, True]}),
        ("chat_template_kwargs", ["{ a = 1 }"], {"a": 1}),
        ("chat_template_kwargs.a", ["1"], 1),
        ("chat_template_kwargs.a", ["some text"], "some text"),
        ("chat_template_kwargs.a", ['"8"'], "8"),
        ("chat_template_kwargs.a", ["1979-05-27"], "1979-05-27"),
        ("engine_env", ['{A = "b"}'], {"A": "b"}),
        ("engine_env.A", ["1"], "1"),
        ("cache_type", ["q8_0"], "q8_0"),
        ("log_level", ["info"], "info"),
        ("port", ["1\nhost = 'x'"], "1\nhost = 'x'"),
    ],
)
def test_words_are_typed_by_the_declaration(key, words, expected):
    """Text stays text, a list is a list (case I7); what cannot be read stays as it was typed and is refused later."""
    found = value(key, *words)
    assert found == expected
    assert type(found) is type(expected)


def test_one_value_is_one_word():
    """Several are a list, or a mistake."""
    with pytest.raises(Malformed, match="'host' takes one value"):
        value("host", "a", "b")


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("keys", r"one \[\[keys\]\] for each entry: change them with blazar config edit"),
        ("remotes", "blazar config edit"),
        ("failover", "blazar config edit"),
        ("mcp", "blazar config edit"),
        ("sglang", r"is a table: set one of its keys, such as sglang\."),
        ("model_overrides", r"such as model_overrides\.NAME\."),
        ("model_overrides.m", r"such as model_overrides\.m\."),
    ],
)
def test_tables_are_not_set_in_one_go(key, sentence):
    """The sentence says what to do instead."""
    with pytest.raises(Malformed, match=sentence):
        check_settable(find_address(key, {}))


@pytest.mark.parametrize("key", ["engine_env", "chat_template_kwargs", "preload", "port", "sglang.mem_fraction_static"])
def test_plain_values_and_free_tables_are(key):
    """A table of names and values is one value."""
    check_settable(find_address(key, {}))


def test_a_literal_is_one_value():
    """TOML or JSON, and nothing behind it."""
    assert literal("1") == 1
    assert literal('{"a": [true]}') == {"a": [True]}
    for text in ("", "a b", "1\nb = 2", "[1", "nope", "[" * 100_000, '{"a": [null]}', '{"a": NaN}'):
        assert literal(text) is None


def test_bytes_that_are_no_text_are_refused():
    """A shell passes any; no file of ours can hold them."""
    with pytest.raises(Malformed, match="not UTF-8"):
        typed(find_address("host", {}), ["a\udcff"])


@pytest.mark.parametrize("key", ["keys.0.name", "keys.name", "failover.targets"])
def test_a_key_of_tables_that_repeat_is_told_as_that(key):
    """One word cannot say which entry is meant."""
    with pytest.raises(Malformed, match=rf"'{key.partition('.')[0]}' is written as tables, one \[\["):
        find_address(key, {})


@pytest.mark.parametrize("act", ["set", "unset"])
def test_a_group_is_no_key(act):
    """Its keys are; the sentence names one."""
    with pytest.raises(Malformed, match=r"'gateway' is no key but a table .*such as gateway\.host"):
        _ = set_key("", "c.toml", "gateway", ["x"]) if act == "set" else unset_key("", "c.toml", "gateway")
