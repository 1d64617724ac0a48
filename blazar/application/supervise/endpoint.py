"""Where a child listens and whether it asks for a key: configuration against what its kind can. Opens nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blazar.application.ports.children import LaunchPlan
from blazar.application.ports.drivers import Driver
from blazar.domain import teaching
from blazar.domain.argv import Decision
from blazar.domain.socket_paths import socket_path


class Endpoint(NamedTuple):
    """`socket` is empty on a port, which is chosen when the child is started."""

    socket: str = ""
    auth: bool = True
    notes: tuple[str, ...] = ()


LOOPBACK = "127.0.0.1"
"""Where children listen that are given a port."""


def endpoint_words(plan: LaunchPlan, driver: Driver, running: Sequence[str] = ()) -> tuple[Decision, ...]:
    """The words that a child's start adds to its command line, each with its reason.

    `running` are those of a child that runs. What is chosen at a start only is named by a word in capitals.
    """
    real = dict(zip(running[::2], running[1::2], strict=False))
    pairs = [(driver.host_flag, plan.socket or LOOPBACK, "socket" if plan.socket else "host")]
    if not plan.socket:
        port = real.get(driver.port_flag, "")
        pairs.append((driver.port_flag, port or "PORT", "port-running" if port else "port"))
    if plan.auth and driver.key_file_flag:
        pairs.append((driver.key_file_flag, real.get(driver.key_file_flag, "") or "FILE", "key"))
    return tuple(Decision((flag, word), "", teaching.explain_endpoint(why)) for flag, word, why in pairs)


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
