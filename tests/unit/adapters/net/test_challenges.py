"""Whose token server is believed."""

import pytest

from blazar.adapters.net.challenges import Challenge, challenge_in, token_address, token_in

OWN = "https://hub.example"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (
            'Bearer realm="https://hub.example/token",service="hub",scope="repository:a/b:pull"',
            Challenge("https://hub.example/token", "hub", "repository:a/b:pull"),
        ),
        ("bearer realm=https://hub.example/t , scope=x", Challenge("https://hub.example/t", "", "x")),
        ('Bearer realm="file:///etc/passwd"', Challenge("file:///etc/passwd")),
        ('Bearer realm="Authentication required", charset="UTF-8"', None),
        ('Basic realm="https://hub.example/"', None),
        ("Bearer", None),
        ("", None),
    ],
)
def test_what_a_401_says(header: str, found: Challenge | None) -> None:
    """Words for people are no address."""
    assert challenge_in(header) == found


def test_a_header_without_end_is_cut() -> None:
    """Nobody searches megabytes of it."""
    assert challenge_in("Bearer " + "x" * 100_000 + ',realm="https://hub.example"') is None


@pytest.mark.parametrize(
    "realm",
    [
        "http://evil.test/token",
        "https://evil.test/token",
        "https://hub.example.evil.test/token",
        "https://hub.example@evil.test/token",
        "https://me:secret@hub.example/token",
        "http://hub.example/token",
        "https://hub.example:8443/token",
        "https://127.0.0.1/token",
        "https://169.254.169.254/latest",
        "https://[::1]/token",
        "https://[::1/token",
        "https://hub.example:99999/",
        "file:///etc/passwd",
        "ftp://hub.example/token",
        "//evil.test/token",
    ],
)
def test_h12_a_realm_elsewhere_is_not_asked(realm: str) -> None:
    """Other hosts, other ports, in the clear, files, addresses inside."""
    assert token_address(Challenge(realm, "s"), OWN) is None


def test_the_registrys_own_is() -> None:
    """With the service and every scope, behind what it asks with itself; on this machine in the clear, too."""
    asked = token_address(Challenge("https://hub.example/token?x=1#y", "a b", "r:a:pull r:b:pull"), OWN)
    assert asked == "https://hub.example/token?x=1&service=a+b&scope=r%3Aa%3Apull&scope=r%3Ab%3Apull"
    here = "http://127.0.0.1:5000"
    assert token_address(Challenge(f"{here}/token"), here) == f"{here}/token"
    lan = "http://hub.lan"
    assert token_address(Challenge(f"{lan}/token"), lan) is None


@pytest.mark.parametrize(
    ("answer", "token"),
    [
        ({"token": "abc.def"}, "abc.def"),
        ({"access_token": "abc"}, "abc"),
        ({"token": ""}, ""),
        ({"token": "a b"}, ""),
        ({"token": "a\r\nx-evil: 1"}, ""),
        ({"token": 5}, ""),
        ({"token": "x" * 20_000}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_a_token_is_one_that_can_be_sent(answer: object, token: str) -> None:
    """Under either name."""
    assert token_in(answer) == token
