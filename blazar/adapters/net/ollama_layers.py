"""What the layers of ollama's manifests say: weights by digest, and the words beside them. Asks nobody.

Everything comes from strangers: it is bounded, and believed only where it has its digest. Facts: a layer has `mediaType`, `digest`,
`size`; kinds are `model`, `projector`, `adapter`, `template` (once `prompt`), `system`, `params` (an object), `messages` (a list of
`role` and `content`), `license` (several may be there), and `tensor` of models that are no GGUF.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.application.ports.remote import Part, RemoteFile
from blazar.domain import teaching
from blazar.domain.parcels import Role, Words

KIND: Final = "application/vnd.ollama.image."
MODEL, PROJECTOR, ADAPTER, TENSOR = "model", "projector", "adapter", "tensor"
TEXTS: Final = ("template", "prompt", "system", "params", "messages", "license")
ROLES: Final = {MODEL: Role.WEIGHTS, PROJECTOR: Role.PROJECTOR, ADAPTER: Role.ADAPTER}
LARGEST: Final = 2**50
"""Bytes of a layer; anything beyond is no size."""
LONGEST_TEXT: Final = 1 << 20
"""Bytes of each text: the longest licences are about 15 kB, templates about 10 kB."""
MOST_LAYERS: Final = 1000
MOST_TEXTS: Final = 16
MOST_PARAMETERS: Final = 100
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

Garbled = Callable[[str], Exception]


class Layer(NamedTuple):
    """One of a manifest. `kind` without its prefix, "" for what is not ollama's; `digest` as it is written, `sha256:…`."""

    kind: str
    digest: str
    size: int

    @property
    def sha256(self) -> str:
        return self.digest.removeprefix("sha256:")


def layers_of(manifest: Any, garbled: Garbled) -> tuple[Layer, ...]:
    """Raises what `garbled` makes of why, for a list that is none and for a layer whose digest could be a path (case J6)."""
    rows = manifest.get("layers") if isinstance(manifest, dict) else None
    if not isinstance(rows, list):
        raise garbled("its manifest lists no layers")
    return tuple(_layer(row, garbled) for row in rows[:MOST_LAYERS] if _is_ours(row))


def _is_ours(row: Any) -> bool:
    return isinstance(row, dict) and str(row.get("mediaType")).startswith(KIND)


def _layer(row: Mapping[str, Any], garbled: Garbled) -> Layer:
    kind, digest, size = str(row["mediaType"]).removeprefix(KIND), row.get("digest"), row.get("size")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise garbled("its manifest names a layer by no digest")
    least = 1 if kind in ROLES else 0
    if type(size) is not int or not least <= size <= LARGEST:
        raise garbled("its manifest gives a layer an impossible size")
    return Layer(kind, digest, size)


def parts_of(layers: Sequence[Layer], name: str, address: Callable[[str], str]) -> Iterator[Part]:
    """What an engine reads, weights first. `address` is where a digest lies."""
    for kind, role in ROLES.items():
        named = name if kind == MODEL else f"{name} {kind}"
        for layer in layers:
            if layer.kind == kind:
                yield Part(role, RemoteFile(named, layer.size, address(layer.digest), layer.sha256, layer.sha256))


def words_of(texts: Sequence[tuple[Layer, bytes]], name: str, garbled: Garbled) -> Words:
    """From the layers and what was fetched of them."""
    said: dict[str, list[str]] = {}
    for layer, body in texts:
        if hashlib.sha256(body).hexdigest() != layer.sha256:
            raise garbled(teaching.remote_layer_differs(name, layer.kind))
        try:
            said.setdefault(layer.kind, []).append(body.decode())
        except UnicodeDecodeError:
            raise garbled(teaching.remote_layer_unreadable(name, layer.kind)) from None
    parameters = _json(said, "params", {}, name, garbled)
    messages = _json(said, "messages", [], name, garbled)
    if not isinstance(parameters, dict) or not _are_parameters(parameters):
        raise garbled(teaching.remote_layer_unreadable(name, "params"))
    if not isinstance(messages, list):
        raise garbled(teaching.remote_layer_unreadable(name, "messages"))
    return Words(
        template=(said.get("template") or said.get("prompt") or [""])[-1],
        system=(said.get("system") or [""])[-1],
        parameters=parameters,
        messages=tuple({"role": one["role"], "content": one["content"]} for one in messages if _is_message(one)),
        licence="\n\n".join(text.strip() for text in said.get("license", ()) if text.strip()),
    )


def _json(said: Mapping[str, Sequence[str]], kind: str, nothing: Any, name: str, garbled: Garbled) -> Any:
    text = (said.get(kind) or [""])[-1]
    if not text.strip():
        return nothing
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise garbled(teaching.remote_layer_unreadable(name, kind)) from None
    return nothing if found is None else found


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _are_parameters(found: Mapping[str, Any]) -> bool:
    """Texts, numbers, truths, and lists of them. What each one means is not looked at here."""
    plain = (str, int, float, bool, type(None))
    return len(found) <= MOST_PARAMETERS and all(
        isinstance(value, plain) or (isinstance(value, list) and all(isinstance(one, plain) for one in value))
        for value in found.values()
    )


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)
