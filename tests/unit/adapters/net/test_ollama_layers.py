"""Layers of manifests from strangers."""

import hashlib
import json
from typing import Any

import pytest

from blazar.adapters.net.ollama_layers import (
    KIND,
    LONGEST_TEXT,
    MOST_LICENCES,
    Layer,
    layers_of,
    parts_of,
    texts_of,
    words_of,
)
from blazar.domain.errors import RegistryGarbled
from blazar.domain.parcels import Role, Words

SHA = "a" * 64


def row(kind: str = "model", **changes: Any) -> dict[str, Any]:
    return {"mediaType": KIND + kind, "digest": f"sha256:{SHA}", "size": 5, **changes}


def layer(kind: str, body: bytes) -> tuple[Layer, bytes]:
    return Layer(kind, f"sha256:{hashlib.sha256(body).hexdigest()}", len(body)), body


def words(*texts: tuple[str, bytes]) -> Words:
    return words_of([layer(*text) for text in texts], "m:1b", RegistryGarbled)[0]


def test_layers_that_are_not_ollamas_are_passed_over() -> None:
    """A container registry holds others."""
    found = layers_of(
        {"layers": [None, 5, {"mediaType": "x"}, row(), {"mediaType": "x", "digest": "../x"}]}, ValueError
    )
    assert found == (Layer("model", f"sha256:{SHA}", 5),)


def test_a_layer_that_is_named_again_and_again_is_there_once() -> None:
    """In its first place; another kind may have the same bytes."""
    other = f"sha256:{'b' * 64}"
    rows = [row(digest=other), *[row() for _ in range(900)], row("projector"), row(digest=other)]
    found = layers_of({"layers": rows}, ValueError)
    assert [(one.kind, one.digest[7:8]) for one in found] == [("model", "b"), ("model", "a"), ("projector", "a")]


@pytest.mark.parametrize(
    "digest",
    [
        "sha256:../../x",
        "sha256:../../../../tmp/x",
        f"sha256:{SHA.upper()}",
        f"sha256:{SHA[:-1]}",
        f"sha256:{SHA}0",
        f"sha256:{SHA}\n",
        SHA,
        f"sha512:{SHA}",
        "",
        None,
        5,
    ],
)
@pytest.mark.parametrize("kind", ["model", "template"])
def test_j6_a_digest_is_64_digits_or_refused(digest: Any, kind: str) -> None:
    """It becomes part of addresses and of what people read, for every kind of layer."""
    with pytest.raises(RegistryGarbled, match="names a layer by no digest"):
        layers_of({"layers": [row(kind, digest=digest)]}, RegistryGarbled)


@pytest.mark.parametrize(
    ("kind", "size"), [("model", 0), ("model", -1), ("model", 2**63), ("system", True), ("system", "5")]
)
def test_a_size_is_one(kind: str, size: Any) -> None:
    """Weights of no bytes are none (case H2); an empty text may be."""
    with pytest.raises(RegistryGarbled, match="impossible size"):
        layers_of({"layers": [row(kind, size=size)]}, RegistryGarbled)
    assert layers_of({"layers": [row("system", size=0)]}, RegistryGarbled)[0].size == 0


@pytest.mark.parametrize("manifest", [None, [], {}, {"layers": None}, {"layers": {}}, {"layers": "x"}])
def test_a_manifest_lists_layers(manifest: Any) -> None:
    """Else it is none."""
    with pytest.raises(RegistryGarbled, match="lists no layers"):
        layers_of(manifest, RegistryGarbled)


def test_parts_are_weights_then_projector_then_adapter() -> None:
    """Each with the digest that is its promise and its mark."""
    layers = layers_of({"layers": [row("adapter"), row("template"), row("projector"), row()]}, ValueError)
    parts = list(parts_of(layers, "m:1b", lambda digest: f"/b/{digest}"))
    assert [(part.role, part.file.name) for part in parts] == [
        (Role.WEIGHTS, "m:1b"),
        (Role.PROJECTOR, "m:1b projector"),
        (Role.ADAPTER, "m:1b adapter"),
    ]
    assert parts[0].file[2:] == (f"/b/sha256:{SHA}", SHA, SHA, "")


