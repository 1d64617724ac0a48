"""Configuration files that nobody would write: each is refused, in sentences that are short, harmless and without secrets."""

import tracemalloc

import pytest

from blazar.application.config.layers import load_config
from blazar.domain.errors import BadConfig
from blazar.domain.harmless import LONGEST

SECRET = "plm_never_repeat_me"
WITH_SECRET = {
    "a list in its place": f'[[keys]]\nname = "a"\nkey = ["{SECRET}"]',
    "without quotes": f"[[keys]]\nname = 'a'\nkey = {SECRET}",
    "beside a mistake": f'[[keys]]\nname = 5\nkey = "{SECRET}"',
    "in the place of the table": f'keys = "{SECRET}"',
    "in a list in its place": f'keys = ["{SECRET}"]',
    "twice": f'[[keys]]\nname = "a"\nkey = "{SECRET}"\n[[keys]]\nname = "b"\nkey = "{SECRET}"',
    "said twice": f'[[keys]]\nname = "a"\nkey = "{SECRET}"\nkey = "{SECRET}"',
    "without its end": f'[[keys]]\nname = "a"\nkey = "{SECRET}',
    "as a key": f'[[keys]]\nname = "a"\nkey = "x"\n{SECRET} = 1',
    "as a table": f'["{SECRET}"]\na = 1',
    "of a URL": f'[[remotes]]\nname = "a"\nurl = "https://user:{SECRET}@h"',
    "of a remote": f'[[remotes]]\nname = "a"\nurl = "http://203.0.113.7"\nkey = "{SECRET}"',
    "of an engine": f'[engine_env]\nA = ["{SECRET}"]',
    "as a variable": f'[engine_env]\n"{SECRET} x" = "1"',
    "of all variables": f'engine_env = "{SECRET}"',
    "of a server": f'[[mcp]]\nname = "a"\ncommand = ["x"]\nenv = "{SECRET}"',
    "in JSON": f'mcp_servers_json = "{{{SECRET}"',
    "as older files have it": f'api_keys = ["{SECRET}"]',
}
STEERING = {
    "key": '"a\\nb\\u001b[2J" = 1',
    "table": '["\\u001b[2J"]\nx = 1',
    "override": '[model_overrides."\\u001b[2J"]\nctx = 512',
    "turned round": '"\\u202eabc" = 1',
    "value": 'cache_type = "\\u001b[2J"',
    "as it is": "\x1b[2J = 1",
}
LARGE = {
    "unknown keys": "".join(f"k{number} = 1\n" for number in range(10_000)),
    "overrides": "".join(f'[model_overrides."m{number}"]\nctxx = 1\n' for number in range(2_000)),
    "a long key": "x" * 10**6 + " = 1",
    "a long name": f'[model_overrides."{"x" * 10**6}"]\nctx = 512',
    "a long value": f'cache_type = "{"x" * 10**6}"',
    "a long word": f'[model_overrides.m]\nextra_args = ["{"x" * 10**6}"]',
    "dots": ".".join(["a"] * 100_000) + " = 1",
    "brackets": "preload = " + "[" * 10**6,
    "digits": "port = " + "9" * 10**6,
    "hexadecimal digits": "port = 0x" + "f" * 10**6,
}


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(BadConfig) as caught:
        load_config(text, "config.toml")
    return caught.value.problems


@pytest.mark.parametrize("text", WITH_SECRET.values(), ids=WITH_SECRET)
def test_a_secret_is_never_repeated(text: str) -> None:
    """Wherever a slip has put it; what was wrong is told all the same."""
    told = problems(text)
    assert told
    assert SECRET not in " ".join(told)


@pytest.mark.parametrize("text", STEERING.values(), ids=STEERING)
def test_a_sentence_steers_no_terminal(text: str) -> None:
    """Escapes are spelled, in whatever place of the file they stand."""
    assert all(problem.isprintable() for problem in problems(text))


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_a_large_file_is_refused_in_bearable_words(text: str) -> None:
    """A bounded number of sentences of bounded length, in a bounded part of memory."""
    tracemalloc.start()
    try:
        told = problems(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(told) <= 201
    assert all(len(problem) <= LONGEST + 1 for problem in told)
    assert peak < 200 * len(text) + 50 * 2**20


def test_ten_thousand_overrides_are_taken() -> None:
    """Many models are no attack."""
    loaded = load_config("".join(f'[model_overrides."m{n}"]\nctx = 512\n' for n in range(10_000)), "config.toml")
    assert len(loaded.config.model_overrides) == 10_000
