"""What the doctor says about forks: the registry's list as it is kept, and forks whose days are counted. Asks nobody."""

from collections.abc import Iterator

from blazar.application.ops.diagnose import OK, WARN, Row
from blazar.application.ports.capability import CapabilityRegistry
from blazar.application.ports.clock import Clock
from blazar.application.ports.engines import EngineCatalog
from blazar.domain import teaching
from blazar.domain.capability import DAY_SECS, is_curated


def fork_rows(registry: CapabilityRegistry, engines: EngineCatalog, clock: Clock, days: int) -> Iterator[Row]:
    """`days` are `fork_retire_days`."""
    if not registry.configured:
        yield Row("capability registry", OK, teaching.doctor_registry_off())
    else:
        kept = registry.kept()
        yield Row("capability registry", OK, teaching.doctor_registry(len(kept.lanes)))
        for trouble in kept.troubles:
            yield Row("capability registry", WARN, trouble)
    for row in engines.list_engines():
        if not is_curated(row) or not row.superseded_at:
            continue
        stays = row.pinned or not days
        left = 0.0 if stays else max(0.0, row.superseded_at + days * DAY_SECS - clock.wall())
        yield Row("fork", OK, teaching.doctor_fork_superseded(row.tag, None if stays else int(-(-left // DAY_SECS))))
