"""Length and digest of a file, asked with one byte."""

import pytest

from blazar.adapters.net.probes import Told, told_of
from blazar.adapters.net.web import Web
from tests.support.registry import Answer, Asked, Registry
from tests.support.registry_faults import Fault, Stored

SHA = "a" * 64
LINKED = (("x-linked-etag", f'"{SHA}"'), ("x-linked-size", "1000"))


def told(registry: Registry) -> Told:
    web = Web(registry.url)
    try:
        return told_of(web, registry.url + "/m.gguf", "m.gguf")
    finally:
        web.close()


def test_h17_the_registrys_own_words_are_on_its_redirect(registry: Registry, network: Registry) -> None:
    """The content network's entity tag is something else."""
    registry.given["/m.gguf"] = Answer(status=302, headers=(("location", network.url + "/blob"), *LINKED))
    network.given["/blob"] = Stored(bytes(1000), '"s3-multipart-17"')
    assert told(registry) == Told(1000, SHA, "s3-multipart-17")
    assert network.asked[0].headers["range"] == "bytes=0-0"
    assert network.given["/blob"].asked == ["bytes=0-0"]


@pytest.mark.parametrize(("etag", "said"), [('"v1"', "v1"), ('W/"v1"', ""), (None, "")])
def test_h17_with_or_without_an_entity_tag(registry: Registry, etag: str | None, said: str) -> None:
    """Strong, weak, or none at all: the length is known all the same."""
    registry.given["/m.gguf"] = Stored(bytes(1000), etag)
    assert told(registry) == Told(1000, "", said)


def test_a_host_without_ranges_says_its_length(registry: Registry) -> None:
    """Nothing of the body is read."""
    registry.given["/m.gguf"] = Stored(bytes(1000), None)
    registry.faults.set("/m.gguf", Fault(ranges=False))
    assert told(registry).size == 1000


def test_a_host_that_does_not_know_the_whole_in_a_range_is_asked_for_it(registry: Registry) -> None:
    """`bytes 0-0/*` is proper HTTP; the length is then on the answer to a plain question."""

    def ranged(asked: Asked) -> Answer:
        if "range" in asked.headers:
            return Answer(b"x", 206, (("content-range", "bytes 0-0/*"), ("etag", '"v1"')))
        return Answer(bytes(1000), 200, (("etag", '"v1"'),))

    registry.given["/m.gguf"] = ranged
    assert told(registry) == Told(1000, "", "v1")


@pytest.mark.parametrize(
    "headers",
    [
        (("x-linked-etag", '"' + "A" * 64 + '"'), ("x-linked-size", "-5")),
        (("x-linked-etag", '"../../x"'), ("x-linked-size", "9" * 17)),
        (("x-linked-etag", "sha256:" + SHA), ("x-linked-size", "1e3")),
        (("content-range", "bytes 0-0/*"),),
    ],
)
def test_words_that_cannot_be_say_nothing(registry: Registry, headers: tuple[tuple[str, str], ...]) -> None:
    """Neither digest nor length."""
    registry.given["/m.gguf"] = Answer(b"x", 206, headers)
    assert told(registry) == Told(-1, "", "")
