"""Which row a pull is for."""

import pytest

from blazar.application.models.aim import left_behind, row_name, row_of_word, wanted_name
from blazar.application.models.pulling import Wish
from blazar.application.ports.remote import Parcel
from blazar.domain.errors import Malformed
from blazar.domain.parcels import Origin
from blazar.domain.references import kept_address, pull_reference
from tests.fakes.catalog import a_model

REF = pull_reference("hf:acme/Tiny-GGUF:Q8_0")
PARCEL = Parcel(REF, ())
TINY = a_model("tiny-q8_0", origin=Origin(str(REF), "new", pulled_at=2.0))
COPY = a_model("zz", origin=Origin(str(REF), "old", pulled_at=1.0))
IMPORTED = a_model("smol")
CLIENT = "hf.co/acme/Tiny-GGUF:Q8_0"


def test_a_client_s_word_is_no_name_that_somebody_chose() -> None:
    """It comes along with every pull of ollama's dialect."""
    assert wanted_name(Wish(CLIENT, CLIENT)) == ""
    assert wanted_name(Wish(CLIENT, "mine")) == "mine"
    assert wanted_name(Wish(CLIENT)) == ""


@pytest.mark.parametrize("word", ["zz", "ZZ", "zz:latest", " zz "])
def test_a_name_of_the_catalog_is_that_row(word: str) -> None:
    """It is pulled by what it was pulled by."""
    assert row_of_word(Wish(word), [TINY, COPY]) == COPY
    assert row_of_word(Wish("acme/zz"), [TINY, COPY]) is None


def test_a_row_that_was_never_pulled_says_so() -> None:
    """Unless what comes gets a name of its own: the word is a reference then."""
    with pytest.raises(Malformed, match="not pulled"):
        row_of_word(Wish("smol"), [IMPORTED])
    with pytest.raises(Malformed, match="not pulled"):
        row_of_word(Wish("smol", "smol"), [IMPORTED])
    assert row_of_word(Wish("smol", "other"), [IMPORTED]) is None


def test_an_address_of_which_a_hash_is_kept_must_be_said() -> None:
    """Its query was a secret; nobody can be asked for it."""
    row = a_model("there", origin=Origin(kept_address("https://files.example/There.gguf?sig=1"), "a"))
    with pytest.raises(Malformed, match="--name there") as refused:
        row_of_word(Wish("there"), [row])
    assert "sig" not in str(refused.value)
    assert "blazar-kept" not in str(refused.value)


@pytest.mark.parametrize(
    ("wish", "rows", "name"),
    [
        (Wish(CLIENT), [], "tiny-q8_0"),
        (Wish(CLIENT, CLIENT), [], CLIENT),
        (Wish(CLIENT, CLIENT), [TINY, COPY], "tiny-q8_0"),
        (Wish(CLIENT), [COPY], "zz"),
        (Wish(CLIENT, CLIENT), [COPY], "zz"),
        (Wish(CLIENT), [a_model(CLIENT, origin=TINY.origin)], CLIENT),
        (Wish(CLIENT), [TINY, a_model(CLIENT, origin=TINY.origin)], "tiny-q8_0"),
        (Wish(CLIENT, "mine"), [TINY, COPY], "mine"),
        (Wish(CLIENT, "ZZ"), [TINY, COPY], "zz"),
        (Wish(CLIENT), [a_model("tiny-q8_0"), COPY], "zz"),
        (Wish(CLIENT), [a_model("tiny-q8_0")], "tiny-q8_0"),
    ],
)
def test_one_model_gets_one_row_unless_somebody_names_another(wish: Wish, rows: list[object], name: str) -> None:
    """By verb and by API alike: what was pulled by one is renewed by the other."""
    assert row_name(wish, PARCEL, "tiny-q8_0", rows) == name  # type: ignore[arg-type] # it reads a few fields of them


def test_copies_of_another_version_are_told() -> None:
    """They stay what they were."""
    assert left_behind("tiny-q8_0", PARCEL, "new", [TINY, COPY, IMPORTED]) == ("zz",)
    assert left_behind("zz", PARCEL, "new", [TINY, COPY, IMPORTED]) == ()
