"""One key set or unset: typed, judged, told."""

import tomllib

import pytest

from blazar.application.config.change import set_key, set_keys, unset_key, unset_keys
from blazar.application.config.rules import World
from blazar.domain.errors import BadConfig, Malformed

PATH = "/some/c.toml"


def test_a_list_is_stored_as_one():
    """Case I7: typed by the declaration, not by its looks."""
    assert tomllib.loads(set_key("", PATH, "preload", ['["a"]']).text) == {"preload": ["a"]}
    assert tomllib.loads(set_key("", PATH, "host", ["8080"]).text) == {"host": "8080"}


def test_what_it_was_and_is_is_told():
    """By its flat name, with defaults; secrets hidden."""
    change = set_key("port = 1\n", PATH, "gateway.port", ["2"])
    assert (change.key, change.was, change.now, change.changed) == ("port", 1, 2, True)
    assert set_key("", PATH, "port", ["2"]).was == 11435
    assert set_key("", PATH, "engine_env.A", ["hush"]).now == "********"


@pytest.mark.parametrize(
    ("text", "key", "word"),
    [("port = 1 # c\n", "port", "1"), ("[gateway]\nport = 1\n", "port", "1"), ("preload=['a']", "preload", '["a"]')],
)
def test_saying_it_again_changes_nothing(text, key, word):
    """Not even a space."""
    change = set_key(text, PATH, key, [word])
    assert (change.text, change.changed) == (text, False)


def test_odd_equal_is_not_the_same():
    """1, 1.0 and true are equal to Python and different in a file."""
    assert set_key("yarn_ext_factor = 1\n", PATH, "yarn_ext_factor", ["1.0"]).text == "yarn_ext_factor = 1.0\n"


@pytest.mark.parametrize(
    ("key", "word", "sentence"),
    [
        ("port", "70000", "'port' must be 65535 or less (found 70000)"),
        ("port", "x", "'port' must be a whole number (found \"x\")"),
        ("warmup", "yes", "'warmup' must be true or false (found \"yes\")"),
        ("model_overrides.m.ctx", "1", "'model_overrides.m.ctx' must be 256 or more (found 1)"),
        ("engine_env.1x", "1", None),
        ("model_overrides.x y.ctx", "512", None),
        ("sdcpp_ip_adapter", "/a", None),
    ],
)
def test_a_wrong_value_gets_the_sentence_of_validation_without_its_line(key, word, sentence):
    """There is no line yet. The text that was stays the one that is."""
    with pytest.raises(BadConfig) as caught:
        set_key("# c\n", PATH, key, [word])
    assert PATH not in str(caught.value)
    if sentence is not None:
        assert caught.value.problems == (sentence,)


def test_what_the_machine_says_is_asked():
    """A file that a key names must be there."""
    with pytest.raises(BadConfig):
        set_key("", PATH, "lookup_cache_static", ["/x"], World(exists=lambda _: False))
    assert set_key("", PATH, "lookup_cache_static", ["/x"], World(exists=lambda _: True)).now == "/x"


def test_a_broken_file_is_not_set_in():
    """Its problems are told with their lines."""
    with pytest.raises(BadConfig) as caught:
        set_key("prot = 1\nport = 'x'\n", PATH, "slots", ["1"])
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [f"{PATH} line 1", f"{PATH} line 2"]


def test_the_key_that_is_wrong_can_be_set_right():
    """What it was is unknown; everything that is wrong besides is told with its line, the new value without."""
    change = set_key("# c\ndefault_ctx = 'x' # d\n", PATH, "default_ctx", ["600"])
    assert (change.text, change.was, change.now) == ("# c\ndefault_ctx = 600 # d\n", None, 600)
    with pytest.raises(BadConfig) as caught:
        set_key("prot = 1\ndefault_ctx = 'x'\n", PATH, "default_ctx", ["600"])
    assert [problem.partition(" (")[0] for problem in caught.value.problems] == [
        f"{PATH} line 1: unknown key 'prot'; did you mean prio or port?"
    ]
    with pytest.raises(BadConfig) as caught:
        set_key("default_ctx = 'x'\n", PATH, "default_ctx", ["1"])
    assert caught.value.problems == ("'default_ctx' must be 256 or more (found 1)",)


