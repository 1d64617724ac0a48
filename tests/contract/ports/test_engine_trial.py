"""What every trial of a build must do, on paper and with real programs."""

from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.probe import HelpProbe
from blazar.application.ports.engines import EngineTrial
from blazar.domain.errors import Malformed
from tests.fakes.builds import FakeEngineTrial
from tests.support.engine import stub_server


class Case(NamedTuple):
    """A trial, a program that runs, and one that does not, with its reason."""

    trial: EngineTrial
    good: str
    bad: str
    reason: str


def on_paper(_: Path) -> Case:
    return Case(FakeEngineTrial(broken={"/bad": "no libcuda.so"}), "/good", "/bad", "no libcuda.so")


def with_programs(folder: Path) -> Case:
    bad = folder / "bad"
    bad.write_text("#!/bin/sh\necho 'no libcuda.so' >&2\nexit 127\n")
    bad.chmod(0o755)
    return Case(HelpProbe(), str(stub_server(folder)), str(bad), "no libcuda.so")


@pytest.fixture(params=[on_paper, with_programs])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    made: Case = request.param(tmp_path)
    return made


def test_what_runs_names_its_version(case: Case) -> None:
    """One line, without blanks around it, the same each time."""
    version = case.trial.try_out((case.good,))
    assert version == version.strip() != ""
    assert "\n" not in version
    assert case.trial.try_out((case.good,)) == version


def test_what_does_not_run_is_refused_with_its_reason(case: Case) -> None:
    """The sentence holds the program and what it said last."""
    with pytest.raises(Malformed) as refused:
        case.trial.try_out((case.bad,))
    assert case.bad in str(refused.value)
    assert case.reason in str(refused.value)
