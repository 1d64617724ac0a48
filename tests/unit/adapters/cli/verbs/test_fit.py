"""`blazar fit`: who is asked, with which words, and how it ends."""

from pathlib import Path
from typing import Any

import pytest

from blazar.domain.errors import Malformed, NotFound
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


def test_windows_may_be_said_in_k(cli: Cli, asked: list[dict[str, Any]]) -> None:
    """As people write them: 32k is 32768."""
    for said, meant in (("32k", 32768), ("128K", 131072), ("1m", 2**20), ("5", 5)):
        cli("fit", "m", "--ctx", said)
        assert asked[-1]["ctx"] == meant


@pytest.mark.parametrize(
    ("words", "example"),
    [
        ("--gpu 24x2", "24,24 for two"),
        ("--gpu 24,0", "24,24 for two"),
        ("--gpu 24,nan", "24,24 for two"),
        ("--ram 0", "above 0"),
        ("--ram -3", "for example 64"),
        ("--ram nan", "for example 64"),
        ("--ctx 32kb", "32k for the same"),
    ],
)
def test_wrong_sizes_are_told_by_example(cli: Cli, asked: list[dict[str, Any]], words: str, example: str) -> None:
    """Nothing is dropped silently."""
    said = cli("fit", "m", *words.split())
    assert (said.code, asked) == (2, [])
    assert example in said.err
    assert ("card" in said.err) == ("--gpu" in words)


@pytest.mark.parametrize("field", ["ctx", "slots", "kv", "gpu", "ram"])
def test_an_option_that_is_refused_is_wrong_use(cli: Cli, root: FakeRoot, stub: StubDaemon, field: str) -> None:
    """By whoever looked at it, here or in a daemon; a target that is refused is not."""

    def refusing(_: Any) -> dict[str, Any]:
        raise Malformed("not so", field)

    root.fitting = refusing
    assert cli("fit", "m").code == 2
    root.use(stub)
    stub.answers["POST", "/api/fit"] = (400, {"error": {"message": "not so", "param": field}})
    assert cli("fit", "m") == (2, "", "error: not so\n")
    stub.answers["POST", "/api/fit"] = (400, {"error": {"message": "not so", "param": "model"}})
    assert cli("fit", "m").code == 1


def test_a_name_that_lies_here_is_told_how_to_be_meant(
    cli: Cli, root: FakeRoot, stub: StubDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare word is a name of the catalog; whoever meant the folder learns to write ./ before it."""
    (tmp_path / "sh").mkdir()
    monkeypatch.chdir(tmp_path)

    def unknown(question: Any) -> dict[str, Any]:
        raise NotFound("no such model")

    root.fitting = unknown
    assert cli("fit", "sh").err == "error: no such model; 'sh' lies in this folder: write ./sh to mean that\n"
    assert "write" not in cli("fit", "other").err
    assert "write" not in cli("fit", "./sh").err
    root.use(stub)
    stub.answers["POST", "/api/fit"] = (404, {"error": {"message": "no such model"}})
    assert "write ./sh" in cli("fit", "sh").err


def test_quiet_says_nothing_where_there_is_nothing_to_take(cli: Cli, root: FakeRoot) -> None:
    """No empty line for a script to read."""
    root.fitting = lambda _: answer(quant("Q8_0", 9.0, "never"), take=None)
    assert cli("fit", "m", "--quiet") == (1, "", "")


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
        ("huggingface.co/me/m/blob/main/x.gguf", "huggingface.co/me/m/blob/main/x.gguf"),
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
    assert cli("fit", "tiny", "--gpu", "24", "--json").json() == answer()
    assert cli("fit", "tiny", "--ram", "24", "--json").json() == answer()
    assert cli("fit", "tiny", "--gpu", "24", "--ram", "24", "--json").json() == repository()


@pytest.mark.parametrize("name", ["HF_TOKEN", "BLAZAR_REGISTRY_TOKEN", "HF_ENDPOINT", "BLAZAR_REGISTRY_BASE"])
def test_a_registry_of_this_shell_is_asked_by_this_shell(cli: Cli, root: FakeRoot, stub: StubDaemon, name: str) -> None:
    """A daemon would take a private model's name to the public hub; names of the catalog are its own business."""
    stub.answers["POST", "/api/fit"] = (200, answer())
    root.use(stub)
    root.fitting = lambda _: repository()
    root.env = {name: "http://hub.example"}
    for target in ("hf:me/m", "me/m", "https://huggingface.co/me/m"):
        assert cli("fit", target, "--json").json() == repository()
    assert stub.bodies("/api/fit") == []
    assert cli("fit", "tiny", "--json").json() == answer()


@pytest.mark.parametrize("name", ["HF_ENDPOINT", "BLAZAR_REGISTRY_BASE"])
def test_a_named_daemon_is_not_told_a_name_for_another_hub(
    cli: Cli, root: FakeRoot, stub: StubDaemon, name: str
) -> None:
    """It is wrong use, and says which of the two to leave; what never goes to that hub is asked."""
    stub.answers["POST", "/api/fit"] = (200, answer())
    root.use(stub, explicit=True)
    root.env = {name: "http://hub.example"}
    for target in ("hf:me/m", "me/m"):
        said = cli("fit", target)
        assert (said.code, stub.bodies("/api/fit")) == (2, [])
        assert f"unset {name}" in said.err
    assert cli("fit", "ollama:m").code == cli("fit", "tiny").code == 0


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
