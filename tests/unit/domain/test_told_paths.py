"""Paths in the words of a command line."""

import pytest

from blazar.domain.argv import Decision
from blazar.domain.told_paths import Paths, Told, absolute, listed, named, template, told_paths, whole, with_scales

TABLE: dict[str, Paths] = {"--file": whole, "--lora-scaled": with_scales, "--draft": absolute}


def told(*words: str) -> list[str]:
    """The paths that these words name."""
    return [one.path for one in told_paths(TABLE, [Decision(words, "extra_args", "")])]


@pytest.mark.parametrize(
    ("read", "word", "paths"),
    [
        (whole, "a b,c", ["a b,c"]),
        (whole, "", []),
        (listed, "/a,/b,", ["/a", "/b"]),
        (with_scales, "/a:0.5,/b,/c:d:-1", ["/a", "/b", "/c:d"]),
        (with_scales, "0.5", []),
        (absolute, "/m", ["/m"]),
        (absolute, "org/name", []),
        (template, "chatml", []),
        (template, "t.jinja", ["t.jinja"]),
        (template, "./t", ["./t"]),
        (named, "style=/l/a", ["/l/a"]),
        (named, "/l/a", ["/l/a"]),
        (named, "style=org/name", []),
    ],
)
def test_a_word_and_its_paths(read: Paths, word: str, paths: list[str]) -> None:
    """What may as well be the name of something else is none."""
    assert list(read(word)) == paths


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (("--file", "/a", "--other", "/b", "--draft", "/c"), ["/a", "/c"]),
        (("--file", "/a", "--lora-scaled", "/b", "--file", "/c", "--lora-scaled", "/d"), ["/b", "/c", "/d"]),
        (("--file=/a=b",), ["/a=b"]),
        (("--lora_scaled", "/a", "0.5"), ["/a"]),
        (("--file",), []),
        (("--file", "--draft", "/d"), ["/d"]),
        (("--file", "-1"), ["-1"]),
        ((), []),
    ],
)
def test_words_are_read_as_the_engine_reads_them(words: tuple[str, ...], paths: list[str]) -> None:
    """Joined or apart, with underscores or dashes; the last of a flag holds, but for lists; without its word it names nothing."""
    assert told(*words) == paths


def test_a_path_knows_where_it_comes_from() -> None:
    """Its flag and its key."""
    said = [Decision(("--file", "/a"), "tls", ""), Decision((), "unsaid", ""), Decision(("--draft", "/b"), "draft", "")]
    assert told_paths(TABLE, said) == [Told("/a", "--file", "tls"), Told("/b", "--draft", "draft")]
