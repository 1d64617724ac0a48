"""Versions of what is pulled."""

from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.parcels import Words, artefact_of

MARKS = st.lists(st.tuples(st.text("ab/.", max_size=4), st.text("01", max_size=4)), max_size=5)


@given(MARKS, st.randoms())
def test_the_order_of_files_is_no_other_version(marks: list[tuple[str, str]], chance: object) -> None:
    """Registries list as they like (case H11)."""
    mixed = list(marks)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert artefact_of(mixed) == artefact_of(marks)


@given(MARKS, MARKS)
def test_other_files_are_another_version(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> None:
    """A name cannot pass for a part of a mark."""
    assert (artefact_of(one) == artefact_of(other)) == (sorted(one) == sorted(other))


def test_words_say_nothing_by_themselves() -> None:
    """A registry without any is one that has none."""
    assert not any(Words())
