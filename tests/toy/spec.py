"""A sixth engine kind as its author would write it: a record, flag rows, its manners. Nothing else in Blazar knows of it."""

from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.argv import Flag, always, fixed
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.launch import Brief, Resolved
from blazar.domain.manners import Manners

FLAGS = (
    Flag("--weights", "file", always, "the file of the model"),
    Flag("--window", "window", always),
    Flag("--quiet", "", fixed("yes"), "it would write every prompt into its log"),
)


def resolve(brief: Brief) -> Resolved:
    """Its file and the window."""
    return Resolved({"file": brief.model.files[0], "window": brief.ctx})


def toy(kind: EngineKind) -> EngineSpec:
    """It says READY at a path of its own, lists one name for everything, calls every model `it` and must be told when to stop."""
    return EngineSpec(
        kind=kind,
        flags=FLAGS,
        server="toy-server",
        health=b"/ready",
        models=b"/list",
        host_flag="--at",
        port_flag="--door",
        key_file_flag="",
        resolve=resolve,
        manners=Manners(
            name="toy",
            tasks=frozenset({Task.CHAT}),
            routes=frozenset(),
            asked_as="it",
            listed_as="toy-one",
            forms=frozenset(),
            bounded=True,
        ),
    )
