"""Variables that set keys: what their texts mean."""

import pytest

from blazar.application.config.environment import SWITCHES, from_environment, typed, unread, variables
from blazar.application.config.model import Config
from blazar.domain import teaching
from tests.support.configuration import held, refusal

FIELDS = Config.model_fields


@pytest.mark.parametrize("word", [word for plain in SWITCHES for word in (plain, plain.upper(), f" {plain} ")])
def test_a_switch_has_eight_words(word):
    """In any case, with white space around them."""
    assert held("", {"BLAZAR_UBATCH_AUTO": word}).ubatch_auto is SWITCHES[word.strip().lower()]


@pytest.mark.parametrize("word", ["2", "y", "enabled", "tru", "None", "-1"])
def test_another_word_is_refused(word):
    """Taking it for false would turn off what somebody meant to turn on."""
    assert refusal("", {"BLAZAR_SPEC_AUTO_NGRAM": word}) == (
        f"environment variable BLAZAR_SPEC_AUTO_NGRAM: 'spec_auto_ngram' must be true or false (found \"{word}\")"
    )


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("default_ctx", "8192", 8192),
        ("default_ctx", "-1", -1),
        ("default_ctx", "8k", "8k"),
        ("default_ctx", "9" * 5000, "9" * 5000),
        ("default_ctx", "٣", "٣"),  # a digit to Python
        ("child_header_timeout_secs", "1.5", 1.5),
        ("child_header_timeout_secs", "2", 2.0),
        ("model_load_timeout_secs", ".5", 0.5),
        ("model_load_timeout_secs", "inf", "inf"),
        ("models_autoload", "a, b,,c ", ["a", "b", "c"]),
        ("preload", "a", ["a"]),
        ("child_auth", "off", False),
        ("host", "true", "true"),
        ("spec", "1", "1"),
    ],
)
def test_a_text_is_what_its_key_takes(key, text, value):
    """Also where the key is optional; what is no such value stays text."""
    assert typed(FIELDS[key], text) == value
    assert type(typed(FIELDS[key], text)) is type(value)


def test_an_empty_variable_sets_nothing():
    """But where its key says that it does."""
    assert list(from_environment({"BLAZAR_DEFAULT_CTX": "", "BLAZAR_PRELOAD": "  "})) == []
    (found,) = from_environment({"BLAZAR_CAPABILITY_REGISTRY": " "})
    assert found == ("capability_registry_url", "BLAZAR_CAPABILITY_REGISTRY", "")


def test_every_variable_sets_one_key():
    """And each key's variables stand in the order of their strength."""
    names = [variable for variable, _ in variables()]
    assert len(names) == len(set(names))
    assert names.index("RUST_LOG") < names.index("BLAZAR_LOG")
    assert "BLAZAR_HOST" not in names  # the command line's target


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("BLAZAR_DEFAULT_CTX", "4096", "default_ctx", 4096),
        ("BLAZAR_CHILD_TRANSPORT", "unix", "child_transport", "unix"),
        ("BLAZAR_PRELOAD", "m1,m2", "preload", ("m1", "m2")),
        ("BLAZAR_SPEC_AUTO_NGRAM", "0", "spec_auto_ngram", False),
        ("BLAZAR_SPEC_AUTO_MANAGE", "yes", "spec_auto_manage", True),
        ("BLAZAR_UBATCH_AUTO", "on", "ubatch_auto", True),
        ("BLAZAR_DOWNLOAD_SPEED_LIMIT_MB", "20", "download_speed_limit_mb", 20),
        ("BLAZAR_WHISPER_STREAM_CHUNK_MS", "5000", "whisper_stream_chunk_ms", 5000),
        ("BLAZAR_WHISPER_EXTRA_ARGS", "--dtw,tiny", "whisper_extra_args", ("--dtw", "tiny")),
        ("BLAZAR_SDCPP_EXTRA_ARGS", "--rng,cpu,--sigmas,-1", "sdcpp_extra_args", ("--rng", "cpu", "--sigmas", "-1")),
        ("BLAZAR_CAPABILITY_REGISTRY", "https://a.example", "capability_registry_url", "https://a.example"),
        ("RUST_LOG", "debug", "log_level", "debug"),
        ("BLAZAR_LOG", "warn", "log_level", "warn"),
    ],
)
def test_a_variable_of_the_document(variable, text, key, value):
    """Each of them, and no other, sets its key."""
    assert getattr(held("", {variable: text}), key) == value
    assert (variable, key) in variables()
    assert len(variables()) == 13


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("BLAZAR_PORT", teaching.variable_for_no_key("BLAZAR_PORT", "port")),
        ("BLAZAR_DEFAULT_CTXX", teaching.variable_unread("BLAZAR_DEFAULT_CTXX", "BLAZAR_DEFAULT_CTX")),
        ("BLAZAR_ENGINE_PAHT", teaching.variable_unread("BLAZAR_ENGINE_PAHT", "BLAZAR_ENGINE_PATH")),
        ("BLAZAR_LOG_LEVEL", teaching.variable_unread("BLAZAR_LOG_LEVEL", "BLAZAR_LOG")),
        (
            "BLAZAR_CAPABILITY_REGISTRY_URL",
            teaching.variable_unread("BLAZAR_CAPABILITY_REGISTRY_URL", "BLAZAR_CAPABILITY_REGISTRY"),
        ),
        ("BLAZAR_DEFAULT_CTX", None),
        ("BLAZAR_KEYS", None),
        ("BLAZAR_VERSION", None),
        ("BLAZAR_UNIT_PATH", None),
        ("PORT", None),
    ],
)
def test_a_variable_that_nothing_reads_is_told_when_it_looks_like_ours(name, told):
    """A slip of the pen, or a key that has none; the installer's are not ours to judge."""
    assert list(unread({name: "1"})) == ([] if told is None else [told])
