"""The run verb: one-shot, piped, conversation."""

import io
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.cli.answer import Printer
from tests.support.command_line import Cli, FakeRoot, StubDaemon, Terminal, chat_lines


@pytest.fixture(autouse=True)
def running(root: FakeRoot, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that answers, and an input that has nothing to say."""
    root.use(stub)
    stub.answers["POST", "/api/chat"] = (200, chat_lines("Hel", "lo", thinking="hm"))
    stub.answers["POST", "/api/load"] = (200, {"model": "tiny"})
    stub.answers["GET", "/api/tags"] = (200, {"models": [{"name": "tiny2"}]})  # `tiny` is a mistyped one of these
    monkeypatch.setattr("sys.stdin", Terminal())


def pipe_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def asked(stub: StubDaemon) -> Any:
    return stub.bodies("/api/chat")[-1]


def test_one_answer_to_a_prompt(cli: Cli, stub: StubDaemon) -> None:
    """The answer and nothing else on stdout."""
    said = cli("run", "tiny", "say", "hi")
    assert said == (0, "Hello\n", "hm")
    assert asked(stub) == {"model": "tiny", "messages": [{"role": "user", "content": "say hi"}], "stream": True}


def test_every_option_reaches_the_request(cli: Cli, stub: StubDaemon) -> None:
    """As the ollama API has them."""
    words = "--system S --no-think --format json --set temperature=0 --set stop=X --keep-alive 10m --verbose"
    said = cli("run", "tiny", *words.split(), "hi", "--hide-thinking")
    assert asked(stub) == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}],
        "think": False,
        "format": "json",
        "keep_alive": "10m",
        "options": {"temperature": 0, "stop": "X"},
        "stream": True,
    }
    assert "2 tokens in 1.00s" in said.err
    assert said.out == "Hello\n"


def test_json_is_one_object_at_the_end(cli: Cli) -> None:
    """With the whole message and the counts."""
    said = cli("run", "tiny", "hi", "--json")
    assert said.json()["message"] == {"role": "assistant", "content": "Hello", "thinking": "hm"}
    assert said.json()["eval_count"] == 2
    assert said.err == ""


def test_piped_input_is_the_prompt(cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, or behind the words."""
    pipe_in(monkeypatch, "line 1\nline 2\n")
    assert cli("run", "tiny").code == 0
    assert asked(stub)["messages"][0]["content"] == "line 1\nline 2"
    pipe_in(monkeypatch, "text\n")
    cli("run", "tiny", "summarise", "-")
    assert asked(stub)["messages"][0]["content"] == "summarise\n\ntext"


def test_an_empty_pipe_behind_a_prompt_changes_nothing(
    cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As scripts and test harnesses run it."""
    pipe_in(monkeypatch, "")
    assert cli("run", "tiny", "hi").code == 0
    assert asked(stub)["messages"][0]["content"] == "hi"


def test_with_a_prompt_only_files_and_pipes_are_read(
    cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """/dev/null, as services have it, is not waited for; a file is read."""
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert cli("run", "tiny", "hi").code == 0
    assert asked(stub)["messages"][0]["content"] == "hi"
    (tmp_path / "f").write_text("text")
    with (tmp_path / "f").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        cli("run", "tiny", "hi")
    assert asked(stub)["messages"][0]["content"] == "hi\n\ntext"


def test_a_silent_pipe_is_explained_and_still_read(cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow producer loses nothing; a script that forgot the pipe learns why it waits."""
    monkeypatch.setattr("blazar.adapters.cli.verbs.run.SILENCE", 0.05)
    reader, writer = os.pipe()
    explained = threading.Event()
    monkeypatch.setattr("blazar.domain.teaching.prompt_awaited", lambda: "waiting" if explained.set() is None else "")

    def produce() -> None:
        explained.wait(20)
        os.write(writer, b"late")
        os.close(writer)

    thread = threading.Thread(target=produce)
    thread.start()
    with os.fdopen(reader) as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        said = cli("run", "tiny", "hi")
    thread.join()
    assert "waiting" in said.err
    assert asked(stub)["messages"][0]["content"] == "hi\n\nlate"


def test_no_prompt_at_all_is_wrong_use(cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file is not a question; no model is loaded for it."""
    pipe_in(monkeypatch, " \n")
    assert cli("run", "tiny").code == 2
    assert stub.asked == []
    assert stub.asked == []


def test_a_wrong_setting_is_wrong_use(cli: Cli, stub: StubDaemon) -> None:
    """In words of the command line, before anything is asked or started."""
    for text, why in (("temperature", "--set NAME=VALUE"), ("temprature=1", "did you mean"), ("seed=x", "must be")):
        said = cli("run", "tiny", "hi", "--set", text)
        assert (said.code, why in said.err) == (2, True)
    assert stub.asked == []


def test_a_conversation_is_no_json(cli: Cli, stub: StubDaemon) -> None:
    """One answer is one object; lines and answers in turn would be neither."""
    for words in (["run", "tiny", "--json"], ["run", "tiny", "-i", "--json"]):
        assert cli(*words).code == 2
    assert stub.asked == []


def test_a_refusal_is_exit_1(cli: Cli, stub: StubDaemon) -> None:
    """In the daemon's words, and nothing on stdout."""
    stub.answers["POST", "/api/chat"] = (404, {"error": "model 'tiny' not found"})
    assert cli("run", "tiny", "hi") == (1, "", "error: model 'tiny' not found\n")


def test_an_answer_that_breaks_keeps_its_beginning(cli: Cli, stub: StubDaemon) -> None:
    """The cursor is at the start of a line before the error is told."""
    stub.answers["POST", "/api/chat"] = (200, [*chat_lines("Hel")[:-1], {"error": "the engine stopped"}])
    assert cli("run", "tiny", "hi") == (1, "Hel\n", "error: the engine stopped\n")


def test_ctrl_c_aborts_the_answer_and_exits_130(cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is closed, so the engine stops; what came is kept on the screen."""
    shown, piece = threading.Event(), Printer.piece

    def show(printer: Printer, section: str, text: str) -> None:
        piece(printer, section, text)
        if text:
            shown.set()

    def interrupt() -> None:
        shown.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Printer, "piece", show)
    fill = {"message": {"content": "y" * 65536}, "done": False}
    endless = [*chat_lines("Hel")[:-1], interrupt, *([fill] * 2000)]
    stub.answers["POST", "/api/chat"] = (200, endless)
    said = cli("run", "tiny", "hi")
    assert said.code == 130
    assert said.out.startswith("Hel")
    assert said.err == "error: interrupted\n"
    assert stub.gone.wait(20)


def test_a_conversation_over_piped_lines(cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """--interactive reads lines from anything; the model is loaded before the first question."""
    pipe_in(monkeypatch, "hi\n/set system Be brief.\nmore\n/bye\n")
    said = cli("run", "tiny", "--interactive", "--hide-thinking", "--set", "seed=1")
    assert (said.code, said.out) == (0, "Hello\nHello\n")
    assert stub.bodies("/api/load") == [{"model": "tiny"}]
    assert asked(stub)["options"] == {"seed": 1}
    assert [message["role"] for message in asked(stub)["messages"]] == ["system", "user", "assistant", "user"]


def test_a_conversation_with_a_model_that_is_not_there(
    cli: Cli, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1 at once."""
    stub.answers["POST", "/api/load"] = (404, {"error": "model 'tiny' not found"})
    pipe_in(monkeypatch, "hi\n")
    assert cli("run", "tiny", "-i").code == 1


def test_on_a_terminal_a_conversation_has_a_history(cli: Cli, root: FakeRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines typed are kept in the data folder, readable by their owner alone."""
    readline = pytest.importorskip("readline")
    lines = iter(["hi"])

    def typed(_: str) -> str:
        try:
            readline.add_history(line := next(lines))
        except StopIteration:
            raise EOFError from None
        return line

    monkeypatch.setattr("builtins.input", typed)
    said = cli("run", "tiny")
    readline.clear_history()
    assert said.code == 0
    assert said.out.startswith("talking to tiny")
    history = root.places.data / "history"
    assert "hi" in history.read_text()
    assert history.stat().st_mode & 0o77 == 0
