"""The list of kinds that can be driven."""

import pytest

from blazar.adapters.engines.drivers import SCRUBBED, SPECS
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.manners import LLAMACPP
from blazar.domain.routing import LANES


def test_every_kind_has_one() -> None:
    """Under its own name."""
    assert set(SPECS) == set(EngineKind)
    assert all(spec.kind is kind for kind, spec in SPECS.items())


def test_questions_to_a_build_inherit_what_no_kind_may() -> None:
    """None of the prefixes is lost."""
    assert all(prefix in SCRUBBED for spec in SPECS.values() for prefix in spec.scrubbed)
    assert len(set(SCRUBBED)) == len(SCRUBBED)


def test_every_lane_leads_to_kinds_that_can_do_its_task() -> None:
    """Text kinds chat, and the one that draws does nothing else (the contract's gate)."""
    drawing = {kind for kind, spec in SPECS.items() if Task.IMAGE in spec.manners.tasks}
    assert drawing == {EngineKind.SDCPP}
    assert SPECS[EngineKind.SDCPP].manners.tasks == {Task.IMAGE}
    for weights, lane in LANES.items():
        assert (set(lane.kinds) == drawing) is (weights == "diffusion")


@pytest.mark.parametrize("kind", [kind for kind in EngineKind if kind is not EngineKind.LLAMACPP])
def test_other_kinds_have_manners_of_their_own(kind: EngineKind) -> None:
    """With a name for sentences, and none of llama.cpp's routes."""
    manners = SPECS[kind].manners
    assert manners != LLAMACPP
    assert manners.name != LLAMACPP.name
    assert not manners.routes
    assert not SPECS[kind].key_file_flag
