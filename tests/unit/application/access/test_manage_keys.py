"""Keys administered while the daemon runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from blazar.application.ports.ledger import DayUsage
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Forbidden, NotFound, StoreTrouble
from tests.support.key_rig import GUEST, OWNER, KeyRig

ACTS: dict[str, Callable[[KeyRig, str], Awaitable[Any]]] = {
    "added": lambda rig, caller: rig.manage.add(caller, "new", {"rpm": 1}),
    "changed": lambda rig, caller: rig.manage.update(caller, "guest", {"rpm": 1}),
    "rotated": lambda rig, caller: rig.manage.rotate(caller, "guest"),
    "removed": lambda rig, caller: rig.manage.remove(caller, "guest"),
}


@pytest.mark.parametrize("what", ACTS)
def test_a_change_is_in_force_when_it_is_answered(what: str) -> None:
    """Written and read, and told to who listens: by whom, and no secret."""
    rig = KeyRig()
    key = asyncio.run(ACTS[what](rig, "owner"))  # type: ignore[arg-type]
    assert rig.read == rig.text != OWNER + GUEST
    assert (key in rig.held()) is (what != "removed")
    more = {"changed": ["rpm"]} if what == "changed" else {}
    assert rig.events.emitted == [(f"key_{what}", {"name": key.name, "by": "owner", **more})]


@pytest.mark.parametrize("what", ACTS)
@pytest.mark.parametrize(
    ("text", "caller", "sentence"),
    [
        ("", "", teaching.no_keys_configured()),
        (OWNER + GUEST, "guest", teaching.key_is_scoped("guest")),
        (OWNER + GUEST, "", teaching.key_is_scoped("")),
        (OWNER + GUEST, "gone", teaching.key_is_scoped("gone")),
    ],
)
def test_who_may_not_manage_changes_nothing(what: str, text: str, caller: str, sentence: str) -> None:
    """A gateway without keys, a scoped key, a key that is gone meanwhile."""
    rig = KeyRig(text)
    with pytest.raises(Forbidden) as refused:
        asyncio.run(ACTS[what](rig, caller))  # type: ignore[arg-type]
    assert str(refused.value) == sentence
    assert (rig.writes, rig.events.emitted) == (0, [])
    for ask in (lambda: rig.manage.listed(caller), lambda: rig.manage.show(caller, "owner")):
        with pytest.raises(Forbidden):
            ask()
    with pytest.raises(Forbidden):
        asyncio.run(rig.manage.usage(caller, "owner", 3))


def test_one_that_was_scoped_in_the_file_manages_no_more() -> None:
    """Even before the daemon has read that."""
    rig = KeyRig(OWNER + GUEST)
    rig.text = OWNER + 'models = ["m"]\n' + GUEST
    with pytest.raises(Forbidden):
        asyncio.run(rig.manage.add("owner", "new", {}))
    assert rig.writes == 0


def test_fifty_at_once_all_land() -> None:
    """One behind the other, with one thread at most waiting for the file."""
    rig = KeyRig()
    at_once = [0, 0]

    async def counted(act: Callable[..., Any], *args: Any) -> Any:
        at_once[0] += 1
        at_once[1] = max(at_once)
        try:
            await asyncio.sleep(0)
            return await asyncio.to_thread(act, *args)
        finally:
            at_once[0] -= 1

    rig.manage.blocking = counted

    async def all_of_them() -> list[Any]:
        more = [rig.manage.add("owner", f"n{number}", {}) for number in range(50)]
        return await asyncio.gather(*more, rig.manage.update("owner", "guest", {"rpm": 9}), return_exceptions=True)

    found = asyncio.run(all_of_them())
    assert not [one for one in found if isinstance(one, BaseException)]
    assert set(rig.names()) == {"owner", "guest", *(f"n{number}" for number in range(50))}
    assert len({key.key for key in rig.held()}) == 52
    assert at_once[1] == 1


def test_a_client_that_leaves_takes_no_change_along() -> None:
    """A file that is written is read, whoever still waits for the answer."""
    rig = KeyRig()
    begun = asyncio.Event()

    async def slow(act: Callable[..., Any], *args: Any) -> Any:
        begun.set()
        await asyncio.sleep(0)
        return act(*args)

    rig.manage.blocking = slow

    async def leave() -> None:
        task = asyncio.ensure_future(rig.manage.add("owner", "new", {}))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.gather(*rig.manage._running)

    asyncio.run(leave())
    assert "new" in rig.names()


def test_what_cannot_be_written_holds_nowhere() -> None:
    """The keys in force are those of before, and nobody is told of a change."""
    rig = KeyRig()
    rig.trouble = StoreTrouble("disk full")
    for act in ACTS.values():
        with pytest.raises(StoreTrouble):
            asyncio.run(act(rig, "owner"))  # type: ignore[arg-type]
    assert rig.names() == ["owner", "guest"]
    assert (rig.text, rig.events.emitted) == (OWNER + GUEST, [])


def test_a_change_that_is_not_taken_over_is_no_success() -> None:
    """Somebody has broken the file between the writing and the reading: that is said, and where it is shown."""
    rig = KeyRig()

    async def refused() -> None:
        """The daemon goes on with what it read before."""

    rig.manage.catch_up = refused
    with pytest.raises(Conflict, match="blazar doctor"):
        asyncio.run(rig.manage.rotate("owner", "guest"))
    assert rig.events.emitted == []


def test_usage_is_the_ledgers() -> None:
    """Of a key that there is."""
    rig = KeyRig()
    rig.days = [DayUsage("guest", "2026-01-02", 1, 2, 3), DayUsage("guest", "2026-01-01", 1, 2, 3)]
    assert asyncio.run(rig.manage.usage("owner", "guest", 1)) == rig.days[:1]
    assert rig.asked == [("guest", 1)]
    with pytest.raises(NotFound):
        asyncio.run(rig.manage.usage("owner", "nobody", 1))
