"""Pulls that end by themselves at the nth change of the disk once they have begun to enter the model, each in a process of its own.

A line of standard input is one of them: CONFIG DATA HUB REFERENCE N, with tabs between. It is answered by the exit code: 9 where it came
so far, 0 where it was done before. A change is what leads to another state after a kill: a link, a rename, a deletion, a folder; and
each write of the catalog.
"""

import os
import sys
from pathlib import Path
from typing import Any

from blazar.adapters.files.folders import Folders
from blazar.application.models.placing import Order, Placed, PlaceModel
from blazar.application.models.pulling import Wish
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here
from blazar.domain.records import Model

CHANGES = ("os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree", "sqlite3.connect")


def warm() -> None:
    """What a pull imports when it is made."""
    import blazar.adapters.hardware.disk
    import blazar.adapters.net.downloads
    import blazar.adapters.net.ollama_registry
    import blazar.adapters.store.catalog
    import blazar.application.models.pull_model  # noqa: F401 - loaded before the hook counts what changes


def main(config: str, data: str, hub: str, reference: str, last: int) -> None:
    counted, entering = 0, False

    def hook(event: str, _: Any) -> None:
        nonlocal counted
        if entering and event in CHANGES:
            counted += 1
            if counted == last:
                os._exit(9)

    place = PlaceModel.__call__

    def placing(self: PlaceModel, order: Order) -> Placed:
        nonlocal entering
        entering = True
        return place(self, order)

    PlaceModel.__call__ = placing  # type: ignore[method-assign] # a process of its own, made to die
    with_row = PlaceModel._withdraw

    def withdrawing(self: PlaceModel, before: Model) -> None:
        hook(CHANGES[0], ())  # the row has changed just now
        with_row(self, before)

    PlaceModel._withdraw = withdrawing  # type: ignore[method-assign] # likewise
    sys.addaudithook(hook)
    local = Local(Folders(Path(config), Path(data)), {"BLAZAR_REGISTRY_BASE": hub}, lambda _: ())
    pull_here(local)(Wish(reference), lambda _: None)


def serve() -> None:
    for line in sys.stdin:
        config, data, hub, reference, last = line.rstrip("\n").split("\t")
        if (child := os.fork()) == 0:  # one thread and nothing open: what is imported is imported once
            try:
                main(config, data, hub, reference, int(last))
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    warm()
    serve()
