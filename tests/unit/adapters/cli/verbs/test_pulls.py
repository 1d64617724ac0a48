"""The pull verb, with and without a daemon."""

import os
import signal
from typing import Any

import pytest

from blazar.application.models.pulling import Pulled, Step
from blazar.domain import teaching
from blazar.domain.choices import Choice
from blazar.domain.errors import ChoiceOpen, NotFound, RegistryTrouble
from tests.support.command_line import Cli, FakeRoot, StubDaemon, model

DIGEST = "sha256:" + "a" * 64
STEPS = [Step("pulling manifest"), Step("pulling aaaaaaaaaaaa", DIGEST, 100, 100, "m.gguf")]
LINES: list[Any] = [
    {"status": "pulling manifest"},
    {"status": "pulling aaaaaaaaaaaa", "digest": DIGEST, "total": 100, "completed": 100, "file": "m.gguf"},
    {"status": "success", "fresh": True, "model": "tiny", "notes": ["n"]},
]
ROW = {"name": "tiny", "model": "tiny", "size": 3 * 2**29}


@pytest.fixture
def daemon(root: FakeRoot, stub: StubDaemon) -> StubDaemon:
    """One that pulls."""
    root.use(stub)
    stub.answers["POST", "/api/pull"] = (200, LINES)
    stub.answers["GET", "/api/tags"] = (200, {"models": [ROW]})
    stub.answers["POST", "/api/show"] = (200, {"capabilities": ["completion"]})
    return stub


def test_without_a_daemon_it_is_done_here(cli: Cli, root: FakeRoot) -> None:
    """What was asked for is passed on; how far it is stands on stderr."""
    root.models.steps = STEPS
    said = cli("pull", "a/b", "--name", "n", "--with", "vae=c/d", "--draft=e/f")
    assert root.models.pulls == [("a/b", "n", (("vae", "c/d"),), "e/f")]
    assert said.out == "pulled 'tiny' (1.50 GiB): blazar run tiny\n"
    assert said.err == "pulling manifest\nm.gguf: 100 bytes\n"


def test_the_daemon_is_asked_where_one_answers(cli: Cli, daemon: StubDaemon, root: FakeRoot) -> None:
    """So that two who want the same share one download."""
    said = cli("pull", "a/b", "--with", "vae=c/d", "--draft")
    assert daemon.bodies("/api/pull") == [{"model": "a/b", "as": "", "with": {"vae": "c/d"}, "draft": "auto"}]
    assert said == (
        0,
        "note: n\npulled 'tiny' (1.50 GiB): blazar run tiny\n",
        "pulling manifest\nm.gguf: 100 bytes\n",
    )
    assert root.models.pulls == []


def test_json_is_one_document(cli: Cli, daemon: StubDaemon, root: FakeRoot) -> None:
    """With the row as `list` has it; no word on stderr."""
    said = cli("pull", "a/b", "--json")
    assert (said.json(), said.err) == ({**ROW, "fresh": True, "notes": ["n"]}, "")
    root.note = None
    said = cli("pull", "a/b", "--json")
    assert (said.json()["name"], said.json()["fresh"], said.err) == ("tiny", True, "")


def test_quiet_says_nothing(cli: Cli, root: FakeRoot) -> None:
    """Neither progress nor what came of it."""
    root.models.steps = STEPS
    assert cli("pull", "a/b", "-q") == (0, "", "")


def test_what_is_there_already_is_said_to_be(cli: Cli, root: FakeRoot) -> None:
    """No error, and nothing was fetched."""
    root.models.pulled = Pulled(model(), fresh=False)
    assert cli("pull", "a/b").out == teaching.pulled_already("tiny", "blazar run tiny") + "\n"


def test_what_nothing_serves_is_not_recommended(cli: Cli, root: FakeRoot, daemon: StubDaemon) -> None:
    """By the daemon's word, or by what is installed here: the sentence says how to get what is missing."""
    last = {"status": "success", "fresh": True, "model": "tiny", "unserved": "no mlx engine"}
    daemon.answers["POST", "/api/pull"] = (200, [last])
    said = cli("pull", "a/b").out
    assert teaching.use_unserved("no mlx engine") in said
    assert "blazar run" not in said
    assert cli("pull", "a/b", "--json").json()["unserved"] == "no mlx engine"
    root.note = None
    for fresh in (True, False):
        root.models.pulled = Pulled(model(), fresh=fresh, unserved="no mlx engine")
        said = cli("pull", "a/b").out
        assert said.endswith(f": {teaching.use_unserved('no mlx engine')}\n")
        assert "blazar run" not in said


