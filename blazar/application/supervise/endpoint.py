"""Where a child listens and whether it asks for a key: configuration against what its kind can. Opens nothing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from blazar.application.ports.drivers import Driver
from blazar.domain import teaching
from blazar.domain.socket_paths import socket_path


class Endpoint(NamedTuple):
    """`socket` is empty on a port, which is chosen when the child is started."""

    socket: str = ""
    auth: bool = True
    notes: tuple[str, ...] = ()


def endpoint_for(settings: Mapping[str, Any], key: str, driver: Driver, folder: str) -> Endpoint:
    """For the instance `key`, with sockets in `folder`. Raises `Malformed` where such a path could not be bound.

    On a port anybody of this machine could ask, so that a child has a key there unless configuration says no; a socket file is its
    owner's alone, and no key is needed (setup document). A kind that cannot be told of one in private never gets one (D21).
    """
    wanted = settings["child_auth"]
    if settings["child_transport"] == "unix" and driver.sockets:
        return Endpoint(socket_path(folder, key), bool(driver.key_file_flag) and wanted is True)
    notes = (teaching.socket_unknown_to_kind(driver.kind),) if settings["child_transport"] == "unix" else ()
    return Endpoint("", bool(driver.key_file_flag) and wanted is not False, notes)
