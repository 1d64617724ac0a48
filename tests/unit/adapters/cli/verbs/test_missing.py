"""A model that `run` names and the catalog lacks."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.choices import Choice
from blazar.domain.errors import ChoiceOpen
from tests.support.command_line import Cli, FakeRoot, StubDaemon, Terminal, chat_lines

MISSING = {"error": "model not found"}
PULLED: list[Any] = [{"status": "pulling manifest"}, {"status": "success", "fresh": True, "model": "tiny:1b"}]


@pytest.fixture(autouse=True)
def daemon(root: FakeRoot, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> StubDaemon:
    """It has `tiny:1b` as soon as that was pulled."""
    root.use(stub)
    monkeypatch.setattr("sys.stdin", Terminal())
    serve = stub.handle

    def handle(request: Any) -> None:
        stub.answers["POST", "/api/chat"] = (200, chat_lines("Hi")) if stub.bodies("/api/pull") else (404, MISSING)
        stub.answers["POST", "/api/load"] = (200, {}) if stub.bodies("/api/pull") else (404, MISSING)
        serve(request)

    monkeypatch.setattr(stub, "handle", handle)
    stub.answers["POST", "/api/pull"] = (200, PULLED)
    stub.answers["GET", "/api/tags"] = (200, {"models": [{"name": "other:7b", "size": 1}]})
    stub.answers["POST", "/api/show"] = (200, {"capabilities": []})
    return stub


def test_it_is_downloaded_and_asked_by_the_catalog_s_name(cli: Cli, daemon: StubDaemon) -> None:
    """And that is said."""
    said = cli("run", "tiny:1b", "hi")
    assert (said.code, said.out) == (0, "Hi\n")
    assert said.err == "'tiny:1b' is not here: downloading it\npulling manifest\n"
    assert [body["model"] for body in daemon.bodies("/api/chat")] == ["tiny:1b", "tiny:1b"]
    assert daemon.bodies("/api/pull") == [{"model": "tiny:1b", "as": ""}]


def test_json_has_no_other_word(cli: Cli) -> None:
    """One object at the end."""
    said = cli("run", "hf:a/b:Q4_0", "hi", "--json")
    assert (said.json()["message"]["content"], said.err) == ("Hi", "")


def test_a_conversation_begins_with_it(cli: Cli, daemon: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded by its name."""
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("hi\n"))
    assert cli("run", "hf:a/b", "-i").code == 0
    assert daemon.bodies("/api/load") == [{"model": "hf:a/b"}, {"model": "tiny:1b"}]
    assert daemon.bodies("/api/chat")[-1]["model"] == "tiny:1b"


