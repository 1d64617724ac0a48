"""`blazar fit`: who is asked, with which words, and how it ends."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli, FakeRoot, StubDaemon
from tests.support.fit_answers import answer, quant, repository


@pytest.fixture
def asked(root: FakeRoot) -> list[dict[str, Any]]:
    """The questions that are answered here."""
    questions: list[dict[str, Any]] = []

    def fitting(question: Any) -> dict[str, Any]:
        questions.append(dict(question))
        return repository()

    root.fitting = fitting
    return questions


def test_without_a_daemon_it_is_answered_here(cli: Cli, asked: list[dict[str, Any]]) -> None:
    """A page for people; the body for programs; with --quiet what to take."""
    said = cli("fit", "tiny")
    assert (said.code, said.err) == (0, "")
    assert "take Q4_K_M" in said.out
    assert cli("fit", "tiny", "--json").json() == repository()
    assert cli("fit", "tiny", "--quiet").out == "Q4_K_M\n"
    assert asked == [{"model": "tiny"}] * 3


def test_words_become_the_body_of_a_question(cli: Cli, asked: list[dict[str, Any]]) -> None:
    """What is not said is not there; cards of 0 are a machine without."""
    cli("fit", "m", "--ctx", "32768", "--slots", "2", "--kv", "q8_0,q4_0", "--gpu", "24,7.5", "--ram", "64")
    cli("fit", "m", "--gpu", "0")
    cli("fit", "m", "--gpu", "none")
    assert asked[0] == {
        "model": "m",
        "ctx": 32768,
        "slots": 2,
        "kv": "q8_0,q4_0",
        "gpu": [24.0, 7.5],
        "ram": 64.0,
    }
    assert asked[1] == asked[2] == {"model": "m", "gpu": []}


@pytest.mark.parametrize("words", ["--gpu 24,x", "--gpu ''", "--ctx many", "--ctx -5", "--ram much", ""])
def test_wrong_words_are_wrong_use(cli: Cli, asked: list[dict[str, Any]], words: str) -> None:
    """Exit 2, one line, nothing asked."""
    given = [word.strip("'") for word in words.split()]
    said = cli("fit", *(["m"] if words else []), *given)
    assert (said.code, said.err.count("\n"), asked) == (2, 1, [])


def test_a_path_is_made_absolute(
    cli: Cli, asked: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it looks like one or is there; names and references stay words, whatever lies here."""
    (tmp_path / "me").mkdir()
    (tmp_path / "me" / "m").touch()
    (tmp_path / "tiny").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    here = str(tmp_path)
    for target, meant in (
        ("me/m", f"{here}/me/m"),
        ("me/other", "me/other"),
        ("x.gguf", f"{here}/x.gguf"),
        ("./x", f"{here}/x"),
        ("~/x", f"{here}/x"),
        ("tiny", "tiny"),
        ("hf:me/m", "hf:me/m"),
        ("https://huggingface.co/me/m", "https://huggingface.co/me/m"),
        ("qwen3:8b", "qwen3:8b"),
    ):
        cli("fit", target)
        assert asked[-1]["model"] == meant


def test_the_daemon_of_this_folder_knows_who_uses_what(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """It is asked; about an imagined machine, or with a token of this shell, we know as much."""
    stub.answers["POST", "/api/fit"] = (200, answer())
    root.use(stub)
    root.fitting = lambda _: repository()
    assert cli("fit", "tiny", "--json").json() == answer()
    assert stub.bodies("/api/fit") == [{"model": "tiny"}]
    assert cli("fit", "tiny", "--gpu", "24", "--json").json() == repository()
    assert cli("fit", "tiny", "--ram", "24", "--json").json() == repository()
    root.env = {"HF_TOKEN": "x"}
    assert cli("fit", "hf:me/m", "--json").json() == repository()
    assert cli("fit", "tiny", "--json").json() == answer()


def test_a_named_daemon_is_always_asked(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """It is its machine that is meant, and its refusals are said as they are."""
    stub.answers["POST", "/api/fit"] = (200, answer())
    root.use(stub, explicit=True)
    root.env = {"HF_TOKEN": "x"}
    assert cli("fit", "hf:me/m", "--gpu", "24").code == 0
    assert stub.bodies("/api/fit") == [{"model": "hf:me/m", "gpu": [24.0]}]
    stub.answers["POST", "/api/fit"] = (403, {"error": {"message": "the path is elsewhere"}})
    said = cli("fit", "/x.gguf")
    assert (said.code, said.err) == (1, "error: the path is elsewhere\n")


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["never"], 1),
        (["refused"], 1),
        (["never", "fits"], 0),
        (["fits-after-eviction"], 0),
        (["fits-from-disk"], 0),
        (["never", "refused"], 1),
    ],
)
def test_it_ends_with_1_when_nothing_can_be_loaded(cli: Cli, root: FakeRoot, outcomes: list[str], code: int) -> None:
    """A script may go on to load it; the page is printed all the same."""
    rows = [quant(f"Q{at}", 3.0, outcome) for at, outcome in enumerate(outcomes)]
    root.fitting = lambda _: answer(*rows, take=None)
    said = cli("fit", "m")
    assert said.code == code
    assert said.out
    assert said.err == ""
