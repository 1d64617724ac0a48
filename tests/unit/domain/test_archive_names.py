"""Names of files that come from elsewhere."""

import pytest

from blazar.domain.archive_names import folded, is_portable


@pytest.mark.parametrize(
    ("one", "other"),
    [("README", "readme"), ("é", "e\u0301"), ("É", "e\u0301"), ("straße", "STRASSE"), ("Ω", "\u2126")],
)
def test_the_same_file_on_some_system(one: str, other: str) -> None:
    """Case and the composition of accents do not tell names apart everywhere."""
    assert folded(one) == folded(other)


def test_different_names_stay_different() -> None:
    """As a release has them."""
    names = ["libggml.so", "libggml.so.0", "libggml-base.so", "llama-server", "llama_server"]
    assert len({folded(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    "name", ["llama-server", "libllama.so.0.6.0", ".hidden", "a b", "日本", "console", "com10", "nul-x"]
)
def test_ordinary_names(name: str) -> None:
    """Anything that is one name everywhere."""
    assert is_portable(name)


@pytest.mark.parametrize(
    "name", ["x.", "x ", "nul", "NUL.txt", "com1", "Lpt9.dll", "aux .c", "a\nb", "a\x1b[2J", "\udc80", "\x7f", "..."]
)
def test_names_that_are_another_file_somewhere(name: str) -> None:
    """What Windows drops or opens as a device, what steers a terminal, what is no text."""
    assert not is_portable(name)
