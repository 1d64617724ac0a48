"""What a key may do, and what may be done to it."""

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Conflict, Forbidden, Malformed
from blazar.domain.keys import (
    PREFIX,
    SECRET_BYTES,
    Key,
    check_key_name,
    check_left,
    check_manager,
    new_secret,
    redacted,
    scopes_in_vain,
)

ADMIN, GUEST = Key("admin", "plm_a"), Key("guest", "plm_g", ("m",))


def test_new_secrets_are_ours_and_beyond_guessing() -> None:
    """They begin with our mark and hold at least 128 bits."""
    asked: list[int] = []
    secret = new_secret(lambda size: asked.append(size) or "ab" * size)  # type: ignore[func-returns-value]
    assert secret == "plm_" + "ab" * SECRET_BYTES
    assert asked == [SECRET_BYTES]
    assert SECRET_BYTES * 8 >= 128


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        (PREFIX + "0" * 44 + "beef", "plm_…beef"),
        ("plm_short", "********"),
        ("correct horse battery staple, and a lot more of the same kind", "********"),
        ("", "********"),
    ],
)
def test_little_is_shown_of_a_secret(secret: str, shown: str) -> None:
    """Four of 48 characters of one of ours; of what somebody made up nothing, not even its length."""
    assert redacted(secret) == shown


def test_a_key_in_a_traceback_tells_no_secret() -> None:
    """Its name is what a person needs."""
    assert repr(Key("a", "hush")) == "Key('a', '********')"
    assert "hush" not in f"{Key('a', 'hush')}"


@pytest.mark.parametrize("name", ["a", "Team.one_2-x", "9", "a" * 64])
def test_names_that_fit_a_url_and_a_shell(name: str) -> None:
    """They are given back."""
    assert check_key_name(name) == name


@pytest.mark.parametrize("name", ["", "a" * 65, ".a", "-a", "a b", "a/b", "a%", "é", "a\n"])
def test_names_that_would_need_quoting(name: str) -> None:
    """Are refused, with the field."""
    with pytest.raises(Malformed) as refused:
        check_key_name(name)
    assert (str(refused.value), refused.value.field) == (teaching.bad_key_name(name), "name")


def test_who_may_manage() -> None:
    """Nobody without keys (with the specification's sentence, and what is simpler), no scoped key, nobody unknown."""
    check_manager((ADMIN, GUEST), "admin")
    with pytest.raises(Forbidden) as refused:
        check_manager((), "")
    assert str(refused.value) == (
        "no keys configured: add the first [[keys]] entry in config.toml (or BLAZAR_KEYS env) and restart, or run "
        "blazar keys add NAME on the gateway's machine, which needs no restart"
    )
    for caller in ("guest", "", "gone"):
        with pytest.raises(Forbidden) as refused:
            check_manager((ADMIN, GUEST), caller)
        assert str(refused.value) == teaching.key_is_scoped(caller)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ((ADMIN, GUEST), (ADMIN,), ""),
        ((ADMIN,), (ADMIN, GUEST), ""),
        ((), (ADMIN,), ""),
        ((GUEST,), (GUEST,), ""),  # written by hand: nobody manages there, and that may stay so
        ((), (GUEST,), ""),
        ((ADMIN,), (), teaching.last_key()),
        ((GUEST,), (), teaching.last_key()),
        ((ADMIN, GUEST), (GUEST,), teaching.last_unscoped_key()),
        ((ADMIN,), (ADMIN._replace(models=("m",)),), teaching.last_unscoped_key()),
    ],
)
def test_what_must_be_left(before: tuple[Key, ...], after: tuple[Key, ...], sentence: str) -> None:
    """A key, and one that may manage where there was one."""
    if not sentence:
        check_left(before, after)
        return
    with pytest.raises(Conflict) as refused:
        check_left(before, after)
    assert str(refused.value) == sentence


def test_models_that_a_key_may_use_and_that_are_not_there() -> None:
    """However they are spelled; a key without a list misses none."""
    scopes = {"a": ("M:latest", "gone"), "b": (), "c": ("n:1", "gone", "hf.co/a/N")}
    means = {"hf.co/a/N": "n-1"}
    found = scopes_in_vain(scopes, ["m", "n-1"], lambda name: means.get(name, name))
    assert list(found) == [("a", "gone"), ("c", "gone")]
