"""What the doctor says about workers on other machines: whether each that the configuration names is there. Starts no engine.

A worker serves one engine at a time: one that a child of ours computes on is not asked, for it could not answer.
"""

from collections.abc import Callable, Mapping, Sequence

from blazar.application.ops.diagnose import FAIL, OK, WARN, Row
from blazar.application.ports.workers import State, Worker, Workers
from blazar.application.supervise.views import InstanceView
from blazar.domain import teaching

Named = Callable[[], Mapping[str, Sequence[str]]]


async def worker_rows(workers: Workers, named: Named, views: Sequence[InstanceView]) -> list[Row]:
    """`named`: endpoints with the keys that name them. All are asked at the same time, for as long as the port's bound allows."""
    keys = named()
    used = _used(views)
    asked = await workers.ask([endpoint for endpoint in keys if endpoint not in used])
    found = {one.endpoint: _row(one, keys[one.endpoint]) for one in asked}
    for endpoint in keys.keys() & used.keys():
        found[endpoint] = Row(_check(endpoint), OK, teaching.doctor_worker_used(used[endpoint]))
    return [found[endpoint] for endpoint in keys]


def _used(views: Sequence[InstanceView]) -> dict[str, str]:
    """Endpoints that children were told of, with the model of one."""
    return {endpoint: view.model for view in views for word in view.argv for endpoint in word.split(",")}


def _row(one: Worker, keys: Sequence[str]) -> Row:
    check = _check(one.endpoint)
    match one.state:
        case State.SERVES:
            return Row(check, OK, teaching.worker_speaks(one.endpoint, one.version))
        case State.SILENT:
            return Row(check, WARN, teaching.worker_silent(one.endpoint), teaching.doctor_worker_silent_remedy())
        case State.STRANGE:
            return Row(check, FAIL, teaching.worker_strange(one.endpoint), teaching.doctor_worker_strange_remedy(keys))
        case State.ABSENT:
            told = teaching.worker_absent(one.endpoint, one.why)
            return Row(check, FAIL, told, teaching.doctor_worker_absent_remedy(keys))


def _check(endpoint: str) -> str:
    return f"worker {endpoint}"
