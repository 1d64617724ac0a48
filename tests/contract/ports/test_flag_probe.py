"""What everybody who asks builds for their flags must do, on paper and with real programs."""

from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.probe import HelpProbe
from blazar.application.ports.drivers import FlagProbe
from blazar.domain.records import Engine
from tests.fakes.engines import an_engine
from tests.support.engine import stub_server
from tests.support.supervision import KnowsAll


class Case(NamedTuple):
    """A probe, a build that answers, and one that cannot be asked."""

    probe: FlagProbe
    good: Engine
    mute: tuple[FlagProbe, Engine]


def on_paper(_: Path) -> Case:
    return Case(KnowsAll({"--model", "--alias"}), an_engine(), (KnowsAll(), an_engine()))


def with_programs(folder: Path) -> Case:
    probe = HelpProbe()
    good = an_engine(server_path=str(stub_server(folder)))
    return Case(probe, good, (probe, an_engine(server_path=str(folder / "missing"))))


@pytest.fixture(params=[on_paper, with_programs])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    made: Case = request.param(tmp_path)
    return made


def test_a_build_names_its_flags(case: Case) -> None:
    """As they are written on a command line; asking again gives the same."""
    flags = case.probe.manifest(case.good)
    assert {"--model", "--alias"} <= set(flags)
    assert all(flag.startswith("-") for flag in flags)
    assert set(case.probe.manifest(case.good)) == set(flags)


def test_a_build_that_cannot_be_asked_knows_nothing(case: Case) -> None:
    """Empty, not an error: then nothing is filtered."""
    probe, engine = case.mute
    assert not probe.manifest(engine)
