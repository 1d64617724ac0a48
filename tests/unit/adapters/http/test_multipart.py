"""Forms, read as they come."""

import random
from collections.abc import Iterable

import pytest

from blazar.adapters.http.multipart import LONGEST_HEAD, FormReader, Part
from blazar.domain.errors import Malformed

TRICKY = b"\r\n--edg\r\n--edgy\r\n--edge-x\r\n-\r--edge\r\n\r\n--\r\n--edge x"
HEAD = b'--edge\r\nContent-Disposition: form-data; name="a"; filename="f"\r\nContent-Type: text/plain\r\n\r\n'
FORM = (
    b"preamble\r\n"
    + HEAD
    + TRICKY
    + b"\r\n--edge \t\r\ncontent-disposition: FORM-DATA; name=b\r\n\r\n\r\n--edge--\r\nepilogue"
)


def read(chunks: Iterable[bytes]) -> tuple[list[tuple[Part, bytes]], bool]:
    """The parts with all their bytes, and whether the last edge was seen."""
    reader = FormReader(b"edge")
    parts: list[tuple[Part, bytes]] = []
    for chunk in chunks:
        for event in reader.feed(chunk):
            if isinstance(event, Part):
                parts.append((event, b""))
            else:
                parts[-1] = (parts[-1][0], parts[-1][1] + event)
    return parts, reader.done


def test_a_form_is_its_parts() -> None:
    """With bytes that look like an edge and are none; what stands before and behind is nobody's."""
    assert read([FORM]) == ([(Part("a", "f"), TRICKY), (Part("b", None), b"")], True)


def test_however_it_is_cut_it_is_the_same_form() -> None:
    """Every cut in two, byte by byte, and at random."""
    whole = read([FORM])
    for at in range(len(FORM)):
        assert read([FORM[:at], FORM[at:]]) == whole
    assert read(FORM[at : at + 1] for at in range(len(FORM))) == whole
    dice = random.Random(6)
    for _ in range(300):
        cuts = sorted(dice.sample(range(len(FORM)), 6))
        assert read(FORM[a:b] for a, b in zip([0, *cuts], [*cuts, len(FORM)], strict=True)) == whole


@pytest.mark.parametrize("size", [1, 100, 65_536])
def test_nothing_is_held_back_but_what_may_be_an_edge(size: int) -> None:
    """However long the data: memory stays flat."""
    reader = FormReader(b"edge")
    out = sum(len(event) for event in reader.feed(HEAD) if isinstance(event, bytes))
    for _ in range(20):
        out += sum(len(event) for event in reader.feed(b"\n" * size) if isinstance(event, bytes))
    assert out >= 20 * size - len(b"\r\n--edge")


def test_a_form_that_breaks_off_is_not_done() -> None:
    """Wherever it breaks off before its last edge."""
    last = FORM.rindex(b"--edge--") + len(b"--edge--")
    for at in range(last):
        assert read([FORM[:at]])[1] is False
    assert read([FORM[:last]])[1] is True


@pytest.mark.parametrize(
    "head",
    [
        b"--edge\r\n\r\n",
        b"--edge\r\nX: y\r\n\r\n",
        b"--edge\r\nContent-Disposition: attachment; name=a\r\n\r\n",
        b"--edge\r\nContent-Disposition: form-data\r\n\r\n",
        b"--edge\r\nContent-Disposition: form-data; name=a\r\nX: " + b"y" * LONGEST_HEAD,
    ],
)
def test_a_part_without_a_name_is_refused(head: bytes) -> None:
    """And one whose header does not end."""
    with pytest.raises(Malformed):
        read([head])


def test_names_in_other_alphabets() -> None:
    """As browsers write them, and as RFC 5987 does."""
    plain = '--edge\r\nContent-Disposition: form-data; name="file"; filename="é x.txt"\r\n\r\n'.encode()
    star = b"--edge\r\nContent-Disposition: form-data; name=file; filename*=UTF-8''%C3%A9.txt\r\n\r\n"
    assert read([plain])[0][0][0] == Part("file", "é x.txt")
    assert read([star])[0][0][0] == Part("file", "é.txt")
