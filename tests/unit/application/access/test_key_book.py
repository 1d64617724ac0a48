"""The `[[keys]]` of a text, changed one at a time."""

from collections.abc import Callable
from typing import Any

import pytest

from blazar.application.config.layers import load_config
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Forbidden, Malformed, NotFound, StoreTrouble
from blazar.domain.keys import Key, check_manager
from tests.support.key_rig import GUEST, OWNER, PATH, KeyRig

FIRST = "plm_" + f"{1:048x}"


def test_a_new_key_stands_behind_the_others_and_nothing_else_is_different() -> None:
    """Its settings as the file says them; what was there is there byte by byte."""
    rig = KeyRig()
    before = rig.text
    key = rig.book.add("new", {"rpm": 7, "models": ["a", "b"]})
    assert key == Key("new", FIRST, ("a", "b"), rpm=7)
    assert rig.text == before + f'\n[[keys]]\nname = "new"\nkey = "{FIRST}"\nmodels = ["a", "b"]\nrpm = 7\n'


def test_the_first_key_may_be_made_in_an_empty_file() -> None:
    """Whoever may write the file may; it must be one that can manage."""
    rig = KeyRig("")
    with pytest.raises(Conflict, match="must be one without a models list"):
        rig.book.add("guest", {"models": ["m"]})
    assert rig.text == ""
    secret = rig.book.add("owner", {}).key
    assert rig.text == f'[[keys]]\nname = "owner"\nkey = "{secret}"\n'
    rig.book.add("guest", {"models": ["m"]})


def test_settings_change_and_comments_stay() -> None:
    """Also the one behind the secret."""
    rig = KeyRig()
    key = rig.book.update("guest", {"rpm": None, "weight": 2.5, "models": ["m", "n"]})
    assert key == Key("guest", "plm_guests-own-secret", ("m", "n"), weight=2.5)
    changed = GUEST.replace('["m"]\nrpm = 3\n', '["m", "n"]\nweight = 2.5\n')
    assert rig.text == OWNER + changed


def test_nothing_is_written_where_nothing_changes() -> None:
    """A backup of the same bytes would push another one out."""
    rig = KeyRig()
    assert rig.book.update("guest", {"rpm": 3, "tpm": None}).rpm == 3
    assert rig.writes == 0


def test_a_rotated_key_keeps_everything_but_its_secret() -> None:
    """Its place, its limits and the comment behind it."""
    rig = KeyRig()
    assert rig.book.rotate("guest") == Key("guest", FIRST, ("m",), rpm=3)
    assert rig.text == OWNER + GUEST.replace("plm_guests-own-secret", FIRST)


def test_a_removed_key_leaves_the_comments() -> None:
    """They are a person's; what was said of the key itself goes."""
    rig = KeyRig()
    assert rig.book.remove("guest").name == "guest"
    assert rig.text == OWNER + "\n# of Ana\n"
    assert [key.name for key in load_config(rig.text, PATH).config.keys] == ["owner"]


@pytest.mark.parametrize(
    ("text", "act", "sentence"),
    [
        (OWNER, lambda book: book.remove("owner"), teaching.last_key()),
        (OWNER + GUEST, lambda book: book.remove("owner"), teaching.last_unscoped_key()),
        (OWNER + GUEST, lambda book: book.update("owner", {"models": ["m"]}), teaching.last_unscoped_key()),
        (OWNER, lambda book: book.add("owner", {}), teaching.key_name_taken("owner")),
    ],
)
def test_what_would_lock_everybody_out_is_refused(text: str, act: Callable[[Any], Any], sentence: str) -> None:
    """Or let everybody in (contract)."""
    rig = KeyRig(text)
    with pytest.raises(Conflict) as refused:
        act(rig.book)
    assert str(refused.value) == sentence
    assert (rig.text, rig.writes) == (text, 0)


@pytest.mark.parametrize("act", ["update", "rotate", "remove"])
def test_an_unknown_name_is_not_found(act: str) -> None:
    """With where to look."""
    rig = KeyRig()
    with pytest.raises(NotFound, match="blazar keys list"):
        getattr(rig.book, act)("nobody", *([{}] if act == "update" else []))


