"""Files and folders beside a model that its child is told of."""

from typing import Any

import pytest

from blazar.application.supervise.belongings import belongings, policy_of
from blazar.application.supervise.preparation import prepare
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.shape import Projector
from blazar.domain.launch import Places
from tests.fakes.catalog import a_model
from tests.fakes.weights import MemoryWeightFiles, some_facts
from tests.support.supervision import a_config

MODEL, BESIDE, OWN = "/models/m.gguf", "/models/mmproj.gguf", "/p/own.gguf"
FOLDERS = Places(sessions="/data/sessions", lookup_cache="/data/speccache")


def found(*there: str, **said: Any) -> Any:
    """What is found of a model with a projector beside it, where these paths exist as well."""
    files = MemoryWeightFiles({path: some_facts(path) for path in (MODEL, BESIDE, OWN, *there)})
    files.projectors |= {path: Projector("clip", 7, 0) for path in (MODEL, BESIDE)}
    files.beside[MODEL] = BESIDE
    files.sizes[OWN] = 9
    settings = a_config({"m": said}).settings_for("m")
    return belongings(a_model("m"), prepare(settings, files, settings["extra_args"]), files, FOLDERS)


def test_the_folder_of_sessions_has_to_be_there():
    """The engine would end itself over it; who switched them off is told nothing."""
    assert found("/data/sessions").places.sessions == "/data/sessions"
    gone = found()
    assert (gone.places.sessions, gone.notes) == ("", (teaching.sessions_folder_missing("/data/sessions"),))
    assert found(sessions=False).notes == ()


def test_a_model_s_own_lookup_cache_is_told_once_it_exists():
    """One file a model, in a folder of ours."""
    assert found().places.lookup_cache == ""
    assert found("/data/speccache/m.ngram").places.lookup_cache == "/data/speccache/m.ngram"


@pytest.mark.parametrize("key", ["lookup_cache_static", "lookup_cache_dynamic"])
def test_a_configured_lookup_cache_has_to_exist(key):
    """A child that must abort is not started (setup document)."""
    with pytest.raises(Malformed) as caught:
        found(**{key: "/c/none"})
    assert (str(caught.value), caught.value.field) == (teaching.lookup_cache_missing("/c/none", key), key)
    assert found("/c/some", **{key: "/c/some"}).notes


@pytest.mark.parametrize(
    ("said", "policy"),
    [
        ({}, "lazy"),
        ({"mmproj_policy": "attach"}, "attach"),
        ({"mmproj_policy": True}, "attach"),
        ({"mmproj_policy": "attach", "mmproj": "skip"}, "skip"),
        ({"mmproj_policy": "skip", "mmproj": OWN}, "skip"),
        ({"mmproj": "attach"}, "attach"),
        ({"mmproj": False}, "skip"),
    ],
)
def test_the_policy_of_a_projector(said, policy):
    """Lazy unless said otherwise; an override's word wins over the configuration's, its file does not change it."""
    assert policy_of(a_config({"m": said}).settings_for("m")) == policy


@pytest.mark.parametrize(
    ("said", "projector", "size"),
    [
        ({}, "", None),
        ({"mmproj_policy": "skip"}, "", None),
        ({"mmproj_policy": "attach"}, BESIDE, 7),
        ({"mmproj_policy": "attach", "mmproj_auto": False}, "", None),
        ({"mmproj_policy": "attach", "mmproj": OWN}, OWN, 9),
        ({"mmproj_policy": "attach", "mmproj_auto": False, "mmproj": OWN}, OWN, 9),
        ({"mmproj_policy": "attach", "extra_args": ["--mmproj", OWN]}, "", None),
        ({"mmproj": OWN}, "", None),
    ],
)
def test_which_projector_is_attached(said, projector, size):
    """Only under `attach`: the override's own, else the one beside the weights; explicit words win."""
    one = found(**said)
    assert one.projector == projector
    assert (one.encoder.weights_bytes if one.encoder else None) == size


def test_a_projector_that_cannot_be_read_is_not_attached():
    """The model is sound: it serves without, and a note says so."""
    one = found(mmproj_policy="attach", mmproj="/p/none.gguf")
    assert one.projector == ""
    assert "/p/none.gguf" in one.notes[-1]