def test_words_are_read() -> None:
    """Every licence, the last of the others; an old `prompt` is a template."""
    found = words(
        ("template", b"{{ .Prompt }}"),
        ("system", b"Be kind."),
        ("params", json.dumps({"stop": ["<|im_end|>"], "temperature": 0.6, "num_ctx": 4096, "x": None}).encode()),
        ("messages", json.dumps([{"role": "user", "content": "Hi"}, {"role": "user"}, 5]).encode()),
        ("license", b"MIT\n"),
        ("license", b"\nuse policy"),
    )
    assert found == Words(
        "{{ .Prompt }}",
        "Be kind.",
        {"stop": ["<|im_end|>"], "temperature": 0.6, "num_ctx": 4096, "x": None},
        ({"role": "user", "content": "Hi"},),
        "MIT\n\nuse policy",
    )
    assert words(("prompt", b"old")).template == "old"
    assert words() == Words()
    assert words(("params", b"null"), ("messages", b" ")) == Words()


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("params", b"{", "cannot be read"),
        ("params", b"[]", "cannot be read"),
        ("params", b"5", "cannot be read"),
        ("params", b'{"temperature": NaN}', "cannot be read"),
        ("params", b'{"temperature": Infinity}', "cannot be read"),
        ("params", b'{"stop": {"a": 1}}', "those that are none"),
        ("params", b'{"stop": [["a"]]}', "those that are none"),
        ("params", b"[" * 100_000, "cannot be read"),
        ("params", json.dumps({f"p{number}": 1 for number in range(200)}).encode(), "more than 100"),
        ("messages", b"{}", "cannot be read"),
        ("messages", b"[5]", "those that are none"),
        ("template", b"\xff\xfe", "is no text"),
        ("system", b"\xed\xa0\x80", "is no text"),
    ],
)
def test_words_that_cannot_be_read_are_left_out(kind: str, body: bytes, why: str) -> None:
    """And named. They have their digest: it was published so, and the weights are worth having without them."""
    kinds = ("params", b'{"top_k": 5}') if kind == "system" else ("system", b"Hi")
    found, left = words_of([layer(kind, body), layer(*kinds)], "m:1b", RegistryGarbled)
    assert left == (f"{kind} ({why})",)
    assert found == (Words(parameters={"top_k": 5}) if kind == "system" else Words(system="Hi"))


def test_a_byte_order_mark_is_no_part_of_a_text() -> None:
    """Editors leave one."""
    assert words(("params", b'\xef\xbb\xbf{"top_k": 5}'), ("system", b"\xef\xbb\xbfHi")) == Words(
        system="Hi", parameters={"top_k": 5}
    )


def test_what_changes_answers_comes_before_licences() -> None:
    """However many there are, and wherever they stand; what is not read is named."""
    licences = [Layer("license", f"sha256:{number:064d}", 5) for number in range(MOST_LICENCES + 7)]
    system, params = Layer("system", f"sha256:{SHA}", 5), Layer("params", f"sha256:{SHA}", 5)
    texts, left = texts_of([*licences, system, params])
    assert texts == (system, params, *licences[:MOST_LICENCES])
    assert left == (f"license (all but the first {MOST_LICENCES} of {MOST_LICENCES + 7})",)


def test_what_nobody_needs_is_not_read() -> None:
    """A licence once, of other words the last, nothing empty, and nothing too long, which is named."""
    old, new = (Layer("system", f"sha256:{digit * 64}", 5) for digit in "ab")
    licence = Layer("license", f"sha256:{SHA}", 5)
    long = Layer("template", f"sha256:{SHA}", LONGEST_TEXT + 1)
    empty = Layer("params", f"sha256:{SHA}", 0)
    assert texts_of([old, licence, licence, new, empty, long]) == ((new, licence), ("template (larger than 1 MiB)",))


def test_words_must_have_their_digest() -> None:
    """A template is what a model does: it is not taken from whoever answers."""
    with pytest.raises(RegistryGarbled, match="not what its digest promises"):
        words_of([(Layer("system", f"sha256:{SHA}", 2), b"Hi")], "m:1b", RegistryGarbled)
