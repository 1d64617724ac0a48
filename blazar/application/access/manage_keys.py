"""API keys administered while the daemon runs: written to the configuration file first, then read from it, so that both say the same.

Every change is one whole turn: judged, written, in force. What cannot be written has changed nothing; nobody sees a half-made one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from blazar.application.access.key_book import Judge, KeyBook
from blazar.application.ports.ledger import DayUsage
from blazar.application.ports.telemetry import Events
from blazar.domain import teaching
from blazar.domain.errors import Conflict, NotFound
from blazar.domain.keys import Key, check_manager

History = Callable[[str, int], Awaitable[list[DayUsage]]]
"""What a key used on its last days, newest first."""


@dataclass(slots=True)
class ManageKeys:
    """`held` are the keys that hold now; `catch_up` has a file read that was just written. `caller` is the key of who asks."""

    book: KeyBook
    held: Callable[[], Sequence[Key]]
    catch_up: Callable[[], Awaitable[None]]
    history: History
    events: Events
    blocking: Callable[..., Awaitable[Any]] = asyncio.to_thread
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _running: set["asyncio.Task[Key]"] = field(default_factory=set, init=False)

    def check(self, caller: str) -> None:
        """Raise `Forbidden` for who may not manage keys: before anything of the wish is looked at."""
        check_manager(self.held(), caller)

    def listed(self, caller: str) -> Sequence[Key]:
        """All of them, in the order of the file."""
        keys = self.held()
        check_manager(keys, caller)
        return keys

    def show(self, caller: str, name: str) -> Key:
        """One of them."""
        found = next((key for key in self.listed(caller) if key.name == name), None)
        if found is None:
            raise NotFound(teaching.key_not_found(name))
        return found

    async def usage(self, caller: str, name: str, days: int) -> list[DayUsage]:
        """Its last days with any use, newest first."""
        self.show(caller, name)
        return await self.history(name, days)

    async def add(self, caller: str, name: str, settings: Mapping[str, Any]) -> Key:
        """A new key; the one time that its secret is told."""
        self.check(caller)
        return await self._whole(partial(self._take, "added", caller, partial(self.book.add, name, settings)))

    async def update(self, caller: str, name: str, settings: Mapping[str, Any]) -> Key:
        """Other settings for one."""
        self.check(caller)
        act = partial(self.book.update, name, settings)
        return await self._whole(partial(self._take, "changed", caller, act, changed=sorted(settings)))

    async def rotate(self, caller: str, name: str) -> Key:
        """A new secret for one; the one time that it is told."""
        self.check(caller)
        return await self._whole(partial(self._take, "rotated", caller, partial(self.book.rotate, name)))

    async def remove(self, caller: str, name: str) -> Key:
        """One less. What it used is remembered, and is its own again if it comes back."""
        self.check(caller)
        return await self._whole(partial(self._take, "removed", caller, partial(self.book.remove, name)))

    async def _whole(self, take: Callable[[], Coroutine[Any, Any, Key]]) -> Key:
        """To its end, also when the client has gone meanwhile: a file that is written must be read."""
        task = asyncio.create_task(take())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _take(self, what: str, caller: str, act: Callable[[Judge], Key], **facts: Any) -> Key:
        """One at a time on the loop: fifty that waited for the file would be all the threads that there are."""
        async with self._turn:
            key: Key = await self.blocking(act, lambda held: check_manager(held, caller))
            await self.catch_up()
            now = next((one for one in self.held() if one.name == key.name), None)
            if now != (None if what == "removed" else key):
                raise Conflict(teaching.keys_not_followed())
        self.events.emit(f"key_{what}", name=key.name, by=caller, **facts)
        return key
