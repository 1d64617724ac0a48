"""The ladder of the setup document, and what tries to climb around it."""

import pytest

from blazar.domain.remote_url import Verdict, judge


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTPS://example.com:8443/base",
        "https://203.0.113.7",
        "https://[2001:db8::1]:1",
        "http://127.0.0.1",
        "http://127.0.0.1:11435",
        "http://localhost:1/v1",
        "http://LOCALHOST",
        "http://[::1]",
        "http://[::1]:9",
    ],
)
def test_encrypted_or_on_this_machine_is_accepted(url):
    """Whatever the host in the first case, and without a warning in both."""
    assert judge("box", url) == Verdict()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://10.0.0.9:8000", "10.0.0.9"),
        ("http://10.255.255.255", "10.255.255.255"),
        ("http://192.168.1.1", "192.168.1.1"),
        ("http://172.16.0.1", "172.16.0.1"),
        ("HTTP://172.31.255.255:1", "172.31.255.255"),
        ("http://169.254.1.1", "169.254.1.1"),
        ("http://[fd00::1]:8000", "fd00::1"),
        ("http://[FDAB::1]", "fdab::1"),
        ("http://[fe80::1]", "fe80::1"),
        ("http://[febf::1%25eth0]", "febf::1%25eth0"),
    ],
)
def test_the_local_network_is_accepted_with_a_warning(url, host):
    """The key rides unencrypted there: the warning names the remote and the host."""
    warning, refusal = judge("box", url)
    assert not refusal
    assert "box" in warning
    assert host in warning
    assert "unencrypted" in warning


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://203.0.113.7:8000",
        "http://bigbox",
        "http://bigbox.local",
        "http://localhost.example.com",
        "http://localhost.",
        "http://172.15.0.1",
        "http://172.32.0.1",
        "http://11.0.0.1",
        "http://100.64.0.1",
        "http://127.0.0.2",
        "http://0.0.0.0",
        "http://2130706433",
        "http://0x7f000001",
        "http://0177.0.0.1",
        "http://010.0.0.1",
        "http://127.1",
        "http://10.0.0.1.",
        "http://[::ffff:10.0.0.1]",
        "http://[::ffff:127.0.0.1]",
        "http://[64:ff9b::10.0.0.1]",
        "http://[fc00::1]",
        "http://[fec0::1]",
        "http://[::]",
    ],
)
def test_anything_else_in_clear_is_refused(url):
    """Names count as public, and so does every spelling that only some resolvers take for an address."""
    warning, refusal = judge("box", url)
    assert not warning
    assert "unencrypted" in refusal
    assert "allow_insecure_http" in refusal
    warning, refusal = judge("box", url, allow_insecure=True)
    assert not refusal
    assert "box" in warning
    assert "allow_insecure_http" in warning


@pytest.mark.parametrize(
    "url",
    [
        "",
        "bigbox:8000",
        "ftp://127.0.0.1",
        "ws://127.0.0.1",
        "//127.0.0.1",
        "unix:///run/x.sock",
        "https://",
        "http://:80",
        "http://127.0.0.1:70000",
        "http://127.0.0.1:x",
        "http://[::1",
        "http://[nonsense]",
        "http://127.0.0.1\\@example.com",
        "http://127.0.0.1 .example.com",
        "http://127.0.0.1\n.example.com",
        "https://example.com/?key=1",
        "https://example.com/#part",
        "http://127.0.0.1@example.com",
        "https://me:secret@example.com",
        "http://me@127.0.0.1",
    ],
)
def test_what_is_no_base_url_is_refused_whatever_is_allowed(url):
    """Also where the secret stands in the URL: it would be shown wherever the URL is. The sentence repeats none of it."""
    for allowed in (False, True):
        warning, refusal = judge("box", url, allowed)
        assert refusal
        assert not warning
        assert "secret@" not in refusal
