"""Who uses memory now, and who was promised some: what a plan must find beside the newcomer. Adds up; decides nothing.

A model that serves is charged what it measurably uses, one that still loads the larger of that and its plan. What is used
is gone from the free memory that the machine reports; what was only promised has to be taken off it here.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from blazar.application.ports.children import HOST, Measured
from blazar.application.supervise.surroundings import Launch
from blazar.domain.fit.machine import Machine, Running
from blazar.domain.instance.eviction import turn
from blazar.domain.instance.hints import Worth


class Tenant(NamedTuple):
    """One child that has, or was promised, memory.

    `promised` is by device, empty once it serves; `tenure` tells it from the child that follows it under the same key.
    `idle_since` is None while it has or awaits requests, or loads. `launch` is what it was started as.
    `again` is what one that may sleep will take once more when it wakes up, by device; `argv` what it was told, endpoint and all.
    """

    key: str
    pid: int
    idle_since: float | None
    pinned: bool
    leaving: bool
    measured: Measured
    promised: tuple[tuple[str, int], ...]
    tenure: object
    launch: Launch | None = None
    again: tuple[tuple[str, int], ...] = ()
    argv: tuple[str, ...] = ()
    worth: Worth = Worth()

    @property
    def phase(self) -> tuple[str, int, bool]:
        """What must not change between looking and deciding: who is there, and whether it has its memory already."""
        return self.key, id(self.tenure), bool(self.promised)

    @property
    def turn(self) -> tuple[bool, tuple[float, Worth, float]]:
        """Who goes first: those that go anyway, then as under `max_loaded_models`."""
        return not self.leaving, turn(self.idle_since or 0.0, self.worth)

    def sizes(self, held: Mapping[str, int]) -> dict[str, int]:
        """Bytes by device; of a device the larger figure, for an engine's own knows nothing of its driver's context.

        With what it has let go and will take once more: it counts as held as long as the child stays.
        """
        sizes = dict(self.measured.devices)
        for device, size in held.items():
            sizes[device] = max(size, sizes.get(device, 0))
        return sizes | {HOST: self.measured.resident + self.let_go(held).get(HOST, 0)}

    def let_go(self, held: Mapping[str, int]) -> dict[str, int]:
        """Bytes by device that one which sleeps will take once more.

        What the engine has said of a device it says awake or asleep: what it holds there now only the driver can tell.
        """
        if not self.again or self.promised:
            return {}
        said = dict(self.measured.devices)
        now = {**said, **held, HOST: self.measured.resident}
        return {device: size - now[device] for device, size in (said | dict(self.again)).items() if size > now[device]}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tenants as a plan sees them. `mapped` are pages of files that are in use and that the system counts as available.

    `gone` are those that will have left before the newcomer starts.
    """

    running: tuple[Running, ...] = ()
    outstanding: tuple[tuple[str, int], ...] = ()
    mapped: int = 0
    gone: frozenset[str] = frozenset()

    def left_of(self, machine: Machine) -> Machine:
        """The machine without what is promised or mapped, and with its tenants. 0 stays unknown, and what is known never becomes 0."""
        taken = dict(self.outstanding)
        ram = machine.ram_available
        if ram:
            ram = max(1, ram - self.mapped - taken.get(HOST, 0))
        devices = tuple(
            device._replace(free=max(0, device.free - taken.get(device.name, 0))) for device in machine.devices
        )
        left = replace(machine, ram_available=ram, devices=devices, running=machine.running or self.running)
        return left.without(self.gone)


NOBODY = Usage()


def usage_of(
    tenants: Iterable[Tenant],
    held: Mapping[int, Mapping[str, int]] | None = None,
    *,
    rested: bool = False,
    gone: Collection[str] = (),
) -> Usage:
    """Everybody's part. `held` is what drivers count on accelerators, by pid.

    One that leaves counts as idle: its memory comes free as if it were let go. `rested` is the same once everybody has come
    to rest: promises taken up, answers given. Pinned ones stay in any case. What `gone` ones were promised nobody will take.
    """
    running, outstanding, mapped = [], dict[str, int](), 0
    for one in sorted(tenants, key=lambda tenant: tenant.turn):
        known = (held or {}).get(one.pid, {})
        sizes = one.sizes(known)
        stays = one.key not in gone
        mapped += one.measured.mapped if stays else 0
        for device, size in one.let_go(known).items():
            if stays:
                # ODD: a sleeping model keeps its claim, or somebody else would lie where it wakes up.
                outstanding[device] = outstanding.get(device, 0) + size
            else:
                sizes[device] -= size  # is free already, and nobody claims it
        for device, size in one.promised if stays else ():
            outstanding[device] = outstanding.get(device, 0) + max(0, size - sizes.get(device, 0))
            # What it holds once it rests is what it would give back.
            sizes[device] = max(size, sizes.get(device, 0)) if rested else sizes.get(device, 0)
        host = sizes.pop(HOST, 0)
        idle = rested or one.leaving or one.idle_since is not None
        running.append(Running(one.key, idle, one.pinned and not one.leaving, host, tuple(sizes.items())))
    return Usage(tuple(running), tuple(outstanding.items()), mapped, frozenset(gone))
