"""A model made from another one, or from files that a client sent: a second row, and a config overlay on it. Copies no weights."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.find import get_model
from blazar.application.models.import_model import ImportModel
from blazar.application.models.name_turns import AwaitedTurns, unclaimed
from blazar.application.models.remove_model import RemoveModel
from blazar.application.ports.blobs import Blobs
from blazar.application.ports.overlays import Overlays
from blazar.application.ports.weights import FileFacts
from blazar.domain import teaching
from blazar.domain.errors import Malformed, StoreTrouble
from blazar.domain.kinds import Weights
from blazar.domain.names import check_name
from blazar.domain.overlay import Overlay, merged, settings_of, silent_parameters
from blazar.domain.records import Model

_Held = TypeVar("_Held")

TEMPLATE_KEY: Final = "tokenizer.chat_template"


class _Say(Protocol):
    """Lays the words over a row; `instead`: in the place of another model's."""

    def __call__(self, row: Model, /, *, instead: bool = False) -> None: ...


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

    What can be refused is refused before anything is changed; a name that is there is created anew, as ollama does it, and what was
    there goes when the row and its words are there.
    """

    copy: CopyModel
    remove: RemoveModel
    imports: ImportModel
    overlays: Overlays
    blobs: Blobs | None = None
    reload: Callable[[], Awaitable[None]] = settled
    turns: AwaitedTurns = unclaimed
    """`copy`, `remove` and `imports` claim none themselves: these are had from the first look at the base until its words are laid."""

    async def __call__(self, wish: Wish) -> Created:
        check_name(wish.name)
        if wish.adapters:
            assert self.blobs is not None, "blobs come with a daemon"
            paths = tuple([await asyncio.to_thread(self.blobs.path_of, digest) for digest in wish.adapters])
            wish = wish._replace(overlay=wish.overlay._replace(adapters=paths))
        if not wish.files and not wish.overlay.base:
            raise Malformed(teaching.create_from_nothing(), "from")
        async with self.turns(*await asyncio.to_thread(self._names, wish)):
            made = await (self._from_files(wish) if wish.files else self._from_model(wish))
        await self.reload()
        return made

    def _names(self, wish: Wish) -> list[str]:
        names = {wish.name}
        if not wish.files:
            names.add(get_model(self.copy.catalog, wish.overlay.base).name)
        return sorted(names)

    async def _from_model(self, wish: Wish) -> Created:
        base = await asyncio.to_thread(get_model, self.copy.catalog, wish.overlay.base, self.copy.weights)
        below = None if wish.fresh else await asyncio.to_thread(self.overlays.find, base.name)
        # From itself: it keeps its parent.
        parent = base.name if base.name != wish.name else below.base if below is not None else ""
        overlay = merged(below, wish.overlay._replace(base=parent))
        settings = await asyncio.to_thread(self._settings, overlay, base, base.files[0])
        model = await self._alias(base, wish.name, partial(self._say, overlay, settings))
        return _created(model, overlay, ("using existing layer " + _layer(base),))

    async def _alias(self, base: Model, name: str, say: "_Say") -> Model:
        present = base if base.name == name else await asyncio.to_thread(self.copy.catalog.find_model, name)
        if present is None:
            return await asyncio.to_thread(self.copy, base.name, name, say)
        if present is base or await asyncio.to_thread(self._same, present, base):
            await asyncio.to_thread(say, present)
            return present
        enter = partial(self.copy.over, base.name, present, partial(say, instead=True))
        return await self._replaced(present, enter)

    async def _replaced(self, present: Model, enter: Callable[[], Model]) -> Model:
        await self.remove.evict(present.name)
        return await asyncio.to_thread(self.remove.replaced, present, enter)

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
            say = partial(self._say_linked, set(laid.values()), partial(self._say, wish.overlay, settings))
            present = await asyncio.to_thread(self.imports.catalog.find_model, wish.name)
            if present is None or await asyncio.to_thread(self._same, present, facts):
                model = await asyncio.to_thread(self._imported, first, wish.name, present, say)
            else:
                enter = partial(self.imports.over, first, present, partial(say, instead=True))
                model = await self._replaced(present, enter)
        return _created(model, wish.overlay, ("parsing GGUF", "using existing layer " + _layer(model)))

    def _imported(self, first: str, name: str, present: Model | None, say: "_Say") -> Model:
        model = self.imports(first, name).model
        with ExitStack() as undo:  # where its words cannot be laid, a row that is new goes again
            if model != present:
                undo.callback(self.remove.delete, model)
            say(model)
            undo.pop_all()
        return model

    def _say_linked(self, laid: Collection[str], say: "_Say", row: Model, *, instead: bool = False) -> None:
        if set(row.files) & set(laid):  # it refers to what goes away now
            raise StoreTrouble(teaching.blob_not_linkable())
        say(row, instead=instead)

    def _say(self, overlay: Overlay, settings: Mapping[str, Any], row: Model, *, instead: bool = False) -> None:
        if overlay.says or overlay.base:
            self.overlays.keep(row.name, overlay, settings, instead=instead)
        else:
            self.overlays.forget(row.name)

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
