"""Rows that anybody may have published."""

from typing import Any

import pytest

from blazar.adapters.net.hub_rows import About, Row, about_of, found_of, row_of
from blazar.application.ports.remote import Found

SHA, MARK = "a" * 64, "b" * 40
LARGE = {
    "type": "file",
    "oid": MARK,
    "size": 135,
    "path": "m.gguf",
    "lfs": {"oid": SHA, "size": 9000, "pointerSize": 135},
}


def test_a_large_file_has_its_digest_and_a_small_one_its_mark() -> None:
    """`lfs` says the file's own length, whatever stands beside it."""
    assert row_of(LARGE) == Row("m.gguf", 9000, SHA, SHA)
    small = {"type": "file", "oid": MARK, "size": 5, "path": "sub/config.json"}
    assert row_of(small) == Row("sub/config.json", 5, "", MARK)
    assert row_of({**small, "oid": "latest"}) == Row("sub/config.json", 5, "", "")


@pytest.mark.parametrize("oid", ["sha256:" + SHA, SHA.upper(), SHA[:-1], "../../x", "", 5, None])
def test_j6_a_digest_that_is_none_is_told(oid: Any) -> None:
    """It would stand for the file: the listing is not believed."""
    with pytest.raises(ValueError, match=r"m\.gguf"):
        row_of({**LARGE, "lfs": {"oid": oid, "size": 9000}})


@pytest.mark.parametrize("lfs", [5, [SHA], "x"])
def test_a_note_that_is_no_object_is_told(lfs: Any) -> None:
    """The same."""
    with pytest.raises(ValueError, match=r"m\.gguf"):
        row_of({**LARGE, "lfs": lfs})


@pytest.mark.parametrize(
    "path",
    [
        "../m.gguf",
        "a/../../m.gguf",
        "/etc/m.gguf",
        "a//m.gguf",
        "m\0.gguf",
        "m\n.gguf",
        "m\u202e.gguf",
        "a\\b.gguf",
        "m?x.gguf",
        "m#x.gguf",
        "m" * 300 + ".gguf",
        "\u00fc" * 126,
        "d/" * 300 + "m.gguf",
        "m.gguf.part",
        "m.gguf.part.json",
        "m.gguf.Part/x.gguf",
        "m.lock",
        "",
        5,
    ],
)
def test_j6_names_that_could_lie_elsewhere_are_left_out(path: Any) -> None:
    """Climbing, absolute, unprintable, too long for a file system, or called as downloads call what is incomplete."""
    assert row_of({**LARGE, "path": path}) is None


@pytest.mark.parametrize("size", [-1, 2**63, 1.5, "5", True, None])
def test_sizes_that_are_none_are_left_out(size: Any) -> None:
    """Also those of `lfs`."""
    assert row_of({**LARGE, "lfs": {"oid": SHA, "size": size}}) is None


@pytest.mark.parametrize(
    ("answer", "licence"),
    [
        ({"tags": ["gguf", "license:apache-2.0"]}, "apache-2.0"),
        ({"cardData": {"license": "mit"}, "tags": ["license:other"]}, "mit"),
        ({"cardData": {"license": ["mit", "gpl-3.0"]}}, "mit"),
        ({"cardData": {"license": "other", "license_name": "gemma-terms"}, "tags": ["license:other"]}, "gemma-terms"),
        ({"cardData": {"license": "other", "license_name": "\x1b[2J"}}, "other"),
        ({"tags": ["license:" + "x" * 500, 5]}, ""),
        ({"tags": "license:mit", "cardData": "mit"}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_a_licence_is_the_cards_or_the_tags(answer: Any, licence: str) -> None:
    """In one printable line, or none."""
    assert about_of(answer).licence == licence


@pytest.mark.parametrize(
    ("gated", "is_so"), [(False, False), (None, False), ("auto", True), ("manual", True), (True, True)]
)
def test_gated(gated: Any, is_so: bool) -> None:
    """Whatever way it is asked for."""
    assert about_of({"gated": gated}) == About("", is_so)


def test_a_repository_that_was_found() -> None:
    """Quantisations from its files, parameters from its headers, the day without the hour."""
    row = {
        "id": "me/m-GGUF",
        "downloads": 7,
        "likes": 2,
        "lastModified": "2026-05-04T03:02:01.000Z",
        "gated": "auto",
        "gguf": {"total": 8_190_735_360, "architecture": "qwen3"},
        "siblings": [
            {"rfilename": "m-Q8_0.gguf", "size": 9},
            {"rfilename": "m-Q4_K_M.gguf", "size": 5},
            {"rfilename": "mmproj-F16.gguf"},
            {"rfilename": 5},
            {"rfilename": "../x-Q2_K.gguf"},
            None,
        ],
    }
    assert found_of(row) == Found("me/m-GGUF", 7, 2, 8_190_735_360, 5, ("Q8_0", "Q4_K_M"), "2026-05-04", True)


@pytest.mark.parametrize(
    "row", [None, {}, {"id": "m"}, {"id": "../m"}, {"id": "a/..b"}, {"id": "a/b\x1b[2J"}, {"id": 5}]
)
def test_what_is_no_repository_is_left_out(row: Any) -> None:
    """It could not be pulled, either."""
    assert found_of(row) is None


@pytest.mark.parametrize("value", [-1, "7", 1.5, True, None, 2**60, []])
def test_counts_that_are_none_are_nothing(value: Any) -> None:
    """The row stands."""
    row = {"id": "me/m", "downloads": value, "likes": value, "gguf": {"total": value}, "safetensors": value}
    assert found_of({**row, "lastModified": value, "siblings": value}) == Found("me/m", 0)
