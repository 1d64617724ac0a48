"""Tag order."""

from blazar.domain.versions import newest_first, tag_key


def test_build_numbers_compare_as_numbers() -> None:
    """b11434 is newer than b9999, whatever a dictionary says."""
    assert tag_key("b11434") > tag_key("b9999")
    assert tag_key("b1") == tag_key("b1")


def test_variants_follow_their_build() -> None:
    """A variant stands beside its build and below the next one."""
    assert newest_first(["b9", "b10-cuda", "b10", "b11"]) == ["b11", "b10-cuda", "b10", "b9"]


def test_wheels_and_local_stand_below_builds() -> None:
    """Whatever is no numbered build is older than any; wheel versions compare part by part."""
    tags = ["local", "embedded-2026.9.1", "b1", "embedded-2026.10.11549"]
    assert newest_first(tags) == ["b1", "local", "embedded-2026.10.11549", "embedded-2026.9.1"]


def test_any_text_has_a_place() -> None:
    """Odd tags neither fail nor compare unstably."""
    odd = ["", "b", "b1.2", "B5", "1", "a1b", "a1", "b٣", "b²", "²"]
    assert sorted(odd, key=tag_key) == sorted([*odd[4:], *odd[:4]], key=tag_key)