def test_an_adapter_is_no_model(cli: Cli, root: FakeRoot, daemon: StubDaemon) -> None:
    """Its note says what it is good for; whether it came or was there already is said as of a model."""
    daemon.answers["POST", "/api/pull"] = (200, [{"status": "success", "fresh": True, "path": "/a", "notes": ["n"]}])
    assert cli("pull", "a/b").out == f"note: n\n{teaching.adapter_came('/a')}\n"
    assert cli("pull", "a/b", "--json").json() == {"fresh": True, "notes": ["n"], "path": "/a"}
    root.note = None
    root.models.pulled = Pulled(None, fresh=True, path="/a", notes=("n",))
    assert cli("pull", "a/b", "--json").json() == {"fresh": True, "notes": ["n"], "path": "/a"}
    root.models.pulled = Pulled(None, fresh=False, path="/a")
    assert cli("pull", "a/b").out == f"{teaching.adapter_there('/a')}\n"


@pytest.mark.parametrize(
    ("able", "use"),
    [
        ("image", teaching.use_drawing()),
        ("embedding", teaching.use_embedding()),
        ("rerank", teaching.use_ranking()),
        ("completion", "blazar run tiny"),
    ],
)
def test_what_it_is_good_for(cli: Cli, daemon: StubDaemon, able: str, use: str) -> None:
    """As the daemon says what it can do."""
    daemon.answers["POST", "/api/show"] = (200, {"capabilities": [able]})
    assert cli("pull", "a/b").out.endswith(f": {use}\n")


def test_what_was_removed_right_behind_was_pulled_all_the_same(cli: Cli, daemon: StubDaemon) -> None:
    """By somebody else, between the last line and the question what it is good for."""
    daemon.answers["POST", "/api/show"] = (404, {"error": "model 'tiny' not found"})
    said = cli("pull", "a/b")
    assert (said.code, said.out) == (0, "note: n\npulled 'tiny' (1.50 GiB): blazar run tiny\n")


def test_an_error_is_exit_1(cli: Cli, root: FakeRoot, daemon: StubDaemon) -> None:
    """Before the answer has begun, in it, and when it ends too early; here, too."""
    daemon.answers["POST", "/api/pull"] = (404, {"error": "no such model"})
    assert cli("pull", "a/b") == (1, "", "error: no such model\n")
    daemon.answers["POST", "/api/pull"] = (200, [LINES[0], {"error": "gone"}])
    assert cli("pull", "a/b") == (1, "", "pulling manifest\nerror: gone\n")
    daemon.answers["POST", "/api/pull"] = (200, LINES[:1])
    said = cli("pull", "a/b")
    lost = teaching.pull_daemon_lost(teaching.daemon_gone(daemon.url), "blazar pull a/b")
    assert (said.code, said.err) == (1, f"pulling manifest\nerror: {lost}\n")
    assert "what came is kept, and blazar pull a/b goes on from there" in lost
    root.note = None
    root.models.pulled = RegistryTrouble("gone")
    assert cli("pull", "a/b") == (1, "", "error: gone\n")
    root.models.pulled = NotFound("no such model")
    assert cli("pull", "a/b").code == 1


@pytest.mark.parametrize("words", [(), ("--draft",), (" ",), ("a/b", "--with", "vae"), ("a/b", "--with", "=x")])
def test_words_that_mean_no_pull(cli: Cli, root: FakeRoot, words: tuple[str, ...]) -> None:
    """Wrong usage."""
    assert cli("pull", *words).code == 2
    assert root.models.pulls == []


