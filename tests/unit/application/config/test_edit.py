"""One key changed in a text, and nothing else."""

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blazar.application.config import edit
from blazar.application.config.address import find_address, place_of
from blazar.application.config.dotted import value_at
from blazar.application.config.edit import append_tables, set_value, unset_value
from blazar.application.config.locate import comments_in, placed
from blazar.domain.errors import Conflict

TEXT = """\
# My settings

port   = 7   # seven
  host = '::1'
preload = [
  "a", # first
  # "b",
  "c",
]
mcp_default = '''
# no comment
'''

# The gateway
[gateway]
cors_origins = []   # nobody

# Models below
[model_overrides."a.b"]
ctx = 512 # small

# Variables
[engine_env]
A = "x"
"""


def changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    end = next(
        (i for i, (a, b) in enumerate(zip(old[start:][::-1], new[start:][::-1], strict=False)) if a != b),
        min(len(old), len(new)) - start,
    )
    return old[start : len(old) - end], new[start : len(new) - end]


SETS = [
    (("port",), 8, ["port   = 7   # seven\n"], ["port   = 8   # seven\n"]),
    (("host",), "h", ["  host = '::1'\n"], ['  host = "h"\n']),
    (("slots",), 2, [], ["slots = 2\n"]),
    (("gateway", "cors_origins"), ["*"], ["cors_origins = []   # nobody\n"], ['cors_origins = ["*"]   # nobody\n']),
    (("gateway", "port"), 9, [], ["port = 9\n"]),
    (("model_overrides", "a.b", "slots"), 3, [], ["slots = 3\n"]),
    (("model_overrides", "n", "ctx"), 512, [], ["\n", "[model_overrides.n]\n", "ctx = 512\n"]),
    (("model_overrides", "x y", "ctx"), 512, [], ["\n", '[model_overrides."x y"]\n', "ctx = 512\n"]),
    (("engine_env", "B"), 'é"\n', [], ['B = "é\\"\\n"\n']),
    (("engine_env",), {"B": "1", "C": "2"}, ['A = "x"\n'], ['B = "1"\n', 'C = "2"\n']),
    (("chat_template_kwargs",), {"a": {"b": [1]}}, [], ["chat_template_kwargs = {a = {b = [1]}}\n"]),
    (("mcp_default",), "all", ["mcp_default = '''\n", "# no comment\n", "'''\n"], ['mcp_default = "all"\n']),
]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("path", "value", "gone", "come"), SETS, ids=[".".join(row[0]) for row in SETS])
def test_a_value_is_set_in_its_line(path, value, gone, come, newline):
    """Spacing, comment and line ends of that line stay; a new line comes behind its kin, with the file's line ends."""
    text = TEXT.replace("\n", newline)
    after = set_value(text, path, value)
    assert value_at(tomllib.loads(after), path) == value
    assert changed(text, after) == ([x.replace("\n", newline) for x in gone], [x.replace("\n", newline) for x in come])
    assert set_value(after, path, value) == after


def test_comments_inside_a_value_survive_it():
    """Those on lines of their own move above; the list stays one with an item a line."""
    after = set_value(TEXT, ("preload",), ["q"])
    assert '  # "b",\npreload = [\n    "q",\n]\n' in after
    assert '  # "b",\n\n# The' not in unset_value(TEXT, ("preload",))
    assert '::1\'\n  # "b",\nmcp_default' in unset_value(TEXT, ("preload",))


UNSETS = [
    (("port",), ["port   = 7   # seven\n"]),
    (("gateway", "cors_origins"), ["\n", "[gateway]\n"]),
    (("model_overrides", "a.b", "ctx"), ['[model_overrides."a.b"]\n', "ctx = 512 # small\n"]),
    (("model_overrides", "a.b"), ['[model_overrides."a.b"]\n', "ctx = 512 # small\n"]),
    (("engine_env", "A"), ["[engine_env]\n", 'A = "x"\n']),
    (("nope",), []),
    (("gateway", "nope"), []),
]


@pytest.mark.parametrize("path", [row[0] for row in UNSETS], ids=[".".join(row[0]) for row in UNSETS])
def test_a_key_is_taken_out(path):
    """Its line goes, and the header of a table that is empty then; every comment line stays."""
    after = unset_value(TEXT, path)
    assert value_at(tomllib.loads(after), path) is None
    lines = [line for line in TEXT.splitlines() if line.startswith("#")]
    assert [line for line in after.splitlines() if line.startswith("#")] == lines
    assert unset_value(after, path) == after
    if path[0] in ("gateway", "model_overrides", "engine_env") and path[-1] != "nope":
        assert f"[{path[0]}" not in after


