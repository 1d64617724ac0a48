"""The words that may be typed."""

import subprocess
import sys

import pytest

from blazar.adapters.cli.completion import nodes
from blazar.adapters.cli.parser import UsageError, build_parser, parse
from blazar.adapters.cli.verbs import VERBS, find_verb

TABLE = [
    ("serve", "serve", {"bind_host": None, "bind_port": None, "detach": False}),
    ("start --detach", "serve", {"detach": True}),
    (
        "serve --host 0.0.0.0 --port 0 --config c.toml",
        "serve",
        {"bind_host": "0.0.0.0", "bind_port": 0, "config": "c.toml"},
    ),
    ("stop", "stop", {}),
    ("restart --port 1", "restart", {"bind_port": 1}),
    ("status", "status", {}),
    ("logs", "logs", {"model": None, "follow": False, "lines": 200}),
    ("logs -f -n 0 tiny", "logs", {"model": "tiny", "follow": True, "lines": 0}),
    ("run tiny", "run", {"model": "tiny", "prompt": [], "think": None}),
    ("run tiny say hi", "run", {"prompt": ["say", "hi"]}),
    ("run tiny --no-think --system S say hi -v", "run", {"prompt": ["say", "hi"], "think": False, "verbose": True}),
    ("run tiny --set a=1 --set b=2 -", "run", {"set": ["a=1", "b=2"], "prompt": ["-"]}),
    ("import /m.gguf --name n", "import", {"path": "/m.gguf", "name": "n"}),
    ("list", "list", {}),
    ("ls", "list", {}),
    ("show tiny -v", "show", {"model": "tiny", "verbose": True}),
    ("rm a b --force", "rm", {"models": ["a", "b"], "force": True}),
    ("cp a b", "cp", {"source": "a", "target_name": "b"}),
    ("create m", "create", {"name": "m", "file": "Modelfile"}),
    ("create m -f M", "create", {"name": "m", "file": "M"}),
    ("search qwen3 coder", "search", {"words": ["qwen3", "coder"], "limit": 10}),
    ("ps --reset", "ps", {"reset": True}),
    ("load tiny --keep-alive -1", "load", {"keep_alive": "-1"}),
    ("evict tiny#1 -f", "evict", {"model": "tiny#1", "force": True}),
    ("unload tiny@vision", "evict", {"model": "tiny@vision"}),
    ("explain tiny", "explain", {"model": "tiny"}),
    ("fit tiny", "fit", {"model": "tiny", "ctx": 0, "slots": 0, "kv": "", "gpu": None, "ram": None}),
    ("fit x --gpu 24,7.5 --ram 64 --kv q8_0", "fit", {"gpu": (24.0, 7.5), "ram": 64.0, "kv": "q8_0"}),
    ("fit x --gpu none --ctx 4096 --slots 2", "fit", {"gpu": (), "ctx": 4096, "slots": 2}),
    ("engine list", "engine-list", {}),
    ("engine install f.zip --sha256 ab --tag t", "engine-install", {"file": "f.zip", "sha256": "ab", "tag": "t"}),
    ("engine use t", "engine-use", {"tag": "t"}),
    ("engine install", "engine-install", {"file": None, "kind": "llamacpp", "asset": None}),
    ("engine list --available", "engine-list", {"available": True}),
    ("engine install --kind mlx --backend cpu", "engine-install", {"kind": "mlx", "backend": "cpu", "lane": None}),
    ("engine install --lane novel", "engine-install", {"lane": "novel", "fork": None, "arch": []}),
    ("engine install --fork o/n@0 --arch a --arch b", "engine-install", {"fork": "o/n@0", "arch": ["a", "b"]}),
    ("engine install --kind sdcpp --asset cpu", "engine-install", {"kind": "sdcpp", "asset": "cpu"}),
    ("engine update --kind sdcpp --no-gate", "engine-update", {"kind": "sdcpp", "no_gate": True}),
    ("engine check", "engine-check", {}),
    ("engine build cpu --source s.tar.gz", "engine-build", {"backend": "cpu", "source": "s.tar.gz"}),
    ("engine rollback --kind mlx", "engine-rollback", {"kind": "mlx"}),
    ("engine pin t", "engine-pin", {"tag": "t"}),
    ("engine unpin t", "engine-unpin", {"tag": "t"}),
    ("engine rm t", "engine-rm", {"tag": "t"}),
    ("config get port", "config-get", {"key": "port"}),
    ("config list", "config-list", {}),
    ("keys add x --model m --rpm 3", "keys-add", {"name": "x", "models": ["m"], "rpm": 3, "tpm": None, "weight": None}),
    ("keys list", "keys-list", {}),
    ("keys ls", "keys-list", {}),
    ("keys rm x", "keys-rm", {"name": "x"}),
    ("keys rotate x", "keys-rotate", {"name": "x"}),
    ("keys usage x --days 7", "keys-usage", {"name": "x", "days": 7}),
    ("config defaults", "config-defaults", {}),
    ("config path", "config-path", {}),
    ("config validate", "config-validate", {}),
    ("config schema", "config-schema", {}),
    ("config set port 1", "config-set", {"key": "port", "values": ["1"]}),
    ("config set reasoning_budget -1 --json", "config-set", {"values": ["-1"], "json": True}),
    ("config set x.extra_args -- --temp -0.5", "config-set", {"values": ["--temp", "-0.5"]}),
    ("config unset port", "config-unset", {"keys": ["port"]}),
    ("config set a=1 b=2", "config-set", {"key": "a=1", "values": ["b=2"]}),
    ("config edit", "config-edit", {}),
    ("migrate", "migrate", {}),
    ("doctor", "doctor", {}),
    ("why", "why", {"trace": None, "model": None, "limit": 20}),
    ("why plm-1-2 --model m -n 5", "why", {"trace": "plm-1-2", "model": "m", "limit": 5}),
    ("watch --json", "watch", {"json": True}),
    ("completion bash", "completion", {"shell": "bash"}),
    ("version", "version", {}),
    ("help", "help", {"words": []}),
    ("help engine install", "help", {"words": ["engine", "install"]}),
    ("login", "accounts", {}),
    ("signin", "accounts", {}),
    ("logout", "accounts", {}),
    ("pull", "pull", {}),
    ("pull some/ref", "pull", {"reference": "some/ref", "name": None, "parts": [], "draft": None}),
    ("pull a/b --draft --name n", "pull", {"reference": "a/b", "draft": "auto", "name": "n"}),
    ("pull a/b --draft=c/d --with vae=e", "pull", {"reference": "a/b", "draft": "c/d", "parts": ["vae=e"]}),
]


