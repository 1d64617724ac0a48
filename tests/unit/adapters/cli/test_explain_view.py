"""A command line flag by flag, and what the running child was told otherwise."""

from typing import Any

from blazar.adapters.cli.explain_view import command_lines, difference_lines

DECISIONS = [
    {"words": ["--model", "/models/a model.gguf" + "x" * 40], "key": "model_path", "reason": "what is served"},
    {"words": ["--ctx-size", "4096"], "key": "ctx_size", "reason": "ctx (config.toml, line 3)"},
    {"words": ["--metrics"], "key": "", "reason": "the counters"},
    {"words": [], "key": "numa", "reason": "--numa gives way to extra_args"},
]
ARGV = ["/engines/b1/llama-server", *(word for one in DECISIONS for word in one["words"])]


def test_every_flag_stands_beside_its_reason() -> None:
    """The program first, a long flag above its reason, what was left out at the end; words ready to be pasted."""
    assert list(command_lines(ARGV, DECISIONS)) == [
        "argv",
        "  /engines/b1/llama-server",
        "  --model '/models/a model.gguf" + "x" * 40 + "'",
        "                   what is served",
        "  --ctx-size 4096  ctx (config.toml, line 3)",
        "  --metrics        the counters",
        "left out",
        "  --numa gives way to extra_args",
    ]


def test_the_endpoint_stands_last() -> None:
    """As on the child's own command line; the program's words before the first flag are still found."""
    endpoint = [{"words": ["--port", "PORT"], "key": "", "reason": "a free port"}]
    lines = list(command_lines(ARGV, DECISIONS, endpoint))
    assert lines[1] == "  /engines/b1/llama-server"
    assert lines[-3:] == ["  --port PORT      a free port", "left out", "  --numa gives way to extra_args"]


def test_what_drives_a_terminal_does_not_reach_it() -> None:
    """A value may come from a hostile file."""
    lines = list(command_lines(["x", "--a\x1b[2J"], [{"words": ["--a\x1b[2J"], "key": "", "reason": "b\x07"}]))
    assert not any(ord(character) < 32 for line in lines for character in line)


def found(**changes: Any) -> dict[str, Any]:
    """Nothing differs, but for `changes`."""
    nothing = {"added": [], "removed": [], "changed": []}
    return {"pid": 7, **nothing, "env": dict(nothing), "engine": None, **changes}


def test_no_difference_is_said() -> None:
    """Silence would read as not having looked."""
    assert list(difference_lines(found())) == ["the child that runs (pid 7) was told the same"]


def test_every_difference_is_one_line() -> None:
    """Flags with their values, variables by name, the build."""
    changed = [{"flag": "--ctx-size", "was": "4096", "is": "8192"}, {"flag": "--x", "was": "", "is": "1"}]
    env = {"added": ["A"], "removed": ["B"], "changed": ["C"]}
    engine = {"was": "b1", "is": "b2"}
    everything = found(added=["--numa isolate"], removed=["--swa-full"], changed=changed, env=env, engine=engine)
    assert list(difference_lines(everything)) == [
        "otherwise than the child that runs (pid 7)",
        "  engine b2 instead of b1",
        "  + --numa isolate",
        "  - --swa-full",
        "  ~ --ctx-size: 4096 -> 8192",
        "  ~ --x: - -> 1",
        "  + environment variable A",
        "  - environment variable B",
        "  ~ environment variable C",
    ]