def test_a_draft_that_took_the_reference_gives_it_back(cli: Cli, root: FakeRoot) -> None:
    """`pull --draft REF` means REF with the draft that goes with it."""
    assert cli("pull", "--draft", "a/b").code == 0
    assert root.models.pulls == [("a/b", "", (), "auto")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_says_how_to_go_on(
    cli: Cli, root: FakeRoot, daemon: StubDaemon, number: signal.Signals, code: int
) -> None:
    """An order to end does, too; the connection is closed, so that the daemon stops where nobody else waits."""
    fill = {"status": "x" * 65536}
    daemon.answers["POST", "/api/pull"] = (
        200,
        [LINES[0], lambda: os.kill(os.getpid(), number), *([fill] * 2000)],
    )
    said = cli("pull", "a/b", "--name", "my n", "--draft", "--with", "vae=c", "-q")
    command = "blazar pull a/b --name 'my n' --with vae=c --draft"
    assert (said.code, said.err) == (code, f"error: {teaching.pull_interrupted(command)}\n")
    assert daemon.gone.wait(20)
    root.note = None
    root.models.pulled = KeyboardInterrupt()
    assert cli("pull", "a/b", "--draft=c/d").err.endswith("blazar pull a/b --draft=c/d goes on from there\n")


@pytest.mark.parametrize(
    "words",
    [
        ("https://host.example/m.gguf?token=SECRET",),
        ("https://me:SECRET@host.example/m.gguf",),
        ("a/b", "--with", "vae=https://host.example/v.gguf?token=SECRET"),
        ("a/b", "--draft=https://host.example/d.gguf?token=SECRET"),
    ],
)
def test_how_to_go_on_shows_no_secret_of_an_address(cli: Cli, root: FakeRoot, words: tuple[str, ...]) -> None:
    """A log of the terminal is read by others; whoever wrote the command knows it."""
    root.note = None
    root.models.pulled = KeyboardInterrupt()
    said = cli("pull", *words)
    assert said.err == f"error: {teaching.pull_interrupted(teaching.pull_same_command())}\n"


def test_which_of_several_is_a_table_and_a_sentence(cli: Cli, root: FakeRoot) -> None:
    """With --json and --quiet the sentence has them all."""
    choices = [Choice("Q8_0", 8 << 30, "too large"), Choice("Q4_K_M", 4 << 30, "fits")]
    root.models.pulled = ChoiceOpen("a/b", choices)
    said = cli("pull", "a/b")
    assert (said.code, said.out) == (1, "")
    *table, error = said.err.splitlines()
    assert [line.split()[0] for line in table] == ["VERSION", "Q4_K_M", "Q8_0"]
    assert error == "error: " + teaching.choose_of_these("a/b", "hf:a/b:Q4_K_M", "")
    root.models.pulled = ChoiceOpen("a/b", choices, asked="Q9_Z")
    assert cli("pull", "a/b:Q9_Z").err.splitlines()[-1].startswith("error: a/b has no quantisation Q9_Z: say which")
    assert "Q8_0 (8.00 GiB, too large, about)" in cli("pull", "a/b", "-q").err
    assert "Q8_0 (8.00 GiB, too large, about)" in cli("pull", "a/b", "--json").err


def test_a_daemon_asks_which_of_several_as_we_do(cli: Cli, daemon: StubDaemon) -> None:
    """The same table: before its answer has begun, and in it."""
    question = ChoiceOpen("a/b", [Choice("Q8_0", 8 << 30, "too large"), Choice("Q4_K_M", 4 << 30, "fits")])
    body = {"error": str(question), **question.facts}
    for answer in ((404, body), (200, [body])):
        daemon.answers["POST", "/api/pull"] = answer
        said = cli("pull", "a/b")
        *table, error = said.err.splitlines()
        assert [line.split()[0] for line in table] == ["VERSION", "Q4_K_M", "Q8_0"]
        assert (said.code, error) == (1, "error: " + teaching.choose_of_these("a/b", "hf:a/b:Q4_K_M", ""))
        assert "Q8_0 (8.00 GiB, too large, about)" in cli("pull", "a/b", "-q").err


@pytest.mark.parametrize("choices", [[], "x", [1], [{"size": 3}]])
def test_what_is_no_choice_is_a_sentence(cli: Cli, daemon: StubDaemon, choices: Any) -> None:
    """Something else may answer there."""
    daemon.answers["POST", "/api/pull"] = (404, {"error": "which?", "choices": choices})
    assert cli("pull", "a/b") == (1, "", "error: which?\n")


@pytest.mark.parametrize("variable", ["HF_TOKEN", "BLAZAR_REGISTRY_TOKEN"])
def test_a_daemon_s_token_is_in_its_own_environment(
    cli: Cli, daemon: StubDaemon, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """What is set for this command never gets there; the one that counts is named."""
    monkeypatch.setenv("HF_TOKEN", "tok")
    told = teaching.remote_gated("a/b", "hub", variable)
    for answer in ((403, {"error": told}), (200, [LINES[0], {"error": told}])):
        daemon.answers["POST", "/api/pull"] = answer
        said = cli("pull", "a/b", "-q")
        assert (said.code, said.err) == (1, f"error: {teaching.pull_daemon_environment(told, variable)}\n")
        assert f"{variable}=… blazar restart" in said.err


def test_a_note_that_was_shown_is_not_repeated(cli: Cli, daemon: StubDaemon) -> None:
    """Neither as progress nor at the end."""
    noted = {"status": "pulling manifest", "note": "n"}
    daemon.answers["POST", "/api/pull"] = (200, [noted, noted, LINES[2]])
    said = cli("pull", "a/b")
    assert (said.out.count("note: n"), said.err.count("note: n")) == (0, 1)


def test_the_hub_of_this_shell_is_told_to_the_daemon(cli: Cli, root: FakeRoot, daemon: StubDaemon) -> None:
    """Which says where it asks another; of a reference to another registry there is nothing to say."""
    daemon.answers["POST", "/api/pull"] = (200, LINES)
    root.env["HF_ENDPOINT"] = "https://mirror"
    for reference, told in (("a/b", "https://mirror"), ("ollama:a/b", None)):
        cli("pull", reference, "-q")
        assert daemon.bodies("/api/pull")[-1].get("hub") == told
