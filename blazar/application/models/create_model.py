"""A model made from another one, or from files that a client sent: a second row, and a config overlay on it. Copies no weights."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.find import get_model
from blazar.application.models.import_model import ImportModel
from blazar.application.models.name_turns import Turns, unclaimed
from blazar.application.models.remove_model import RemoveModel
from blazar.application.ports.blobs import Blobs
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import FileFacts
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed, StoreTrouble
from blazar.domain.kinds import Weights
from blazar.domain.names import check_name
from blazar.domain.overlay import Overlay, merged, settings_of, silent_parameters
from blazar.domain.records import Model

_Held = TypeVar("_Held")

TEMPLATE_KEY: Final = "tokenizer.chat_template"


class Wish(NamedTuple):
    """`overlay.base` names a model of the catalog; else `files` are blobs by the names that they are to have.

    `adapters` are blobs, too. `fresh`: nothing of what lies over the base is taken over.
    """

    name: str
    overlay: Overlay = Overlay()
    files: Mapping[str, str] = {}
    adapters: tuple[str, ...] = ()
    fresh: bool = False


class Created(NamedTuple):
    """The row, what ollama would tell on the way, and what the caller has to hear."""

    model: Model
    steps: tuple[str, ...]
    silent: tuple[str, ...] = ()
    """Parameters that change nothing here."""


async def settled() -> None:
    """Where nobody has read the configuration yet."""


@dataclass(frozen=True, slots=True)
class CreateModel:
    """`reload` has the configuration read again. `remove` evicts first: what runs under the name is about other weights.

    What can be refused is refused before anything is changed; a name that is there is created anew, as ollama does it.
    """

    copy: CopyModel
    remove: RemoveModel
    imports: ImportModel
    overlays: Overlays
    blobs: Blobs | None = None
    reload: Callable[[], Awaitable[None]] = settled
    turns: Turns = unclaimed
    """`copy`, `remove` and `imports` claim none themselves: these are had from the first look at the base until its words are laid."""

    async def __call__(self, wish: Wish) -> Created:
        check_name(wish.name)
        if wish.adapters:
            assert self.blobs is not None, "blobs come with a daemon"
            paths = tuple([await asyncio.to_thread(self.blobs.path_of, digest) for digest in wish.adapters])
            wish = wish._replace(overlay=wish.overlay._replace(adapters=paths))
        if not wish.files and not wish.overlay.base:
            raise Malformed(teaching.create_from_nothing(), "from")
        with await asyncio.to_thread(self._turn, wish):
            made = await (self._from_files(wish) if wish.files else self._from_model(wish))
        await self.reload()
        return made

    def _turn(self, wish: Wish) -> "_Entered[None]":
        names = {wish.name}
        if not wish.files:
            names.add(get_model(self.copy.catalog, wish.overlay.base).name)
        return _entered(self.turns(*sorted(names)))

    async def _from_model(self, wish: Wish) -> Created:
        base = await asyncio.to_thread(get_model, self.copy.catalog, wish.overlay.base, self.copy.weights)
        below = None if wish.fresh else await asyncio.to_thread(self.overlays.find, base.name)
        # From itself: it keeps its parent.
        parent = base.name if base.name != wish.name else below.base if below is not None else ""
        overlay = merged(below, wish.overlay._replace(base=parent))
        settings = await asyncio.to_thread(self._settings, overlay, base, base.files[0])
        known = base if base.name == wish.name else self.copy.catalog.find_model(wish.name)
        model = base if base.name == wish.name else await self._alias(base, wish.name)
        await self._lay(model, overlay, settings, new=model is not known)
        return _created(model, overlay, ("using existing layer " + _layer(base),))

    async def _alias(self, base: Model, name: str) -> Model:
        present = self.copy.catalog.find_model(name)
        if present is not None:
            if await asyncio.to_thread(self._same, present, base):
                return present
            await self.remove(name)
        return await asyncio.to_thread(self.copy, base.name, name)

    def _same(self, present: Model, base: Model | FileFacts) -> bool:
        weights = self.copy.weights
        return (
            present.digest == base.digest
            and weights.missing(present.files) is None
            and weights.same(present.files, base.files)
        )

    async def _from_files(self, wish: Wish) -> Created:
        blobs = self.blobs
        assert blobs is not None, "files come with a daemon"
        with await asyncio.to_thread(lambda: _entered(blobs.laid_out(wish.files))) as laid:
            first = _weights_among(laid)
            facts = await asyncio.to_thread(self.imports.weights.inspect, first)
            settings = await asyncio.to_thread(self._settings, wish.overlay, facts, facts.files[0])
            present = self.imports.catalog.find_model(wish.name)
            if present is not None and not await asyncio.to_thread(self._same, present, facts):
                await self.remove(wish.name)
            model = (await asyncio.to_thread(self.imports, first, wish.name)).model
            if set(model.files) & set(laid.values()):  # it refers to what goes away now
                await self.remove(wish.name)
                raise StoreTrouble(teaching.blob_not_linkable())
        await self._lay(model, wish.overlay, settings, new=present is None or model != present)
        return _created(model, wish.overlay, ("parsing GGUF", "using existing layer " + _layer(model)))

    async def _lay(self, model: Model, overlay: Overlay, settings: Mapping[str, Any], *, new: bool) -> None:
        """A row that is `new` goes again where the configuration cannot say what was wished."""
        try:
            if overlay.says or overlay.base:
                await asyncio.to_thread(self.overlays.keep, model.name, overlay, settings)
            else:
                await asyncio.to_thread(self.overlays.forget, model.name)
        except BlazarError:
            if new:
                await self.remove(model.name)
            raise

    def _settings(self, overlay: Overlay, base: Model | FileFacts, file: str) -> dict[str, Any]:
        if not overlay.says:
            return {}
        if base.weights is not Weights.GGUF:
            raise Malformed(teaching.overlay_needs_gguf(), "from")
        for adapter in overlay.adapters:
            self.copy.weights.vet_adapter(adapter, base.arch)
        template = self.copy.weights.metadata(file).get(TEMPLATE_KEY)
        return settings_of(overlay, template if isinstance(template, str) else "")


class _Entered(NamedTuple, Generic[_Held]):
    """What was entered already: that may block, and so it was done in a thread."""

    value: _Held
    leave: Callable[[], object]

    def __enter__(self) -> _Held:
        return self.value

    def __exit__(self, *_: object) -> None:
        self.leave()


def _entered(held: AbstractContextManager[_Held]) -> _Entered[_Held]:
    return _Entered(held.__enter__(), lambda: held.__exit__(None, None, None))


def _weights_among(laid: Mapping[str, str]) -> str:
    """The file to look at: of several the first that is no projector; shards and projectors are found beside it."""
    names = sorted(name for name in laid if not name.lower().startswith("mmproj"))
    if not names or not all(name.lower().endswith(".gguf") for name in laid):
        raise Malformed(teaching.create_files_not_gguf(), "files")
    return laid[names[0]]


def _layer(model: Model) -> str:
    return model.digest if ":" in model.digest else f"sha256:{model.digest}"


def _created(model: Model, overlay: Overlay, steps: tuple[str, ...]) -> Created:
    said = [*steps]
    if overlay.says:
        text = json.dumps(overlay._asdict(), ensure_ascii=False, sort_keys=True)
        said.append(f"creating new layer sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}")
    return Created(model, (*said, "writing manifest", "success"), silent_parameters(overlay))
