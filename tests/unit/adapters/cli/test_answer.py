"""One answer, printed as it comes."""

import io

import pytest

from blazar.adapters.cli.answer import Printer, ask, keep_alive, option, setting, timings
from blazar.adapters.cli.client import DaemonClient, DaemonFailed
from blazar.adapters.cli.exits import WrongUse
from blazar.domain.errors import Fault, Malformed
from tests.support.command_line import StubDaemon, Terminal, chat_lines


def test_pieces_are_printed_as_they_come_and_kept(stub: StubDaemon) -> None:
    """Content goes to stdout byte for byte; the last event carries the counts."""
    stub.answers["POST", "/api/chat"] = (200, chat_lines("Hel", "lo\x1b[1m"))
    out = io.StringIO()
    printer = Printer(out, io.StringIO())
    last = ask(DaemonClient(stub.url), {"model": "m", "messages": []}, printer)
    printer.end()
    assert out.getvalue() == "Hello\x1b[1m\n"  # piped output is not ours to change
    assert printer.content == "Hello\x1b[1m"
    assert last["eval_count"] == 2
    assert stub.bodies("/api/chat") == [{"model": "m", "messages": [], "stream": True}]


def test_a_terminal_gets_no_escape_sequences_of_the_model() -> None:
    """What a model writes must not set titles or colours."""
    out = Terminal()
    printer = Printer(out, io.StringIO())
    printer.piece("content", "a\x1b]0;b\x07c\n")
    printer.end()
    assert out.getvalue() == "a]0;bc\n"


def test_thinking_stays_out_of_a_pipe() -> None:
    """`blazar run … > file` gets the answer only."""
    out, side = io.StringIO(), io.StringIO()
    printer = Printer(out, side)
    printer.piece("thinking", "hm")
    printer.piece("content", "yes")
    printer.end()
    assert (out.getvalue(), side.getvalue()) == ("yes\n", "hm")
    assert printer.thinking == "hm"


def test_thinking_alone_ends_its_line() -> None:
    """An answer that was cut while thinking leaves the cursor at the start of a line."""
    side = io.StringIO()
    printer = Printer(io.StringIO(), side)
    printer.piece("thinking", "hm")
    printer.end()
    assert side.getvalue() == "hm\n"


def test_on_a_terminal_thinking_is_dim_and_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blank line divides it from the answer."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    printer = Printer(out, io.StringIO())
    printer.piece("thinking", "hm")
    printer.piece("content", "yes")
    printer.end()
    assert out.getvalue() == "\x1b[2mhm\x1b[0m\n\nyes\n"


@pytest.mark.parametrize(("hide", "shown"), [("thinking", "yes\n"), ("all", "")])
def test_what_is_hidden_is_kept(hide: str, shown: str) -> None:
    """--hide-thinking and --json print less and remember the same."""
    out, side = io.StringIO(), io.StringIO()
    printer = Printer(out, side, hide=hide)
    printer.piece("thinking", "hm")
    printer.piece("content", "yes")
    printer.end()
    assert (out.getvalue(), side.getvalue()) == (shown, "")
    assert (printer.thinking, printer.content) == ("hm", "yes")


def test_an_answer_that_ends_early_is_a_fault(stub: StubDaemon) -> None:
    """Without a last event it is not whole, however well the transfer ended."""
    stub.answers["POST", "/api/chat"] = (200, chat_lines("Hel")[:-1])
    with pytest.raises(Fault, match="ended before it was complete"):
        ask(DaemonClient(stub.url), {"model": "m"}, Printer(io.StringIO(), io.StringIO()))


def test_an_error_in_the_stream_keeps_what_came(stub: StubDaemon) -> None:
    """The part that was printed stays, the sentence follows."""
    stub.answers["POST", "/api/chat"] = (200, [*chat_lines("Hel")[:-1], {"error": "the engine stopped"}])
    printer = Printer(io.StringIO(), io.StringIO())
    with pytest.raises(DaemonFailed, match="the engine stopped"):
        ask(DaemonClient(stub.url), {"model": "m"}, printer)
    assert printer.content == "Hel"


def test_timings_show_counts_and_speeds() -> None:
    """Nanoseconds become seconds and tokens per second."""
    text = timings(
        {
            "total_duration": 2_500_000_000,
            "load_duration": 90_000_000_000,
            "prompt_eval_count": 10,
            "prompt_eval_duration": 500_000_000,
            "eval_count": 4,
            "eval_duration": 0,
            "done_reason": "stop",
        }
    )
    assert text.splitlines() == [
        "total   2.50s",
        "load    1m 30s",
        "prompt  10 tokens in 500.0ms, 20.0 tokens/s",
        "answer  4 tokens",
        "ended   stop",
    ]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("temperature", "0", 0),
        ("temperature", "0.5", 0.5),
        ("seed", "-1", -1),
        ("num_ctx", "4096", 4096),
        ("stop", "X", "X"),
        ("stop", "5", "5"),
        ("stop", "null", "null"),
        ("stop", '["x", "y"]', ["x", "y"]),
        ("stop", "a=b c", "a=b c"),
    ],
)
def test_a_setting_has_the_type_of_its_option(name: str, text: str, value: object) -> None:
    """Numbers are numbers; a stop word may look like one and stays text."""
    assert setting(name, text) == (name, value)
    assert type(setting(name, text)[1]) is type(value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("temperature", "hot"),
        ("temperature", "NaN"),
        ("temperature", "1e999"),
        ("temperature", "true"),
        ("seed", "1.5"),
        ("num_ctx", "0"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name: str, text: str) -> None:
    """Here and not by the engine, which would ignore some of it."""
    with pytest.raises(Malformed, match=f"'{name}' must be"):
        setting(name, text)


def test_an_unknown_option_is_refused_with_what_was_meant() -> None:
    """A typing error would otherwise change nothing, silently."""
    with pytest.raises(Malformed, match="'temprature'; did you mean temperature"):
        setting("temprature", "1")
    with pytest.raises(Malformed, match=r"there are .*num_ctx.*temperature"):
        setting("zzz", "1")


@pytest.mark.parametrize("text", ["", "temperature", "=1", "temperature=", "temperature 1"])
def test_half_an_option_is_wrong_use(text: str) -> None:
    """In the command line's own words."""
    with pytest.raises(WrongUse, match="write --set NAME=VALUE"):
        option(text)


def test_options_are_settings() -> None:
    """Blanks around either side do not count; every refusal is one of usage."""
    assert option("stop = b=c") == ("stop", "b=c")
    with pytest.raises(WrongUse, match="must be a number"):
        option("temperature=x")
    with pytest.raises(WrongUse, match="did you mean"):
        option("sed=1")


def test_keep_alive_is_a_number_or_a_duration() -> None:
    """As ollama's API takes it; the daemon judges the rest."""
    assert [keep_alive(text) for text in ("0", "-1", "90", "10m")] == [0, -1, 90, "10m"]
