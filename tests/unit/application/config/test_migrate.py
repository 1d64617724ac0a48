"""`api_keys` becomes `[[keys]]`."""

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.migrate import migrate
from blazar.domain.errors import BadConfig, Malformed


@pytest.mark.parametrize(
    ("text", "names", "after"),
    [
        ('api_keys = ["a", "b"]\n', ("key-1", "key-2"), '[[keys]]\nname = "key-1"\nkey = "a"\n\n[[keys]]\nname = "key-2"\nkey = "b"\n'),
        ('# c\napi_keys = "a"\nport = 1\n', ("key-1",), '# c\nport = 1\n\n[[keys]]\nname = "key-1"\nkey = "a"\n'),
        ('api_keys = [{name = "ed", key = "a"}]\n', ("ed",), '[[keys]]\nname = "ed"\nkey = "a"\n'),
        ('[[api_keys]]\nname = "ed"\nkey = "a"\nmodels = ["m"]\n', ("ed",), '[[keys]]\nname = "ed"\nkey = "a"\nmodels = ["m"]\n'),
        ("api_keys = []\n", (), ""),
        (
            'api_keys = ["a", "b"]\n\n[[keys]]\nname = "key-2"\nkey = "a"\n',
            ("key-2-2",),
            '[[keys]]\nname = "key-2"\nkey = "a"\n\n[[keys]]\nname = "key-2-2"\nkey = "b"\n',
        ),
        ('api_keys = ["a", "a"]\r\n', ("key-1",), '[[keys]]\r\nname = "key-1"\r\nkey = "a"\r\n'),
        ('keys = [{name = "x", key = "a"}]\napi_keys = ["b"]\n', ("key-1",), 'keys = [{name = "x", key = "a"}, {name = "key-1", key = "b"}]\n'),
        ('api_keys = [\n  "a",\n  # "old",\n]\n', ("key-1",), '  # "old",\n\n[[keys]]\nname = "key-1"\nkey = "a"\n'),
        (
            'api_keys = [ # mine\n  "a", # laptop\n  # old\n  "b" # phone\n] # end\n',
            ("key-1", "key-2"),
            '  # old\n\n# mine\n# laptop\n# end\n[[keys]]\nname = "key-1"\nkey = "a"\n\n# phone\n[[keys]]\nname = "key-2"\nkey = "b"\n',
        ),
        (
            'api_keys = [\r\n{name = "x", key = "a"}, # there\r\n"b",]\r\n[[keys]]\r\nname = "x"\r\nkey = "a"\r\n',
            ("key-2",),
            '# there\r\n[[keys]]\r\nname = "x"\r\nkey = "a"\r\n\r\n[[keys]]\r\nname = "key-2"\r\nkey = "b"\r\n',
        ),
        (
            'keys = [] # c\napi_keys = ["a", # laptop\n]\n',
            ("key-1",),
            'keys = [{name = "key-1", key = "a"}] # c\n# laptop\n',
        ),
        (
            '[[api_keys]] # mine\nkey = "a" # laptop\n# own\n',
            ("key-1",),
            '# own\n\n# mine\n# laptop\n[[keys]]\nname = "key-1"\nkey = "a"\n',
        ),
        ('api_keys = "a#b" # mine', ("key-1",), '# mine\n[[keys]]\nname = "key-1"\nkey = "a#b"\n'),
    ],
)  # fmt: skip
def test_keys_move(text, names, after):
    """Each secret once, under a name of its own, nothing else touched; doing it again changes nothing."""
    done = migrate(text, "c.toml")
    assert (done.text, done.names) == (after, names)
    assert load_config(after, "c.toml")
    assert migrate(after, "c.toml") == (after, ())


def test_nothing_to_do():
    """A file of today stays as it is."""
    assert migrate("port = 1 # x\n", "c.toml") == ("port = 1 # x\n", ())


@pytest.mark.parametrize(
    "text", ["api_keys = 1", "api_keys = [1]", "api_keys = [{name='a'}]", "api_keys=['']", "keys=1\napi_keys=['a']"]
)
def test_what_nobody_wrote_is_refused(text):
    """Better than losing a key."""
    with pytest.raises(Malformed, match="neither a list of secrets nor"):
        migrate(text, "c.toml")


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ('port = 1\napi_keys = ["a", ""]', "(item 2 is empty)"),
        ('port = 1\napi_keys = [{key = ""}]', "(item 1 is empty)"),
        ('port = 1\napi_keys = ["a", {name = "b"}]', "(item 2 has no key)"),
        ("port = 1\n[[api_keys]]\nkey = 1", "(item 1 is neither)"),
    ],
)
def test_the_item_that_is_wrong_is_named(text, item):
    """By its number: what stands there may be a secret."""
    with pytest.raises(Malformed) as odd:
        migrate(text, "c.toml")
    assert str(odd.value).startswith("c.toml line 2: 'api_keys' is neither")
    assert item in str(odd.value)


def test_what_is_no_toml_is_told():
    """With its place."""
    with pytest.raises(BadConfig, match=r"c.toml cannot be read"):
        migrate("a b", "c.toml")


def test_the_old_list_is_refused_with_the_way_out():
    """A start says what to run."""
    with pytest.raises(BadConfig, match=r"line 2: 'api_keys' is written as \[\[keys\]\] tables now: blazar migrate"):
        load_config("port = 1\napi_keys = ['a']\n", "c.toml")
