"""Group tables to flat keys. The sentences with their lines stand in test_layers."""

import re
import tomllib

import pytest

from blazar.application.config.hoist import HINTED, SYNONYMS, hoist, nearest
from blazar.application.config.layers import load_config
from blazar.application.config.locate import Lines
from blazar.application.config.model import TABLES, Config
from blazar.domain.errors import BadConfig


def hoisted(text):
    return hoist(tomllib.loads(text), "config.toml", Lines(text))


def test_a_grouped_key_is_the_flat_key():
    """Its source remembers where it stood, so that later sentences can name the line."""
    found = hoisted("default_ctx = 512\n[gateway]\nport = 9\n")
    assert found.values == {"default_ctx": 512, "port": 9}
    assert found.sources == {"default_ctx": ("default_ctx",), "port": ("gateway", "port")}
    assert found.problems == []


def test_tables_of_the_root_stay_as_they_are():
    """Keys and overrides are values, not groups."""
    found = hoisted('[[keys]]\nname = "a"\n[model_overrides.m]\nctx = 512\n')
    assert found.values == {"keys": [{"name": "a"}], "model_overrides": {"m": {"ctx": 512}}}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("nonsense = 1", [1]),
        ("port = 1\n[gateway]\nport = 2", [3]),
        ("[resources]\n\nport = 2", [3]),
        ("[gateway]\nkeys = []", [2]),
        ("[gatway]\nport = 2", [1]),
        ("gateway = 3", [1]),
        ("x = 1\ny = 2\n[gateway]\nz = 3", [1, 2, 4]),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_not_taken(text, lines):
    """Unknown, doubled, misplaced: each is one problem, and none reaches the values."""
    found = hoisted(text)
    assert [problem.line for problem in found.problems] == lines
    assert set(found.values.values()) <= {1}
    assert set(found.values) <= {"port"}


def test_the_first_of_two_is_kept():
    """What else is wrong can still be told: the file is read to its end."""
    found = hoisted("port = 1\n[gateway]\nport = 2\nhost = 'h'")
    assert found.values == {"port": 1, "host": "h"}


def test_other_programs_words_are_understood():
    """By meaning before spelling (case I1); every synonym leads to keys that exist."""
    assert nearest("ttl", Config.model_fields) == ("idle_timeout_secs",)
    assert nearest("defalt_ctx", Config.model_fields) == ("default_ctx",)
    assert nearest("zzzzzz", Config.model_fields) == ()
    for meant in SYNONYMS.values():
        assert set(meant) <= {*Config.model_fields, *TABLES}
    assert not set(SYNONYMS) & set(Config.model_fields)


def test_only_what_is_nearly_as_alike_is_a_hint():
    """Among hundreds of keys something is always similar."""
    assert nearest("prt", Config.model_fields) == ("port",)
    assert nearest("slot", Config.model_fields) == ("slots",)
    assert nearest("whisper_beam", Config.model_fields)[0] == "whisper_beam_size"
    assert nearest("qqq", Config.model_fields) == ()


@pytest.mark.parametrize("key", ["nope", "extra", "nothing"])
def test_what_looks_a_little_alike_is_no_hint(key):
    """A wrong one is worse than none."""
    assert nearest(key, Config.model_fields) == ()
    assert nearest("slto", Config.model_fields) == ("slots",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mode = 'manual'", "unknown key 'mode'; did you mean engine_routing.mode?"),
        ("[routing]\nmode = 'manual'", "unknown key 'routing.mode'; did you mean engine_routing.mode?"),
        ("extra_args = ['--x']", "unknown key 'extra_args'; did you mean model_overrides.NAME.extra_args?"),
        ("ctx = 5", "unknown key 'ctx'; did you mean default_ctx?"),
        ("[model_overrides.m]\ndefault_ctx = 512", "unknown key 'model_overrides.m.default_ctx'; did you mean ctx?"),
        (
            "[model_overrides.m]\nthreads = 2",
            "unknown key 'model_overrides.m.threads'; threads holds for every model: write it at the root, not for one model",
        ),
    ],
)
def test_a_key_of_another_place_is_known(text, told):
    """Its name is right, and where it stands is not."""
    with pytest.raises(BadConfig) as caught:
        load_config(text, "c")
    assert [re.sub(r"^c line \d+: ", "", problem) for problem in caught.value.problems] == [told]


def test_a_file_of_another_kind_gets_no_more_hints():
    """Each hint is a comparison with every key: a hundred thousand would hold the daemon up for a minute."""
    sentences = [problem.sentence for problem in hoisted("".join(f"slot{n} = 1\n" for n in range(HINTED + 5))).problems]
    assert "did you mean" in sentences[0]
    assert not any("did you mean" in sentence for sentence in sentences[HINTED:])
