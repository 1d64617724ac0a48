"""After a process that died over a model: which version it is, is the row's to say."""

from pathlib import Path

import pytest

from blazar.adapters.files.placements import DiskPlacements
from blazar.application.models.mending import MendPlacements, turn
from blazar.application.ports.placements import Placement
from blazar.domain.errors import Busy
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Role, Words
from tests.support.gguf_files import tiny
from tests.support.pull_rig import PullRig

REF = "hf:owner/Tiny-GGUF:F16"
OLD, NEW = Overlay(system="old"), Overlay(system="new")


@pytest.fixture
def rig(tmp_path: Path) -> PullRig:
    rig = PullRig(tmp_path)
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", tiny().build())], Words(system="old"))
    rig.pull(REF)
    return rig


def _died(rig: PullRig, artefact: str = "f" * 64, before: Overlay | None = OLD) -> DiskPlacements:
    """Over the version of that artefact: its words and its links are there."""
    placements = DiskPlacements(rig.data / "placing", rig.data / "models")
    came = rig.data / "came.gguf"
    came.write_bytes(tiny(blocks=3).build())
    (rig.data / "models" / f"tiny-f16%40{artefact[:12]}.gguf").hardlink_to(came)
    (rig.data / "models" / "tiny-f16-00001-of-00001.gguf").hardlink_to(came)
    placements.begin(Placement("tiny-f16", artefact, before), [str(came)])
    rig.overlays.keep("tiny-f16", NEW, {})
    return placements


def _mend(rig: PullRig, placements: DiskPlacements) -> MendPlacements:
    return MendPlacements(rig.catalog, rig.weights, rig.overlays, placements)


def test_the_row_of_before_gets_its_words_back(rig: PullRig) -> None:
    """And keeps its files; those of the other go."""
    placements = _died(rig)
    _mend(rig, placements)("tiny-f16")
    assert rig.overlays.find("tiny-f16") == OLD
    assert rig.lying("models") == {"tiny-f16.gguf"}
    assert placements.names() == ()


def test_where_nothing_lay_over_it_nothing_does_again(rig: PullRig) -> None:
    """Also where there is no row at all."""
    rig.catalog.remove_model("tiny-f16")
    _mend(rig, _died(rig, before=None))("tiny-f16")
    assert rig.overlays.find("tiny-f16") is None


def test_a_model_that_was_removed_since_has_no_words(rig: PullRig) -> None:
    """Whatever lay over the version before: it is nobody's."""
    placements = _died(rig, before=OLD)
    rig.catalog.remove_model("tiny-f16")
    _mend(rig, placements)("tiny-f16")
    assert rig.overlays.find("tiny-f16") is None


def test_a_row_that_has_changed_keeps_the_new_words(rig: PullRig) -> None:
    """What is left then is the links of the version before."""
    (row,) = rig.catalog.list_models()
    assert row.origin is not None
    _mend(rig, _died(rig, row.origin.artefact))("tiny-f16")
    assert rig.overlays.find("tiny-f16") == NEW
    assert rig.lying("models") == {"tiny-f16.gguf"}


def test_a_name_that_somebody_works_on_is_left_alone(rig: PullRig) -> None:
    """Its own pull puts it right; the turn leaves no folder behind."""
    placements = _died(rig)
    with turn(rig.landing, "tiny-f16", lambda: None):
        _mend(rig, placements).all(rig.landing)
        assert rig.overlays.find("tiny-f16") == NEW
    _mend(rig, placements).all(rig.landing)
    assert rig.overlays.find("tiny-f16") == OLD
    assert list((rig.data / "downloads").iterdir()) == []


def test_one_at_a_time_enters_a_name(rig: PullRig) -> None:
    """Who waits may give up."""

    def enough() -> None:
        raise Busy("enough")

    with (
        turn(rig.landing, "a", enough),
        turn(rig.landing, "b", enough),
        pytest.raises(Busy),
        turn(rig.landing, "a", enough),
    ):
        pass
