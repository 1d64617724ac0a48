"""How much main memory a child may keep prompts in (`cache_ram_mb`), beside what its load was planned with. Reads nothing.

The engine fills that cache while it serves, long after admission: no plan counts it, so it has to live on what the plan leaves.
"""

from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.shares import HOST
from blazar.domain.fit.verdict import Outcome, Verdict

MIB = 2**20


class PromptCache(NamedTuple):
    """MiB that the child is told, and what has to be said about it. 0 switches the engine's cache off."""

    mib: int
    notes: tuple[str, ...] = ()


def prompt_cache(capped: int, said: str, verdict: Verdict | None, machine: Machine | None) -> PromptCache:
    """`capped` is what is wanted within its share of the machine, MiB; `said` is how somebody wrote it, "" where nobody did.

    The default gives way to the plan without a word; what somebody chose stays, whatever its value, and is commented on.

    `verdict` is the plan of the load and `machine` what it was made on; without them nobody knows what is left.
    """
    left = spare(verdict, machine)
    if left is None or capped <= left:
        return PromptCache(capped)
    return PromptCache(capped, (teaching.prompt_cache_beyond(said, left),)) if said else PromptCache(left)


def spare(verdict: Verdict | None, machine: Machine | None) -> int | None:
    """MiB of main memory that a plan leaves free beyond its margin; None where nobody knows.

    A load that is too large, or comes too early, may be tried all the same (`spawn_mem_guard` off): prompts must not make it
    worse. Where a plan names who leaves first, it is their room too; where it waits for others, it is not.

    Mapped weights that the kernel may drop are no room here: prompts would drive them out.
    """
    if verdict is None or machine is None or verdict.outcome is Outcome.REFUSED:
        return None
    shares = verdict.shares
    shared = {device.name for device in machine.devices if device.shared}
    host = next((share for share in shares if share.device == HOST), None)
    now = machine.ram_available
    if host is None or not host.free or not now:
        return None
    taken = sum(share.used for share in shares if share.device in shared)
    taken += 0 if verdict.evict else max(0, host.free - now)
    return max(0, host.headroom - host.mapped - taken) // MIB