def test_keys_that_need_each_other_are_changed_together():
    """Alone neither can be, and the refusal says how."""
    pair = set_keys("# c\n", PATH, [("tls_cert", ["/c"]), ("tls_key", ["/k"])])
    assert [(change.key, change.now, change.changed) for change in pair] == [
        ("tls_cert", "/c", True),
        ("tls_key", "/k", True),
    ]
    with pytest.raises(BadConfig, match="blazar config set tls_cert=VALUE tls_key=VALUE"):
        set_key("", PATH, "tls_cert", ["/c"])
    with pytest.raises(BadConfig, match="blazar config unset tls_key tls_cert"):
        unset_key(pair[-1].text, PATH, "tls_key")
    gone = unset_keys(pair[-1].text, PATH, ["tls_cert", "tls_key"])
    assert (gone[-1].text, [change.now for change in gone]) == ("# c\n", ["", ""])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("prot = 1\n", "prot"),
        ("port = 'x'\n", "port"),
        ("[gateway]\nprot = 1\n", "gateway.prot"),
        ("[gateway]\nslots = 1\n", "gateway.slots"),
        ("[nope]\na = 1\n", "nope"),
        ("[model_overrides.m]\nctxx = 1\n", "model_overrides.m.ctxx"),
        ("keys = 5\n", "keys"),
        ("port = 1\n[gateway]\nport = 1\n", "gateway.port"),
        ("port = 1\n[gateway]\nport = 1\n", "port"),
    ],
)
def test_what_makes_a_file_unusable_can_be_taken_out(text, key):
    """Known or not, as long as the rest is good."""
    change = unset_key("# c\n" + text + "\n[engine_env]\n", PATH, key)
    assert change.changed
    assert change.text.startswith("# c\n")
    with pytest.raises(BadConfig, match=r"line \d"):
        unset_key("# c\n" + text + "\n[warm_peg]\ndefalt = true\n", PATH, key)


def test_what_is_no_toml_is_told():
    """Nothing can be taken out of it."""
    with pytest.raises(BadConfig, match="not valid TOML"):
        unset_key("a b", PATH, "port")
    with pytest.raises(BadConfig, match="not valid TOML"):
        set_key("a b", PATH, "port", ["1"])


def test_unsetting_tells_what_holds_then():
    """The default; of an override what holds for every model; nothing of a variable."""
    change = unset_key("port = 1\n", PATH, "port")
    assert (change.text, change.was, change.now) == ("", 1, 11435)
    override = unset_key("slots = 3\n[model_overrides.m]\nslots = 4\n", PATH, "model_overrides.m.slots")
    assert (override.text, override.was, override.now) == ("slots = 3\n", 4, 3)
    assert unset_key("[model_overrides.m]\nctx = 512\n", PATH, "model_overrides.m.ctx").now is None
    assert unset_key("engine_env.A = 'x'\n", PATH, "engine_env.A").now is None


def test_unsetting_what_is_not_set_changes_nothing():
    """And is no error, unless there is no such key."""
    change = unset_key("# c\n", PATH, "port")
    assert (change.text, change.changed, change.now) == ("# c\n", False, 11435)
    with pytest.raises(Malformed, match="did you mean port"):
        unset_key("", PATH, "prt")
    with pytest.raises(Malformed, match="'gateway' is no key but a table"):
        unset_key("[gateway]\nport = 1\n", PATH, "gateway")


def test_a_pair_is_not_broken():
    """A key that another one needs stays, with the reason."""
    text = "sdcpp_ip_adapter = '/a'\nsdcpp_clip_vision = '/b'\n"
    with pytest.raises(BadConfig, match=r"^'sdcpp_ip_adapter'"):
        unset_key(text, PATH, "sdcpp_clip_vision")


def test_tables_are_left_to_the_editor():
    """All keys in one word would open the gateway."""
    with pytest.raises(Malformed, match="blazar config edit"):
        unset_key("[[keys]]\nname = 'a'\nkey = 'b'\n", PATH, "keys")
    assert unset_key("keys = []\n", PATH, "keys").text == ""
