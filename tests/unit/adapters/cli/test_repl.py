"""A conversation, scripted."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.cli.answer import Printer
from blazar.adapters.cli.repl import Repl
from blazar.domain.errors import BlazarError, ModelNotFound

Answer = str | BaseException


class ScriptedTalk:
    """Answers in order; an exception comes after half an answer."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.loaded: list[str] = []

    def chat(self, body: dict[str, Any], printer: Printer) -> dict[str, Any]:
        self.bodies.append(json.loads(json.dumps(body)))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if answer.endswith("^C"):
            printer.piece("content", answer.removesuffix("^C"))
            raise KeyboardInterrupt
        printer.piece("content", answer)
        return {"done": True, "eval_count": 1, "eval_duration": 10**9}

    def load(self, model: str) -> str:
        if model == "nope":
            raise ModelNotFound(model)
        self.loaded.append(model)
        return model.removeprefix("hf:")


class Session:
    """One run of a REPL over a list of lines; an exception in the list is raised by the keyboard."""

    def __init__(self, talk: ScriptedTalk, lines: list[Answer], model: str = "tiny") -> None:
        self.said: list[str] = []
        self.prompts: list[str] = []
        self._lines: Iterator[Answer] = iter(lines)
        self.repl = Repl(talk, model, self._read, self.said.append)

    def _read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = next(self._lines, EOFError())
        if isinstance(line, BaseException):
            raise line
        return line

    def run(self) -> "Session":
        self.repl.run()
        return self


