"""`blazar search`: what is asked, and how rows look."""

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.search import Hit
from tests.support.command_line import Cli, FakeRoot

GIB = 2**30
HITS = (
    Hit(
        "a/Qwen3-8B-GGUF",
        1_234_567,
        321,
        8_190_735_360,
        ("Q4_K_M", "Q8_0"),
        "Q8_0",
        int(7.9 * GIB),
        "fits",
        "2026-01-01",
    ),
    Hit("b/odd\x1b[2J", 12, 0, 0, (), "", 0, "", gated=True),
)


@pytest.fixture
def asked(root: FakeRoot) -> list[tuple[str, int]]:
    """What is searched for."""
    words: list[tuple[str, int]] = []

    def searching(word: str, limit: int) -> tuple[Hit, ...]:
        words.append((word, limit))
        return HITS

    root.searching = searching
    return words


def test_rows_say_what_to_take_and_whether_it_fits(cli: Cli, asked: list[tuple[str, int]]) -> None:
    """Estimates are marked; names of strangers steer no terminal."""
    said = cli("search", "qwen3", "8b", "--limit", "2")
    assert (said.code, asked) == (0, [("qwen3 8b", 2)])
    rows = said.out.splitlines()
    assert rows[0].split() == ["REPOSITORY", "DOWNLOADS", "LIKES", "PARAMETERS", "TAKE", "SIZE", "FITS"]
    assert rows[1].split() == ["a/Qwen3-8B-GGUF", "1.2M", "321", "8.2B", "Q8_0", "~7.90", "GiB", "fits"]
    assert rows[2].endswith("(gated)")
    assert "\x1b" not in said.out
    assert "about: blazar fit a/Qwen3-8B-GGUF" in said.err


def test_programs_get_everything(cli: Cli, asked: list[tuple[str, int]]) -> None:
    """As one document, or what can be pulled a line each."""
    models = cli("search", "x", "--json").json()
    assert models["word"] == "x"
    assert models["models"][0] == {**HITS[0]._asdict(), "quants": ["Q4_K_M", "Q8_0"]}
    quiet = cli("search", "x", "-q")
    assert quiet.out == "a/Qwen3-8B-GGUF:Q8_0\n"  # of the other nobody knows what to take: pull would ask
    assert quiet.err == teaching.search_left_out(1) + "\n"
    assert asked == [("x", 10)] * 2


def test_what_cannot_run_here_is_not_handed_to_pull(cli: Cli, root: FakeRoot) -> None:
    """Lines of --quiet are pulled unread; the table shows what was left out, with why."""
    large = HITS[0]._replace(repo="c/Huge-GGUF", verdict="too large", gated=True)
    partly = HITS[0]._replace(repo="d/Large-GGUF", verdict="fits partly on GPU")
    unknown = HITS[0]._replace(repo="e/Other-GGUF", verdict="")
    root.searching = lambda *_: (large, partly, unknown)
    quiet = cli("search", "x", "-q")
    assert quiet.out == "d/Large-GGUF:Q8_0\ne/Other-GGUF:Q8_0\n"
    assert quiet.err == teaching.search_too_large(1) + "\n"
    assert "too large (gated)" in cli("search", "x").out


def test_nothing_found_is_said_and_no_failure(cli: Cli, root: FakeRoot) -> None:
    """With what to try."""
    said = cli("search", "x")
    assert (said.code, said.out) == (0, "")
    assert "try fewer words" in said.err


def test_what_cannot_be_asked_is_wrong_use(cli: Cli, root: FakeRoot) -> None:
    """And a hub that does not answer a failure."""
    for error, code in ((Malformed("limit must be"), 2), (RegistryTrouble("gone"), 1)):

        def refuse(*_: object, error: Exception = error) -> tuple[Hit, ...]:
            raise error

        root.searching = refuse
        said = cli("search", "x")
        assert said.code == code
        assert str(error) in said.err
    assert cli("search").code == 2
    assert cli("search", "x", "--limit", "many").code == 2


def test_it_is_no_daemons_business(cli: Cli) -> None:
    """It would know no more than we do."""
    said = cli("--host", "http://127.0.0.1:9", "search", "x")
    assert said.code == 2
