"""Which block is open, what waits for it, and what the end finds; the two dialects that write blocks are held to it in tests/contract/wire."""

import pytest

from blazar.domain.wire.blocks import CALL, InOrder, Piece
from blazar.domain.wire.delta import Reasoning, Text, ToolFragment


class Plain(InOrder):
    """Writes `kind(pieces)`; `!` before the bracket of a block that the end cut."""

    def _open(self, kind: str, first: Piece) -> bytes:
        return f"{first.name if isinstance(first, ToolFragment) else kind}(".encode()

    def _grow(self, piece: Piece) -> bytes:
        if isinstance(piece, ToolFragment):
            self._parts.append(piece.arguments)
            return piece.arguments.encode()
        return piece.text.encode()

    def _close(self, *, cut: bool = False) -> bytes:
        self._kind = ""
        return b"!)" if cut else b")"

    def tell(self, *pieces: Piece) -> str:
        """What these pieces add."""
        return b"".join(self._told(piece) for piece in pieces).decode()

    def _told(self, piece: Piece) -> bytes:
        if isinstance(piece, ToolFragment):
            return self._called(piece)
        return self._said("text" if isinstance(piece, Text) else "thought", piece)

    def end(self, *, cut: bool = False) -> str:
        """The last of it."""
        return self._ended(cut=cut).decode()


def begun(number: int, arguments: str = "") -> ToolFragment:
    return ToolFragment(number, f"c{number}", f"f{number}", arguments)


def more(number: int, arguments: str) -> ToolFragment:
    return ToolFragment(number, None, None, arguments)


def test_a_kind_goes_on_until_another_comes() -> None:
    """One block for pieces of one kind; a kind that comes again has a block of its own."""
    plain = Plain()
    assert plain.tell(Reasoning("a"), Text("b"), Text("c"), Reasoning("d")) == "thought(a)text(bc)thought(d"
    assert plain.end() == ")"


def test_a_whole_call_gives_way_at_once() -> None:
    """The next call and text open as they come."""
    plain = Plain()
    assert plain.tell(begun(0, "{}"), begun(1), more(1, "{}"), Text("x")) == "f0({})f1({})text(x"


def test_nothing_cuts_into_a_call() -> None:
    """Text, thoughts and other calls wait until its arguments are whole; then they are told, and the last one streams on."""
    plain = Plain()
    assert plain.tell(begun(0, '{"a"')) == 'f0({"a"'
    assert plain.tell(Text("x"), begun(1, "{}"), Reasoning("y"), Reasoning("z")) == ""
    assert plain.tell(more(0, ":1")) == ":1"
    assert plain.tell(more(0, "}")) == "})text(x)f1({})thought(yz"
    assert plain.tell(Reasoning("!")) == "!"


def test_a_waiting_call_is_not_told_before_it_is_its_turn() -> None:
    """Crosswise calls: the second one opens with what came so far, stays open, and what came behind it waits for its end."""
    plain = Plain()
    plain.tell(begun(0, '{"a"'), begun(1, '{"b"'), Text("x"))
    assert plain.tell(more(0, ":1}")) == ':1})f1({"b"'
    assert plain.tell(more(1, ":2}")) == ":2})text(x"


def test_text_after_waiting_calls_is_one_block_again() -> None:
    """What waits keeps its order: text before a call and text behind it are two blocks."""
    plain = Plain()
    plain.tell(begun(0, "{"), Text("a"), begun(1, "{}"), Text("b"), Text("c"))
    assert plain.tell(more(0, "}")) == "})text(a)f1({})text(bc"


def test_more_of_a_closed_call_is_left_out() -> None:
    """It was whole, and a block never opens twice."""
    plain = Plain()
    assert plain.tell(begun(0, "{}"), Text("x"), more(0, "{}"), more(7, "{}")) == "f0({})text(x"


@pytest.mark.parametrize(
    ("cut", "told"),
    [(False, ')f1({"b")f2({})'), (True, '!)f1({"b"!)f2({}!)')],
)
def test_the_end_tells_what_waited(cut: bool, told: str) -> None:
    """Calls that lack something are cut where the answer was, and so is the last block whatever it holds."""
    plain = Plain()
    plain.tell(begun(0, '{"a"'), begun(1, '{"b"'), begun(2, "{}"))
    assert plain.end(cut=cut) == told
    assert plain.end() == ""


def test_whole_blocks_before_the_cut_one_are_whole() -> None:
    """Only the end of an answer is cut."""
    plain = Plain()
    assert plain.tell(begun(0, '{"a"'), begun(1, "{}"), more(0, ":1}"), begun(2, "{")) == 'f0({"a":1})f1({})f2({'
    assert plain.tell(Text("x")) == ""
    assert plain.end(cut=True) == "!)text(x!)"


def test_an_answer_of_nothing_has_no_blocks() -> None:
    """Nothing was open, nothing waited."""
    assert Plain().end(cut=True) == ""
    assert CALL == "call"
