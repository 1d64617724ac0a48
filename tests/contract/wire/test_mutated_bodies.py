"""Whatever a body holds, understanding it ends in a request for the child or in a sentence: nothing that a client sends is a 5xx.

The same mutations as `python -m tests.fuzz`, without a daemon: every generation row of the lane, also where no child would be asked.
"""

import copy
import json
import random

import pytest

from blazar.adapters.http.lane.rows import ROWS
from blazar.adapters.http.routes import ROUTES
from blazar.domain.errors import BlazarError
from blazar.domain.grammars import LLGUIDANCE, XGRAMMAR
from blazar.domain.wire.fitting import fit
from blazar.domain.wire.remote_pictures import remote_pictures
from tests.fuzz.mutations import broken, mutated
from tests.fuzz.seeds import seeds_of

EACH = 1500
"""Bodies of one path; the seeds are fixed, so a failure repeats."""
REFUSAL = b'{"error":{"message":"failed to parse grammar"}}'
ROWS_OF = {route.path: route for route in ROUTES if route.lane}


@pytest.mark.parametrize("path", ROWS)
def test_a_mutated_body_is_understood_or_refused(path: str) -> None:
    """Also by what asks a second time, by what looks for addresses, and by what fits schemas to other engines."""
    dice = random.Random(path)
    bodies = [seed.body for seed in seeds_of(ROWS_OF[path]) if seed.body is not None]
    for number in range(EACH):
        raw = json.dumps(mutated(bodies[number % len(bodies)], dice)).encode()
        try:
            remote_pictures(json.loads(raw))
            job = ROWS[path].understand(raw)
            sent = json.loads(job.call("child").body)
            for grammar in (LLGUIDANCE, XGRAMMAR):
                fit(copy.deepcopy(sent), grammar, "response_format")
            for _ in range(2):
                job.again(400, REFUSAL)
        except BlazarError:
            continue
        except Exception as error:
            raise AssertionError(raw) from error


@pytest.mark.parametrize("path", ROWS)
def test_bytes_that_are_no_body_are_refused(path: str) -> None:
    """Cut, doubled, in another encoding, nested without end: one sentence each, or a body after all."""
    dice = random.Random(path)
    bodies = [seed.body for seed in seeds_of(ROWS_OF[path]) if seed.body is not None]
    for number in range(EACH // 3):
        raw = broken(json.dumps(bodies[number % len(bodies)]).encode(), dice)
        try:
            ROWS[path].understand(raw).call("child")
        except BlazarError:
            continue
        except Exception as error:
            raise AssertionError(raw[:2000]) from error
