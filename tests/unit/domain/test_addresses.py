"""Which addresses are public."""

import pytest

from blazar.domain.addresses import Ours, is_inside, is_loopback, is_public, leads_out


@pytest.mark.parametrize("text", ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001::200e"])
def test_servers_out_there_are_public(text: str) -> None:
    """The only ones that a request may name."""
    assert is_public(text)


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::"),
        *("10.0.0.1", "172.16.9.9", "192.168.1.1", "fd00::1", "fc00::1"),
        *("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
        *("169.254.169.254", "fe80::1", "fe80::1%eth0"),
        *("100.64.0.1", "100.127.255.254", "198.18.0.1", "192.0.2.1", "203.0.113.7"),
        *("::ffff:127.0.0.1", "::ffff:1.1.1.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:1::1"),
        *("224.0.0.1", "239.1.1.1", "ff02::1", "240.0.0.1", "255.255.255.255"),
        *("localhost", "example.com", "", "1.1.1", "0x7f.1", "2130706433"),
    ],
)
def test_what_leads_inside_is_not(text: str) -> None:
    """This machine, its network, its provider's, and whatever only wraps an address; a name is no address."""
    assert not is_public(text)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST.", "a.localhost", "printer.local", "files.internal", "nas"),
        *("127.0.0.1", "127.0.0.1.", "127.1", "0", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "10.1"),
        *("[::1]", "::ffff:127.0.0.1", "fe80::1%eth0", "192.168.1.1", "169.254.169.254"),
        *("l%6fcalhost", "%31%32%37.0.0.1", "a b.example", ""),
    ],
)
def test_hosts_that_lead_inside(host: str) -> None:
    """In every spelling that a resolver takes for one."""
    assert is_inside(host)


@pytest.mark.parametrize(
    "host", ["huggingface.co", "a.b-c.example.", "1.1.1.1", "127.0.0.1.a.example", "2606:4700:4700::1111"]
)
def test_hosts_that_lead_out(host: str) -> None:
    """Names with a domain, and public addresses."""
    assert not is_inside(host)


def test_only_this_machine_itself_is_loopback() -> None:
    """By literal or by the one name; nothing that has to be looked up, nothing of the network."""
    for host in ("localhost", "LocalHost", "127.0.0.1", "127.8.8.8", "::1"):
        assert is_loopback(host), host
    for host in ("127.0.0.1.evil.example", "127.1", "0.0.0.0", "10.0.0.1", "a.localhost", "[::1]", "", "localhost."):
        assert not is_loopback(host), host


@pytest.mark.parametrize(
    "text", ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101", "64:ff9b::8.8.8.8", "198.18.0.7", "198.19.255.1"]
)
def test_what_a_resolver_says_of_the_outside(text: str) -> None:
    """Public addresses, public ones behind the prefix of DNS64, and those by which a tunnel tells the outside."""
    assert leads_out(text)


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "::ffff:127.0.0.1", "2002:7f00:1::", "::7f00:1"),
        *(
            "168.63.129.16",
            "64:ff9b::a83f:8110",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::101:101",
        ),
        *("198.17.255.255.", "localhost", "hub.example", "", "224.0.0.1", "ff02::1"),
    ],
)
def test_what_a_resolver_says_of_the_inside(text: str) -> None:
    """This machine, its network, its provider's metadata; also behind a translator."""
    assert not leads_out(text)


def test_a_person_names_hosts_and_addresses() -> None:
    """A host with all of its ports, or with one."""
    ours = Ours(("a.example", "Hub.example:8443"), "SETTING")
    assert all(ours.has(*place) for place in (("a.example", 1), ("A.example", 443), ("hub.example", 8443)))
    assert not any(ours.has(*place) for place in (("hub.example", 443), ("b.a.example", 443), ("", 443)))
