"""Fetching a picture: from where, how far, how much, and in which words it is refused."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from blazar.adapters.net import pictures as module
from blazar.adapters.net.pictures import PublicPictures, resolved
from blazar.domain.errors import Malformed
from tests.support.registry import Answer, Registry

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


def loopback(address: str) -> bool:
    """What only a test may allow."""
    return address == "127.0.0.1"


class Names:
    """A resolver of the test's own; counts how often it is asked."""

    def __init__(self, *addresses: str) -> None:
        self.addresses: list[str] = list(addresses)
        self.asked = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        del host, port
        self.asked += 1
        return self.addresses


def refusal(pictures: PublicPictures, url: str) -> str:
    with pytest.raises(Malformed) as refused:
        pictures.fetch(url)
    return str(refused.value)


@pytest.fixture
def pictures() -> PublicPictures:
    return PublicPictures(may=loopback)


def test_a_picture_and_what_it_is(pictures: PublicPictures, registry: Registry) -> None:
    """Known by its bytes, whatever its server calls it; the server learns nothing of us but that we ask."""
    registry.given["/cat.png"] = Answer(PNG, headers=(("content-type", "text/html"),))
    assert pictures.fetch(registry.url + "/cat.png") == ("image/png", PNG)
    sent = {name.lower() for name in registry.asked[0].headers}
    assert sent == {"host", "accept", "accept-encoding", "user-agent", "connection"}


@pytest.mark.parametrize("answer", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::ffff:1.1.1.1", "::1"])
def test_a_name_that_leads_inside_is_refused(answer: str) -> None:
    """Also where only one of its addresses does: which one is asked is not a name server's choice."""
    assert "not a public one" in refusal(PublicPictures(Names(answer)), "http://example.com/x.png")
    assert "not a public one" in refusal(PublicPictures(Names("1.1.1.1", answer)), "https://example.com/x.png")


def test_what_was_judged_is_what_is_asked(registry: Registry) -> None:
    """A name is resolved once: what it resolves to a moment later is of no interest."""
    registry.given["/x"] = Answer(PNG)
    names = Names("127.0.0.1")
    port = registry.url.rpartition(":")[2]
    PublicPictures(names, loopback).fetch(f"http://cat.example:{port}/x")
    assert names.asked == 1
    assert registry.asked[0].headers["host"] == f"cat.example:{port}"


def test_every_hop_is_judged(registry: Registry, network: Registry) -> None:
    """A public server may not send us inside."""
    seen: list[str] = []

    def once(address: str) -> bool:
        seen.append(address)
        return len(seen) == 1

    registry.given["/x"] = Answer(status=302, headers=(("location", network.url + "/inside"),))
    assert "not a public one" in refusal(PublicPictures(may=once), registry.url + "/x")
    assert network.asked == []


def test_three_hops_and_no_more(pictures: PublicPictures, registry: Registry) -> None:
    """Relative ones count too."""
    for at in range(4):
        registry.given[f"/{at}"] = Answer(status=302, headers=(("location", f"/{at + 1}"),))
    registry.given["/4"] = Answer(PNG)
    assert pictures.fetch(registry.url + "/1").data == PNG
    assert "from one address to the next" in refusal(pictures, registry.url + "/0")


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x", "http://", "https://u:p@127.0.0.1/"]
)
def test_other_schemes_and_passwords_are_followed_nowhere(
    pictures: PublicPictures, registry: Registry, location: str
) -> None:
    """Nor asked directly."""
    registry.given["/x"] = Answer(status=302, headers=(("location", location),))
    assert "was not fetched" in refusal(pictures, registry.url + "/x")
    assert "was not fetched" in refusal(pictures, location)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(b"<html>", headers=(("content-type", "image/png"),)), "no PNG"),
        (Answer(status=404), "answered 404"),
        (Answer(b""), "no PNG"),
    ],
)
def test_what_is_no_picture_is_said(pictures: PublicPictures, registry: Registry, answer: Answer, said: str) -> None:
    """Its bytes are told to nobody."""
    registry.given["/x"] = answer
    assert said in refusal(pictures, registry.url + "/x")


def test_too_much_is_refused(pictures: PublicPictures, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it says it is, before it is read."""
    monkeypatch.setattr(module, "LARGEST", 50)
    registry.given["/x"] = Answer(PNG)
    assert "larger than" in refusal(pictures, registry.url + "/x")


@pytest.fixture
def dripping() -> Iterator[str]:
    """A server that says a byte now and then and never ends."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)

        def serve() -> None:
            wire, _ = listening.accept()
            with wire:
                wire.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + PNG)
                while not stop.wait(0.05):
                    try:
                        wire.sendall(b".")
                    except OSError:
                        return

        server = threading.Thread(target=serve)
        server.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        stop.set()
        server.join()


def test_a_server_that_trickles_is_cut_off(dripping: str) -> None:
    """What came until then is no picture."""
    assert "too slow" in refusal(PublicPictures(may=loopback, secs=0.5), dripping)


def test_nobody_there(pictures: PublicPictures) -> None:
    """A port that is closed, a name that is none."""
    with socket.socket() as held:  # bound and not listening: nobody else gets the port meanwhile
        held.bind(("127.0.0.1", 0))
        assert "could not be reached" in refusal(pictures, f"http://127.0.0.1:{held.getsockname()[1]}/x")
    assert "could not be reached" in refusal(pictures, f"http://{'a' * 300}/x")
    assert "was not fetched" in refusal(pictures, "http://127.0.0.1:99999/x")


def test_the_systems_resolver_is_asked() -> None:
    """Addresses come as text."""
    assert resolved("127.0.0.1", 80) == ["127.0.0.1"]


def test_a_server_without_tls_behind_an_https_address_is_not_believed(
    pictures: PublicPictures, registry: Registry
) -> None:
    """And not asked in the clear."""
    assert "could not be reached" in refusal(pictures, registry.url.replace("http:", "https:") + "/x")
    assert registry.asked == []


def test_the_name_is_what_a_certificate_is_for(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection goes to the address that was judged; who answers there must still be who was named."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cat.example"
    more = ["-addext", "subjectAltName=DNS:cat.example", "-keyout", key, "-out", cert]
    subprocess.run([openssl, *words.split(), *more], check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    registry.server.socket = context.wrap_socket(registry.server.socket, server_side=True)
    registry.given["/x"] = Answer(PNG)
    port = registry.url.rpartition(":")[2]
    pictures = PublicPictures(Names("127.0.0.1"), loopback)
    assert "could not be reached" in refusal(pictures, f"https://cat.example:{port}/x")
    monkeypatch.setenv("SSL_CERT_FILE", cert)
    assert "could not be reached" in refusal(pictures, f"https://dog.example:{port}/x")
    assert registry.asked == []
    assert pictures.fetch(f"https://cat.example:{port}/x").data == PNG
