"""One answer, printed as it comes."""

import io

import pytest

from blazar.adapters.cli.answer import Printer, ask, keep_alive, setting, timings
from blazar.adapters.cli.client import DaemonClient, DaemonFailed
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
    ("text", "pair"),
    [("a=1", ("a", 1)), ("a 0.5", ("a", 0.5)), ('stop=["x"]', ("stop", ["x"])), ("a = b=c", ("a", "b=c"))],
)
def test_settings_are_typed_where_they_read_as_json(text: str, pair: tuple[str, object]) -> None:
    """Numbers and lists as such, anything else as text."""
    assert setting(text) == pair


@pytest.mark.parametrize("text", ["", "a", "=1", "a="])
def test_half_a_setting_is_refused(text: str) -> None:
    """With how to write one."""
    with pytest.raises(Malformed, match="NAME VALUE"):
        setting(text)


def test_keep_alive_is_a_number_or_a_duration() -> None:
    """As ollama's API takes it; the daemon judges the rest."""
    assert [keep_alive(text) for text in ("0", "-1", "90", "10m")] == [0, -1, 90, "10m"]