def test_a_conversation_is_announced_when_its_model_is_there(
    cli: Cli, daemon: StubDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the download and by its name; where nothing comes nobody is greeted."""

    def leave(_: str) -> str:
        raise EOFError

    order: list[str] = []
    monkeypatch.setattr("builtins.input", leave)
    monkeypatch.setattr("builtins.print", lambda *words, **_: order.extend(map(str, words)))
    assert cli("run", "hf:a/b").code == 0
    assert order.index(teaching.run_pulls("hf:a/b")) < order.index(teaching.repl_hello("tiny:1b"))
    order.clear()
    monkeypatch.setattr(daemon, "bodies", lambda _: [])
    daemon.answers["POST", "/api/pull"] = (404, {"error": "no such model"})
    assert cli("run", "hf:a/c").code == 1
    assert not any(word.startswith("talking to") for word in order)


def test_what_was_pulled_by_that_reference_is_not_asked_for_again(cli: Cli, daemon: StubDaemon) -> None:
    """The registry need not even answer."""
    daemon.answers["GET", "/api/tags"] = (200, {"models": [{"name": "b-q4_0", "size": 1}]})
    cli("run", "hf:a/b:Q4_0", "hi")
    assert daemon.bodies("/api/pull") == []
    assert daemon.bodies("/api/chat")[-1]["model"] == "b-q4_0"


@pytest.mark.parametrize(
    "reference",
    [
        "127.0.0.1:5000/team/scripted",
        "registry.example/team/scripted:1",
        "http://127.0.0.1:5000/team/scripted",
        "http://127.0.0.1:5000/files/a.gguf",
        "https://files.example/a.gguf?x=1",
        "hf.co/org/repo:Q4_0",
        "org/repo/sub/a.gguf",
        "ollama:me/mine",
    ],
)
def test_every_reference_is_downloaded(cli: Cli, daemon: StubDaemon, reference: str) -> None:
    """Whatever `pull` takes; whether a registry may be asked is the pull's to say."""
    assert cli("run", reference, "hi").code == 0
    assert [body["model"] for body in daemon.bodies("/api/pull")] == [reference]


def test_an_address_that_is_no_reference_hears_why(cli: Cli, daemon: StubDaemon) -> None:
    """That no model is called so is no news."""
    said = cli("run", "http://files.example/a.gguf", "hi")
    assert "without TLS" in said.err or "https" in said.err
    assert "not found" not in said.err
    assert daemon.bodies("/api/pull") == []


def test_a_model_that_is_only_called_alike_does_not_answer(cli: Cli, daemon: StubDaemon) -> None:
    """The daemon would have found it by where it came from: another publisher's is another model, and the pull says that the name is taken."""
    daemon.answers["GET", "/api/tags"] = (200, {"models": [{"name": "b-q4_0", "size": 1}]})
    daemon.answers["POST", "/api/show"] = (200, {"capabilities": [], "pulled_from": "hf:other/b:Q4_0"})
    cli("run", "hf:a/b:Q4_0", "hi")
    assert [body["model"] for body in daemon.bodies("/api/pull")] == ["hf:a/b:Q4_0"]


@pytest.mark.parametrize("word", ["othr", "other", "./x.gguf", "a b"])
def test_a_mistyped_word_is_asked_for_nowhere(cli: Cli, daemon: StubDaemon, word: str) -> None:
    """A bare word that is close to a name of the catalog, and what is no reference: the daemon's sentence stands."""
    assert cli("run", word, "hi") == (1, "", "error: model not found\n")
    assert daemon.bodies("/api/pull") == []


def test_what_is_nowhere_says_both(cli: Cli, daemon: StubDaemon) -> None:
    """Why it is not here, and why it did not come."""
    daemon.answers["POST", "/api/pull"] = (404, {"error": "no such model there"})
    said = cli("run", "zzz", "hi", "-q")
    assert (said.code, said.err) == (
        1,
        "error: model not found; it could not be downloaded either: no such model there\n",
    )


def test_an_adapter_answers_nothing(cli: Cli, daemon: StubDaemon) -> None:
    """It was downloaded, and where it lies is said."""
    daemon.answers["POST", "/api/pull"] = (200, [{"status": "success", "fresh": True, "path": "/a"}])
    said = cli("run", "a/b", "hi", "-q")
    assert said.code == 1
    assert "/a" in said.err


def test_other_refusals_download_nothing(cli: Cli, root: FakeRoot, daemon: StubDaemon) -> None:
    """A key that may not, a field that is wrong."""
    other = StubDaemon()
    try:
        other.answers["POST", "/api/chat"] = (403, {"error": "not yours"})
        root.use(other)
        assert cli("run", "tiny", "hi") == (1, "", "error: not yours\n")
    finally:
        other.close()


@pytest.mark.parametrize("quiet", [False, True])
def test_which_of_several_is_asked_as_pull_asks_it(cli: Cli, daemon: StubDaemon, quiet: bool) -> None:
    """Nothing failed: no words of what could not be found."""
    question = ChoiceOpen("a/b", [Choice("Q8_0", 8 << 30), Choice("Q4_K_M", 4 << 30)])
    daemon.answers["POST", "/api/pull"] = (404, {"error": str(question), **question.facts})
    said = cli("run", "hf:a/b", "hi", *(["-q"] if quiet else []))
    which = str(question) if quiet else teaching.choose_of_these("a/b", "hf:a/b:Q4_K_M", "")
    assert said.err.splitlines()[-1] == f"error: {which}"
    assert "Q8_0" in said.err
