"""Stock clients against the gateway: every named check of tests/matrix that is not heavy, one test each.

`python -m tests.matrix` prints the same as a table, `make clients` runs the heavy ones too.
"""

import pytest

from tests.contract.live.conftest import Gateway
from tests.matrix.registry import Check, Target, load
from tests.matrix.results import judge

CLIENTS = load()
CHECKS = [check for client in CLIENTS if not client.heavy for check in client.checks]


@pytest.fixture(scope="session")
def target(gateway: Gateway) -> Target:
    roles = {"chat": gateway.chat, "embed": gateway.embed, "scripted": gateway.scripted, "rank": gateway.rank}
    roles["played"] = gateway.played
    return Target(gateway.url, gateway.key, {role: name for role, name in roles.items() if name})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.title)
def test_check(check: Check, target: Target) -> None:
    """The client understands what the gateway answers."""
    outcome = judge(check, target)
    if outcome.verdict == "skipped":
        pytest.skip(outcome.detail)
    assert outcome.verdict == "passed", outcome.detail
