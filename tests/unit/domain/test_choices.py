"""Ways to have one model, and how they are told."""

from blazar.domain.choices import MOST, Choice, example, judged, told_choices

GIB = 2**30
THREE = (Choice("Q8_0", 8 * GIB), Choice("Q4_K_M", 4 * GIB), Choice("odd", 0))


def test_a_sentence_names_all_of_them_with_their_sizes() -> None:
    """The smallest first, and one as an example."""
    listed = "odd, Q4_K_M (4.00 GiB), Q8_0 (8.00 GiB)"
    assert told_choices("a/b", THREE) == f"a/b holds several models, say which one (hf:a/b:Q4_K_M): {listed}"
    assert "(hf:a/b/x.gguf)" in told_choices("a/b", (Choice("x.gguf", 1),), files=True)


def test_what_fits_is_said_where_it_is_known() -> None:
    """As a guess."""
    told = judged(THREE, lambda size: "fits" if 0 < size < 5 * GIB else "")
    assert "Q4_K_M (4.00 GiB, fits, about), Q8_0 (8.00 GiB)" in told_choices("a/b", told)


def test_one_that_is_not_there_is_named() -> None:
    """H10: the ones that are, beside it."""
    assert told_choices("a/b", THREE, asked="Q9_Z").startswith(
        "a/b has no quantisation Q9_Z; it has odd, Q4_K_M (4.00 GiB)"
    )


def test_the_example_is_the_usual_one_or_the_largest_that_fits() -> None:
    """Else the smallest; none of none."""
    assert example(THREE) == "Q4_K_M"
    rest = (Choice("Q8_0", 8, "fits"), Choice("Q6_K", 6, "fits partly on GPU"), Choice("F16", 16, "too large"))
    assert example(rest) == "Q8_0"
    assert example(tuple(one._replace(verdict="") for one in rest)) == "Q6_K"
    assert example(()) == ""


def test_a_sentence_does_not_grow_without_end() -> None:
    """Some repositories hold hundreds."""
    many = [Choice(f"Q{n}", n) for n in range(1, 200)]
    said = told_choices("a/b", many)
    assert said.count("byte") == MOST
    assert said.endswith(f" and {199 - MOST} more")