@pytest.mark.parametrize("name", ["", "a b", "-x", "../x", "a/b", "ü", "x" * 65, "a\n"])
def test_a_name_is_one_word(name: str) -> None:
    """It stands in paths, logs and listings."""
    rig = KeyRig()
    with pytest.raises(Malformed):
        rig.book.add(name, {})
    assert rig.writes == 0


def test_who_may_is_asked_about_the_keys_of_the_file_as_it_is_now() -> None:
    """A key that was scoped a moment ago manages nothing, whatever the daemon has read."""
    rig = KeyRig()
    for act in (
        lambda judge: rig.book.add("new", {}, judge),
        lambda judge: rig.book.update("guest", {"rpm": 1}, judge),
        lambda judge: rig.book.rotate("guest", judge),
        lambda judge: rig.book.remove("guest", judge),
    ):
        with pytest.raises(Forbidden):
            act(lambda held: check_manager(held, "guest"))
    assert rig.writes == 0
    rig.book.rotate("guest", lambda held: check_manager(held, "owner"))


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        (OWNER + GUEST, "guest:plm_guests-own-secret"),
        (OWNER + GUEST, "other:plm_o plm_guests-own-secret"),
    ],
)
def test_a_secret_of_the_variable_does_not_come_back(text: str, variable: str) -> None:
    """Removed, it would be added again under its name or as one without; so it is refused, with what to do."""
    rig = KeyRig(text, variable)
    with pytest.raises(Conflict, match="BLAZAR_KEYS"):
        rig.book.remove("guest")
    if variable.startswith("guest"):  # its name stays as the file says: the variable brings nothing back
        rig.book.rotate("guest")
    else:
        with pytest.raises(Conflict, match="BLAZAR_KEYS"):
            rig.book.rotate("guest")


def test_a_key_that_only_the_variable_knows_cannot_be_changed() -> None:
    """It stands in no file; its name is taken all the same, and it counts as a key that may manage."""
    rig = KeyRig("", "boss:plm_boss-secret")
    for act in (rig.book.rotate, rig.book.remove):
        with pytest.raises(Conflict, match="BLAZAR_KEYS"):
            act("boss")
    with pytest.raises(Conflict):
        rig.book.add("boss", {})
    rig.book.add("guest", {"models": ["m"]})
    assert rig.names() == ["boss"]


@pytest.mark.parametrize(
    "text",
    [
        'keys = [{name = "owner", key = "plm_owners-own-secret"}, {name = "guest", key = "plm_guests", rpm = 3}]\n',
        'keys = [\n  {name = "owner", key = "plm_owners-own-secret"}, # me\n  {name = "guest", key = "plm_guests", rpm = 3},\n]\n',
    ],
)
def test_an_inline_list_is_one_too(text: str) -> None:
    """Its other entries and the rest of the file stay."""
    rig = KeyRig("port = 1 # one\n" + text + "\n[gateway]\nhost = '::1'\n")
    rig.book.add("new", {"rpm": 1})
    rig.book.update("guest", {"rpm": None, "tpm": 5})
    rig.book.rotate("new")
    rig.book.remove("guest")
    keys = load_config(rig.text, PATH).config.keys
    assert [(key.name, key.rpm) for key in keys] == [("owner", None), ("new", 1)]
    assert rig.text.startswith("port = 1 # one\n")
    assert rig.text.endswith("[gateway]\nhost = '::1'\n")


def test_a_file_that_is_wrong_by_now_is_said_to_be() -> None:
    """Not the fault of what was asked for; nothing is changed."""
    rig = KeyRig(OWNER + "\nprot = 1\n")
    with pytest.raises(Conflict, match=r"nothing was changed: .*prot"):
        rig.book.add("new", {})
    rig = KeyRig(OWNER + "port = \n")
    with pytest.raises(Conflict, match="nothing was changed"):
        rig.book.rotate("owner")


def test_what_cannot_be_written_is_told_as_it_is() -> None:
    """A full disk is no conflict."""
    rig = KeyRig()
    rig.trouble = StoreTrouble("disk full")
    with pytest.raises(StoreTrouble, match="disk full"):
        rig.book.add("new", {})
    assert rig.text == OWNER + GUEST