def test_a_table_with_a_comment_in_it_stays():
    """Its comments would belong to nothing."""
    text = "[gateway]\n# port = 1\nport = 2\n[engine_env] # mine\nA = 'x'\n"
    assert unset_value(text, ("gateway", "port")) == "[gateway]\n# port = 1\n[engine_env] # mine\nA = 'x'\n"
    assert "[engine_env] # mine" in unset_value(text, ("engine_env", "A"))


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        ("", ("port",), 1, "port = 1\n"),
        ("# only", ("port",), 1, "# only\nport = 1\n"),
        ("port = 1", ("slots",), 2, "port = 1\nslots = 2\n"),
        ("# top\n\n# its\n[gateway]\n", ("port",), 1, "# top\n\nport = 1\n\n# its\n[gateway]\n"),
        ("[gateway]\n", ("port",), 1, "port = 1\n\n[gateway]\n"),
        ("[gateway]", ("gateway", "port"), 1, "[gateway]\nport = 1\n"),
        ("gateway.host = 'h'\n", ("gateway", "port"), 1, "gateway.host = 'h'\ngateway.port = 1\n"),
        (
            "[model_overrides]\nm.ctx = 1\n",
            ("model_overrides", "m", "pin"),
            True,
            "[model_overrides]\nm.ctx = 1\nm.pin = true\n",
        ),
        ("e = {A='x'} # c\n", ("e", "B"), "y", "e = {A='x',B = \"y\"} # c\n"),
        ("e = { }\n", ("e", "B"), "y", 'e = {B = "y"}\n'),
        ("m = {a = {b = 1}}\n", ("m", "c", "d"), 2, "m = {a = {b = 1},c = {d = 2}}\n"),
        ("[m.a.sub]\nx = 1\n", ("m", "a", "y"), 2, "[m.a.sub]\nx = 1\n\n[m.a]\ny = 2\n"),
        ("[b]\nx = 1\n[a]\n", ("b", "y"), 2, "[b]\nx = 1\ny = 2\n[a]\n"),
        ("m.x = 1\n[[k]]\nx = 1\n", ("k2", "y"), 2, "m.x = 1\n[[k]]\nx = 1\n\n[k2]\ny = 2\n"),
    ],
)
def test_where_a_new_key_goes(text, path, value, after):
    """Whatever layout a person chose is followed."""
    found = set_value(text, path, value)
    assert found.replace(" ", "") == after.replace(" ", "")
    assert value_at(tomllib.loads(found), path) == value


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ("e = {A = 'x', B = 'y'} # c\n", ("e", "B"), "e = {A = 'x'} # c\n"),
        ("e = {A = 'x'}\n", ("e", "A"), ""),
        ("m = {a = {x = 1}}\n", ("m", "a", "x"), ""),
        ("m = {a = {x = 1}, b.c = 2}\n", ("m", "a", "x"), "m = {b.c = 2}\n"),
        ("m = { a.ctx=1, b.c=2}\n", ("m", "b", "c"), "m = {a.ctx = 1}\n"),
        ("[[k]]\nx = 1\n[[k]]\nx = 2\n[o]\ny = 1\n", ("k",), "[o]\ny = 1\n"),
        ("[m]\na.x = 1\na.y = 2\n", ("m", "a"), ""),
        ("[m]\nx = 1\n[m.a]\ny = 2\n", ("m", "x"), "[m]\n[m.a]\ny = 2\n"),
    ],
)
def test_inline_and_dotted_tables_shrink(text, path, after):
    """What is empty then goes too."""
    assert unset_value(text, path).replace(" ", "") == after.replace(" ", "")


def test_a_table_that_is_said_anew_leaves_nothing_of_the_old_one():
    """Neither keys nor tables inside it; its header and its comments stay."""
    text = "[c]\n# mine\na = 1\n[c.sub]\nb = 2\n[o]\nx = 1\n"
    assert set_value(text, ("c",), {"n": {}}) == "[c]\nn = {}\n# mine\n[o]\nx = 1\n"
    assert set_value(text, ("c",), {}) == "[c]\n# mine\n[o]\nx = 1\n"
    assert set_value("c.a.b = 1\n", ("c",), {"n": 1}) == "\n[c]\nn = 1\n".lstrip("\n")


def test_odd_tomlkit_leaves_a_comma_behind_in_some_inline_tables():
    """What it makes of them is no TOML, and then it is not taken."""
    assert edit._edited("m = { a.x=1, b.y=2}\n", ("m", "b", "y"), None, {"m": {"a": {"x": 1}, "b": {}}}) is None
    assert edit._edited("m = { a = 1, b = 2 }\n", ("m", "b"), None, {"m": {"a": 1}}) == "m = { a = 1  }\n"


def test_what_equals_not_even_itself_can_stand_there():
    """A template may have been given NaN; other keys are changed all the same."""
    assert set_value("a = nan\n", ("b",), float("nan")) == "a = nan\nb = nan\n"