@pytest.mark.parametrize(("line", "action", "values"), TABLE, ids=[row[0] for row in TABLE])
def test_every_verb_parses(line: str, action: str, values: dict[str, object]) -> None:
    """Each verb of the surface is understood, aliases included."""
    args = parse(line.split())
    assert args.action == action
    assert {name: getattr(args, name) for name in values} == values


def test_every_action_has_a_function_and_every_function_an_action() -> None:
    """The parser and the table of verbs name the same things."""
    assert {row[1] for row in TABLE} == set(VERBS)
    assert all(callable(find_verb(action)) for action in VERBS)


@pytest.mark.parametrize(
    "line", ["--json ps", "ps --json", "--json engine list", "engine --json list", "engine list --json"]
)
def test_common_options_stand_before_or_behind_the_verb(line: str) -> None:
    """--json is the same option wherever it stands, and absent it is off."""
    assert parse(line.split()).json is True
    assert parse([word for word in line.split() if word != "--json"]).json is False


def test_the_two_hosts_do_not_collide() -> None:
    """--host of a client verb names a daemon, that of serve an address to listen on."""
    assert parse(["--host", "u", "ps"]).target == parse(["ps", "--host", "u"]).target == "u"
    serve = parse(["serve", "--host", "0.0.0.0"])
    assert (serve.target, serve.bind_host) == (None, "0.0.0.0")


@pytest.mark.parametrize(
    "line",
    [
        "lst",
        "engine",
        "engine lst",
        "ps --nope",
        "ps extra",
        "run",
        "run tiny hi --nope",
        "serve --port 70000",
        "serve --port x",
        "logs -n -1",
        "completion csh",
        "config get",
        "config set port",
        "config unset",
        "ps --rese",
        "rm",
    ],
)
def test_wrong_words_are_usage_errors(line: str) -> None:
    """Unknown verbs, options and values are refused, and abbreviations are not guessed at."""
    with pytest.raises(UsageError):
        parse(line.split())


def test_no_verb_is_left_without_help() -> None:
    """Every verb has a sentence, and every option says what it does: the help is the man page."""
    parser = build_parser()
    top = parser.format_help()
    for node in nodes(parser):
        assert node.text or not node.path, node
        assert all(option.text for option in node.options), node
        if node.path and " " not in node.path:
            assert node.path in top


def test_words_with_dashes_for_a_key_are_shown_their_place() -> None:
    """Behind --, as the whole command is to be written."""
    with pytest.raises(UsageError, match=r"blazar config set m\.extra_args -- --temp 0"):
        parse(["config", "set", "m.extra_args", "--temp", "0"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["usage: blazar", "verbs:", "serve", "exit codes:", "BLAZAR_HOST"]),
        (["run"], ["usage: blazar run", "MODEL", "--system TEXT", "--keep-alive"]),
        (["serve"], ["--host ADDRESS", "--port N", "--detach"]),
        (["engine", "install"], ["--sha256 HEX", ".tar.gz"]),
    ],
)
def test_help_prints_and_exits_with_zero(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """--help shows usage, options and what they mean."""
    with pytest.raises(SystemExit) as ended:
        parse([*words, "--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(part in out for part in expected)


def test_the_man_page_renders() -> None:
    """argparse-manpage reads build_parser (habit 14)."""
    pytest.importorskip("argparse_manpage")
    words = ["--module", "blazar.adapters.cli.parser", "--function", "build_parser", "--project-name", "blazar"]
    code = "import sys; from argparse_manpage.cli import main; sys.argv[0] = 'argparse-manpage'; main()"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ".TH BLAZAR" in done.stdout.upper()
    assert "engine" in done.stdout


def test_a_prompt_is_not_required() -> None:
    """Without one it is a conversation; only the model has to be named."""
    with pytest.raises(UsageError, match=r"required: MODEL$"):
        parse(["run"])


def test_tables_below_a_help_text_stay_tables() -> None:
    """A paragraph is wrapped; exit codes and variables stand one on a line."""
    lines = build_parser().format_help().splitlines()
    assert "  3    the address or the data folder is taken" in lines
    assert any(line.startswith("  BLAZAR_API_KEY ") for line in lines)
    assert max(map(len, lines)) <= 80
