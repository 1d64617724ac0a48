"""The lines of a pull, as ollama's clients read them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from blazar.application.models.pulling import DONE, Step
from blazar.domain.wire.pull import SUCCESS, PullLines, succeeded

DIGEST = "sha256:" + "ab" * 32


def test_a_status_is_its_word_and_nothing_else() -> None:
    """Clients tell a status from a file by `digest`."""
    assert PullLines().line(Step("pulling manifest")) == {"status": "pulling manifest"}


def test_a_file_has_its_digest_and_its_bytes() -> None:
    """And its name, which is ours."""
    step = Step("pulling abababababab", DIGEST, 100, 40, "m.gguf", "n")
    said = {"status": "pulling abababababab", "digest": DIGEST, "total": 100, "completed": 40}
    assert PullLines().line(step) == {**said, "file": "m.gguf", "note": "n"}


def test_an_unknown_size_is_no_total() -> None:
    """A client divides by it."""
    assert "total" not in PullLines().line(Step("pulling ab", DIGEST, 0, 40))


def test_odd_a_part_that_is_fetched_again_stands_still_until_there_is_more_than_before() -> None:
    """Clients draw what they are told, and some of them raise on less."""
    lines = PullLines()
    told = [lines.line(Step("pulling ab", DIGEST, 100, done))["completed"] for done in (0, 60, 20, 61, 100)]
    assert told == [0, 60, 60, 61, 100]


def test_the_last_line_says_what_came() -> None:
    """What is empty is left out, but whether anything was fetched is always said."""
    assert succeeded("m", fresh=True) == {"status": "success", "fresh": True, "model": "m"}
    assert succeeded("m", fresh=True, unserved="w")["unserved"] == "w"
    said = {"status": "success", "fresh": False, "path": "/a", "notes": ["n"]}
    assert succeeded("", fresh=False, path="/a", notes=("n",)) == said


def test_the_last_word_is_the_use_case_s() -> None:
    """Two layers write it down."""
    assert SUCCESS == DONE


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 12))))
def test_no_file_ever_has_less_or_more_than_all(told: list[tuple[str, int, int]]) -> None:
    """Whatever comes, in whatever order."""
    lines = PullLines()
    said = [lines.line(Step("pulling", digest, total, completed)) for digest, total, completed in told]
    for digest in "ab":
        mine = [line for line in said if line["digest"] == digest]
        assert all(before["completed"] <= after["completed"] for before, after in pairwise(mine))
        assert all(line["completed"] <= line.get("total", line["completed"]) for line in mine)