def test_a_layout_that_cannot_say_it_is_refused():
    """Better a sentence than a file that says something else."""
    with pytest.raises(Conflict, match=r"'keys.x' cannot be changed .* blazar config edit"):
        set_value("[[keys]]\nname = 'a'\n", ("keys", "x"), 1)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "[[k]]\na = 1\n\n[[k]]\na = 2\n"),
        ("x = 1", "x = 1\n\n[[k]]\na = 1\n\n[[k]]\na = 2\n"),
        ("x = 1\r\n", "x = 1\r\n\r\n[[k]]\r\na = 1\r\n\r\n[[k]]\r\na = 2\r\n"),
        ("[[k]]\na = 0\n", "[[k]]\na = 0\n\n[[k]]\na = 1\n\n[[k]]\na = 2\n"),
        ("k = []\n", "k = [{a = 1}, {a = 2}]\n"),
    ],
)
def test_tables_are_appended(text, after):
    """As tables, or in the list that stands there."""
    assert append_tables(text, "k", [{"a": 1}, {"a": 2}]) == after
    assert append_tables(text, "k", []) == text


KEYS = {
    "port": st.integers(0, 65535),
    "host": st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=8),
    "preload": st.lists(st.sampled_from(["a", "b-c", 'q"#', "é"]), max_size=3),
    "cors_origins": st.lists(st.sampled_from(["*", "http://x"]), max_size=2),
    "warmup": st.booleans(),
    "yarn_ext_factor": st.floats(-1, 1),
    "semantic_cache.enabled": st.booleans(),
    "engine_env.A": st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=5),
    "engine_env.B": st.sampled_from(["", "#", "'", '"""']),
    "model_overrides.a.b.ctx": st.integers(256, 999),
    "model_overrides.new:x.slots": st.integers(0, 9),
}
STARTS = [
    """\
# head # 1

host = "h"   # two
preload = [ # three
  # four
  "a", "#no",
]
chat_template_kwargs = { b = 1, "c d" = [ 2 ] }

# five
[gateway]
# six
cors_origins = ["x"]

[semantic_cache] # seven
ttl_secs = 5 # eight

# nine
[model_overrides."a.b"]
ctx = 512

[[keys]] # ten
name = "a" # eleven
key = "# no"
# end""",
    """\
gateway.port = 1 # dotted
gateway.host = '''
# no comment
''' # two
engine_env.A = "x"
# three
semantic_cache = { enabled = true } # four
model_overrides."a.b".ctx = 512
model_overrides."a.b".slots = 1
[[keys]]
name = "a"
  # five
  key = "b"
""",
    """\
engine_env = { A = "x", B = "y" } # one
model_overrides = { "a.b" = { ctx = 512, slots = 1 }, m.pin = true }
warmup = false
[gateway] # two
  port = 1
  preloaded = 1

  # three
[reasoning]
reasoning = "on"
""",
    """\
[model_overrides.m.sglang]
mem_fraction_static = 0.5
# one
[engine_env]
# two
[model_overrides."a.b".sglang]
# three
mem_fraction_static = 0.5
[[keys]]
name = "a"
key = "b"
[model_overrides."a.b"]
# four
slots = 1
[semantic_cache]
[gateway]
""",
    "# only a comment",
    "",
]


@st.composite
def steps(draw):
    key = draw(st.sampled_from(sorted(KEYS)))
    return key, draw(st.none() | KEYS[key])


def kept_lines(text, places):
    """Lines that no edit of `places` has any business with, comment lines above all; empty ones are not counted."""
    touched = set()
    for row in placed(text):
        if any(place[: len(row.path)] == row.path[: len(place)] for place in places):
            first = text.count("\n", 0, row.statement.start)
            touched |= set(range(first, first + text.count("\n", row.statement.start, row.statement.end - 1) + 1))
    comments = set(comments_in(text))
    lines = text.replace("\r\n", "\n").split("\n")
    return [line for number, line in enumerate(lines) if line.strip() in comments or (line and number not in touched)]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps(), min_size=1, max_size=8), st.sampled_from(STARTS), st.sampled_from(["\n", "\r\n"]))
def test_any_sequence_of_edits_damages_nothing(done, start, newline):
    """After sets and unsets the file says what was asked; every other line, comments above all, is as it was, in its order."""
    start = text = start.replace("\n", newline)
    wanted = {}
    for key, value in done:
        raw = tomllib.loads(text)
        place = place_of(find_address(key, raw), key, raw)
        text = unset_value(text, place) if value is None else set_value(text, place, value)
        wanted[place] = value
        raw = tomllib.loads(text)
        assert {place: value_at(raw, place) for place in wanted} == wanted
    if start:
        assert text.count("\r\n") == (text.count("\n") if newline == "\r\n" and "\r" in start else 0)
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in kept_lines(start, wanted):
        assert line in lines, f"{line!r} is lost or out of order"


@pytest.mark.parametrize("start", ["# head\n[gateway]\nport = 1\n", "[gateway]\r\nport = 1\r\n"])
def test_set_and_unset_leave_the_text_as_it_was(start):
    """Each time one more empty line would move a file down its screen."""
    assert unset_value(set_value(start, ("host",), "a"), ("host",)) == start