@pytest.fixture
def talk_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedTalk]:
    """Answers go to a buffer instead of the test's own output."""
    monkeypatch.setattr("sys.stdout", io.StringIO())
    return ScriptedTalk


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_the_conversation_is_kept(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Every question is sent with what was said before; blank lines are not questions."""
    talk = talk_of("one", "two")
    Session(talk, ["hello", "", "  ", "more", "/bye", "never read"]).run()
    assert talk.loaded == ["tiny"]
    assert [body["messages"] for body in talk.bodies] == [
        [user("hello")],
        [user("hello"), assistant("one"), user("more")],
    ]


def test_the_end_of_the_input_ends_it(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Ctrl-D, or the end of a file that was piped in."""
    Session(talk_of("x"), ["hi"]).run()


def test_several_lines_between_triple_quotes(talk_of: Callable[..., ScriptedTalk]) -> None:
    """They are one question; the prompt changes while they are typed."""
    talk = talk_of("x", "y")
    session = Session(talk, ['"""one', "", "  two", 'three"""', '"""short"""']).run()
    assert [body["messages"][-1]["content"] for body in talk.bodies] == ["one\n\n  two\nthree", "short"]
    assert session.prompts[:4] == [">>> ", "... ", "... ", "... "]


def test_interrupting_an_answer_keeps_what_came(talk_of: Callable[..., ScriptedTalk]) -> None:
    """The conversation goes on after it."""
    talk = talk_of("half^C", "ok")
    Session(talk, ["hi", "go on"]).run()
    assert talk.bodies[1]["messages"] == [user("hi"), assistant("half"), user("go on")]


def test_interrupting_before_anything_came_takes_the_question_back(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Two questions in a row would confuse most templates."""
    talk = talk_of(KeyboardInterrupt(), "ok")
    Session(talk, ["hi", "again"]).run()
    assert talk.bodies[1]["messages"] == [user("again")]


def test_interrupting_the_prompt_drops_the_line(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Ctrl-C at the prompt does not leave."""
    talk = talk_of("x")
    Session(talk, [KeyboardInterrupt(), "hi"]).run()
    assert len(talk.bodies) == 1


def test_an_error_is_said_and_the_conversation_goes_on(talk_of: Callable[..., ScriptedTalk]) -> None:
    """A model that was removed meanwhile does not end the program."""
    talk = talk_of(ModelNotFound("tiny"), "ok")
    session = Session(talk, ["hi", "again"]).run()
    assert session.said[0].startswith("error: model 'tiny' not found")
    assert talk.bodies[1]["messages"] == [user("again")]


def test_a_model_that_cannot_be_loaded_ends_it_at_once(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Nobody types a question to a model that is not there."""
    session = Session(talk_of(), ["hi"])
    session.repl.model = "nope"
    with pytest.raises(BlazarError):
        session.run()


def test_settings_go_into_the_request(talk_of: Callable[..., ScriptedTalk]) -> None:
    """System prompt, sampling options, thinking and format, each as the API has it."""
    talk = talk_of("x", "y")
    lines: list[Answer] = [
        "/set system Be brief.",
        "/set parameter temperature 0",
        "/set nothink",
        "/set format json",
        "hi",
    ]
    Session(talk, [*lines, "/set noformat", "/set think", "more"]).run()
    first, second = talk.bodies
    assert first == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, user("hi")],
        "think": False,
        "format": "json",
        "options": {"temperature": 0},
    }
    assert second["think"] is True
    assert "format" not in second


def test_a_model_is_called_what_it_is_loaded_as(talk_of: Callable[..., ScriptedTalk]) -> None:
    """One that had to be fetched is named by the catalog from then on."""
    talk = talk_of("x", "y")
    Session(talk, ["a", "/load hf:other", "b"], model="hf:tiny").run()
    assert [body["model"] for body in talk.bodies] == ["tiny", "other"]


def test_clear_forgets_and_load_changes_the_model(talk_of: Callable[..., ScriptedTalk]) -> None:
    """A failed load keeps the model there was."""
    talk = talk_of("x", "y", "z")
    session = Session(talk, ["a", "/clear", "b", "/load other", "c", "/load nope"]).run()
    assert [(body["model"], body["messages"]) for body in talk.bodies] == [
        ("tiny", [user("a")]),
        ("tiny", [user("b")]),
        ("other", [user("c")]),
    ]
    assert session.repl.model == "other"
    assert session.said[-1].startswith("error: model 'nope'")


def test_show_help_and_what_is_unknown(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Commands answer; a wrong one says where they are listed."""
    lines: list[Answer] = ["/show", "/?", "/help", "/nope", "/set", "/set parameter x", "/save", "/load"]
    said = Session(talk_of(), lines).run().said
    assert said[0].startswith("model")
    assert said[1] == said[2]
    assert "/bye" in said[1]
    assert "/nope" in said[3]
    assert "parameter NAME VALUE" in said[4]
    assert said[5].startswith("error: ")
    assert len(said) == 8


def test_verbose_adds_timings(talk_of: Callable[..., ScriptedTalk]) -> None:
    """Until it is switched off."""
    said = Session(talk_of("x", "y"), ["/set verbose", "hi", "/set quiet", "hi"]).run().said
    assert said == ["answer  1 tokens in 1.00s, 1.0 tokens/s"]


def test_save_writes_a_request_body(talk_of: Callable[..., ScriptedTalk], tmp_path: Path) -> None:
    """What is written can be sent with curl; an impossible path is a sentence."""
    file = tmp_path / "talk.json"
    session = Session(talk_of("x"), ["hi", f"/save {file}", f"/save {tmp_path}/no/where"]).run()
    assert json.loads(file.read_text()) == {"model": "tiny", "messages": [user("hi"), assistant("x")]}
    assert "2 messages" in session.said[0]
    assert session.said[1].startswith("error: writing")


def test_parameters_are_checked_where_they_are_set(talk_of: Callable[..., ScriptedTalk]) -> None:
    """An unknown one, one without a value, and one of the wrong kind change nothing; a value may hold anything."""
    talk = talk_of("x")
    lines: list[Answer] = [
        "/set parameter temprature 1",
        "/set parameter temperature",
        "/set parameter seed x",
        "/set parameter stop a=b c",
        "/set parameter seed=7",
        "hi",
    ]
    said = Session(talk, lines).run().said
    assert "did you mean temperature?" in said[0]
    assert "write /set parameter NAME VALUE" in said[1]
    assert "'seed' must be a whole number" in said[2]
    assert talk.bodies[0]["options"] == {"stop": "a=b c", "seed": 7}
