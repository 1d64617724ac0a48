"""What the layers of ollama's manifests say: weights by digest, and the words beside them. Asks nobody.

Everything comes from strangers: it is bounded, and believed only where it has its digest. Facts: a layer has `mediaType`, `digest`,
`size`; kinds are `model`, `projector`, `adapter`, `template` (once `prompt`), `system`, `params` (an object), `messages` (a list of
`role` and `content`), `license` (several may be there), and `tensor` of models that are no GGUF.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

from blazar.application.ports.remote import Part, RemoteFile
from blazar.domain import teaching
from blazar.domain.parcels import Role, Words

KIND: Final = "application/vnd.ollama.image."
MODEL, PROJECTOR, ADAPTER, TENSOR = "model", "projector", "adapter", "tensor"
LICENCE: Final = "license"
WORDS: Final = ("template", "prompt", "system", "params", "messages")
"""Of each of these the last counts; every licence does."""
ROLES: Final = {MODEL: Role.WEIGHTS, PROJECTOR: Role.PROJECTOR, ADAPTER: Role.ADAPTER}
LARGEST: Final = 2**50
"""Bytes of a layer; anything beyond is no size."""
LONGEST_TEXT: Final = 1 << 20
"""Bytes of each text: the longest licences are about 15 kB, templates about 10 kB."""
MOST_LAYERS: Final = 1000
MOST_LICENCES: Final = 10
"""Several are published where a model was made of others; each is a question to the registry."""
MOST_PARAMETERS: Final = 100
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

Garbled = Callable[[str], Exception]
_Shape = TypeVar("_Shape", dict[str, Any], list[Any])


class Layer(NamedTuple):
    """One of a manifest. `kind` without its prefix, "" for what is not ollama's; `digest` as it is written, `sha256:…`."""

    kind: str
    digest: str
    size: int

    @property
    def sha256(self) -> str:
        return self.digest.removeprefix("sha256:")


def layers_of(manifest: Any, garbled: Garbled) -> tuple[Layer, ...]:
    """Each once, however often it is named. Raises what `garbled` makes of why, for a list that is none and for a layer whose digest could be a path (case J6)."""
    rows = manifest.get("layers") if isinstance(manifest, dict) else None
    if not isinstance(rows, list):
        raise garbled("its manifest lists no layers")
    found = dict[tuple[str, str], Layer]()
    for layer in (_layer(row, garbled) for row in rows[:MOST_LAYERS] if _is_ours(row)):
        found.setdefault((layer.kind, layer.digest), layer)
    return tuple(found.values())


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


def texts_of(layers: Sequence[Layer]) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    """What has to be read of them, what changes answers before licences; and what is left out unread, and why."""
    given = [layer for layer in layers if layer.size and layer.kind in (*WORDS, LICENCE)]
    words = {layer.kind: layer for layer in given if layer.kind != LICENCE}
    licences = list(dict.fromkeys(layer for layer in given if layer.kind == LICENCE))
    wanted = [*words.values(), *licences[:MOST_LICENCES]]
    left = [f"{layer.kind} (larger than {LONGEST_TEXT >> 20} MiB)" for layer in wanted if layer.size > LONGEST_TEXT]
    if len(licences) > MOST_LICENCES:
        left.append(f"{LICENCE} (all but the first {MOST_LICENCES} of {len(licences)})")
    return tuple(layer for layer in wanted if layer.size <= LONGEST_TEXT), tuple(dict.fromkeys(left))


def words_of(texts: Sequence[tuple[Layer, bytes]], name: str, garbled: Garbled) -> tuple[Words, tuple[str, ...]]:
    """From the layers and what was fetched of them; and what of it cannot be read, which is left out."""
    left = list[str]()
    said: dict[str, list[str]] = {}
    for layer, body in texts:
        if hashlib.sha256(body).hexdigest() != layer.sha256:
            raise garbled(teaching.remote_layer_differs(name, layer.kind))
        try:
            said.setdefault(layer.kind, []).append(body.decode("utf-8-sig"))
        except UnicodeDecodeError:
            left.append(f"{layer.kind} (is no text)")
    no_parameters: dict[str, Any] = {}
    no_messages: list[Any] = []
    parameters = _parameters(_json(said, "params", no_parameters, left), left)
    messages = _json(said, "messages", no_messages, left)
    if not all(map(_is_message, messages)):
        left.append("messages (those that are none)")
    words = Words(
        template=(said.get("template") or said.get("prompt") or [""])[-1],
        system=(said.get("system") or [""])[-1],
        parameters=parameters,
        messages=tuple({"role": one["role"], "content": one["content"]} for one in messages if _is_message(one)),
        licence="\n\n".join(text.strip() for text in said.get(LICENCE, ()) if text.strip()),
    )
    return words, tuple(dict.fromkeys(left))


def _json(said: Mapping[str, Sequence[str]], kind: str, nothing: _Shape, left: list[str]) -> _Shape:
    """What it says, of that shape; nothing where it says something else."""
    found, text = None, (said.get(kind) or [""])[-1]
    with suppress(ValueError, RecursionError):
        found = json.loads(text.strip() or "null", parse_constant=_no_number)
        if isinstance(found, type(nothing)):
            return found
        if found is None:
            return nothing
    left.append(f"{kind} (cannot be read)")
    return nothing


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _parameters(found: Mapping[str, Any], left: list[str]) -> dict[str, Any]:
    """Texts, numbers, truths, and lists of them. What each one means is not looked at here."""
    if len(found) > MOST_PARAMETERS:
        left.append(f"params (more than {MOST_PARAMETERS})")
        return {}
    fit = {name: value for name, value in found.items() if _is_parameter(value)}
    if len(fit) < len(found):
        left.append("params (those that are none)")
    return fit


def _is_parameter(value: Any) -> bool:
    plain = (str, int, float, bool, type(None))
    return isinstance(value, plain) or (isinstance(value, list) and all(isinstance(one, plain) for one in value))


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)
