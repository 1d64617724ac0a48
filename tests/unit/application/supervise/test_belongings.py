"""Files and folders beside a model that its child is told of."""

from typing import Any

import pytest

from blazar.application.supervise.belongings import belongings, policy_of, sees
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


def found(*there: str, vision: bool | None = False, beside: bool = True, **said: Any) -> Any:
    """What is found of a model with a projector `beside` it, where these paths exist as well."""
    files = MemoryWeightFiles({path: some_facts(path) for path in (MODEL, BESIDE, OWN, *there)})
    files.projectors |= {path: Projector("clip", 7, 0) for path in (MODEL, BESIDE)}
    if beside:
        files.beside[MODEL] = BESIDE
    files.sizes[OWN] = 9
    settings = a_config({"m": said}).settings_for("m")
    prepared = prepare(settings, files, settings["extra_args"])
    return belongings(a_model("m"), prepared, files, FOLDERS, vision=vision)


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


@pytest.mark.parametrize(
    ("said", "projector", "blind"),
    [
        ({}, BESIDE, ""),
        ({"mmproj": OWN}, OWN, ""),
        ({"mmproj_policy": "attach"}, BESIDE, ""),
        ({"mmproj_policy": "skip"}, "", teaching.projector_skipped("m")),
        ({"mmproj_auto": False}, "", teaching.projector_ignored("m", BESIDE)),
        (
            {"mmproj": "/p/none.gguf"},
            "",
            teaching.projector_unreadable("m", teaching.told_path_missing("/p/none.gguf", "--mmproj", "mmproj", "")),
        ),
        ({"extra_args": ["--mmproj", OWN]}, "", ""),
        ({"engine_env": {"LLAMA_ARG_MMPROJ": OWN}}, "", ""),
    ],
)
def test_what_a_picture_finds(said, projector, blind):
    """The projector that waited for it, or why there is none."""
    one = found(vision=True, **said)
    assert (one.projector, one.blind) == (projector, blind)


@pytest.mark.parametrize(
    ("said", "able"),
    [
        ({}, True),
        ({"mmproj_policy": "attach"}, True),
        ({"mmproj_policy": "skip"}, False),
        ({"mmproj_auto": False}, False),
        ({"mmproj": "/p/none.gguf"}, False),
        ({"mmproj_policy": "skip", "extra_args": ["-mm", OWN]}, True),
    ],
)
def test_who_lists_models_is_told_which_can_see(said: dict[str, Any], able: bool) -> None:
    """A child that waits for its first picture counts: it takes it."""
    files = MemoryWeightFiles({path: some_facts(path) for path in (MODEL, BESIDE, OWN)})
    files.projectors[MODEL], files.beside[MODEL] = Projector("clip", 7, 0), BESIDE
    assert sees(a_model("m"), a_config({"m": said}).settings_for("m"), files) is able


def test_a_model_without_a_projector_says_so_whatever_looks_for_one():
    """To look for what is not there would help nobody."""
    for said in ({}, {"mmproj_auto": False}, {"mmproj_policy": "attach"}):
        assert found(vision=True, beside=False, **said).blind == teaching.projector_missing("m")


def test_a_home_folder_in_a_projector_s_path_is_explained():
    """Nothing reads ~: the whole path has to be written, as for adapters."""
    assert "~ is not read" in found(mmproj="/c/~/p.gguf", vision=True).blind


def test_a_child_without_pictures_says_what_it_waits_for():
    """For whoever brings one; a child that embeds waits for nothing."""
    assert found().blind == teaching.projector_waits(BESIDE)
    assert found(vision=True).notes[-1] == teaching.projector_attached(BESIDE)
    for said in ({}, {"mmproj_policy": "attach"}):
        embedding = found(vision=None, **said)
        assert (embedding.projector, embedding.blind) == ("", "")


def test_a_projector_that_cannot_be_read_is_not_attached():
    """The model is sound: it serves without, and a note says so."""
    one = found(mmproj_policy="attach", mmproj="/p/none.gguf")
    assert one.projector == ""
    assert "/p/none.gguf" in one.notes[-1]
