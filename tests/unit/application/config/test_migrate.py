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


def test_what_is_no_toml_is_told():
    """With its place."""
    with pytest.raises(BadConfig, match=r"c.toml cannot be read"):
        migrate("a b", "c.toml")


def test_the_old_list_is_refused_with_the_way_out():
    """A start says what to run."""
    with pytest.raises(BadConfig, match=r"line 2: 'api_keys' is written as \[\[keys\]\] tables now: blazar migrate"):
        load_config("port = 1\napi_keys = ['a']\n", "c.toml")
