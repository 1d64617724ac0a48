"""What the doctor says about newer engine builds, from the last look. Asks nobody."""

from collections.abc import Iterator, Sequence

from blazar.application.engines.check_currency import Currency, said_of
from blazar.application.ops.diagnose import OK, WARN, Row
from blazar.domain import teaching
from blazar.domain.wire.stamps import to_the_second

CHECK = "engine updates"


def update_rows(every: int, last: Sequence[Currency]) -> Iterator[Row]:
    """A row a kind; one that says why there is none. `every` is `engine_check_secs`."""
    if not last:
        yield Row(CHECK, OK, teaching.doctor_updates_unchecked() if every else teaching.doctor_updates_off())
    for row in last:
        said = said_of(row)
        if row.checked_at > 0:
            said = teaching.doctor_update_seen(said, to_the_second(row.checked_at))
        if row.trouble:
            yield Row(CHECK, WARN, said, teaching.doctor_update_check_remedy())
        elif row.available and row.pinned:
            yield Row(CHECK, OK, said)  # somebody wants it so
        elif row.available:
            yield Row(CHECK, WARN, said, teaching.doctor_update_remedy(row.kind.value))
        else:
            yield Row(CHECK, OK, said)
