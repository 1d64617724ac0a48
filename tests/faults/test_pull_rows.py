"""What a pull does with the rows that are there: by name or by reference, by verb or by API, one model has one row that is renewed."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.models.pulling import Pulled, Wish
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.references import client_name
from blazar.domain.row_names import meant
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry

REPO = "acme/Tiny-GGUF"
REF = f"{REPO}:F16"
FILE = "Tiny-F16.gguf"


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    with closing(ModelRegistry()) as registry:
        yield registry


@pytest.fixture
def local(tmp_path: Path, registry: ModelRegistry) -> Iterator[Local]:
    config = tmp_path / "config.toml"
    config.write_text(f'model_registries = ["{registry.url.partition("://")[2]}"]\n')
    publish(registry, 1)
    folders = Folders(config, tmp_path / "data")
    with closing(Local(folders, {"BLAZAR_REGISTRY_BASE": registry.url}, lambda _: ())) as local:
        yield local


def version(number: int) -> bytes:
    return tiny(extra={"general.name": f"Version {number}"}).build()


def publish(registry: ModelRegistry, number: int) -> None:
    registry.publish_hub(REPO, {FILE: version(number)})


def pull(local: Local, reference: str, name: str = "") -> Pulled:
    return pull_here(local)(Wish(reference, name), lambda _: None)


def pull_by_api(local: Local, reference: str) -> Pulled:
    """As its clients have it called."""
    return pull(local, reference, client_name(reference))


def versions(local: Local) -> dict[str, int]:
    """The rows, and which version each is."""
    made = {version(number): number for number in range(1, 5)}
    return {row.name: made[Path(row.files[0]).read_bytes()] for row in local.catalog.list_models()}


def test_the_verb_renews_what_the_api_pulled_and_the_other_way_round(local: Local, registry: ModelRegistry) -> None:
    """No second row that stays old."""
    by_client = f"hf.co/{REF}"
    assert pull_by_api(local, by_client).fresh
    publish(registry, 2)
    pull(local, by_client)
    assert versions(local) == {by_client: 2}
    pull(local, REPO)
    assert versions(local) == {by_client: 2}
    local.models().remove(by_client)
    pull(local, REF)
    publish(registry, 3)
    pulled = pull_by_api(local, by_client)
    assert pulled.model is not None
    assert versions(local) == {"tiny-f16": 3} == {pulled.model.name: 3}


@pytest.mark.parametrize("word", ["tiny-f16", "TINY-F16", "tiny-f16:latest"])
def test_a_name_of_the_catalog_is_pulled_from_where_it_came(local: Local, registry: ModelRegistry, word: str) -> None:
    """By the verb and by the API, which lists these names."""
    pull(local, REF)
    publish(registry, 2)
    assert pull(local, word).fresh
    publish(registry, 3)
    assert pull_by_api(local, word).fresh
    assert versions(local) == {"tiny-f16": 3}


def test_a_name_never_brings_a_stranger_s_model(local: Local, registry: ModelRegistry) -> None:
    """What a registry of layers calls `team/mine` is not the hub's repository of that name."""
    host = registry.url.partition("://")[2]
    registry.publish("team/mine", "latest", [("model", version(1))])
    registry.publish_hub("team/mine", {"mine-F16.gguf": version(4)})
    pull(local, f"{host}/team/mine")
    registry.publish("team/mine", "latest", [("model", version(2))])
    for again in (pull, pull_by_api):
        again(local, "team/mine")
        assert versions(local) == {"team/mine": 2}
    pull(local, "hf:team/mine", "theirs")
    assert versions(local) == {"team/mine": 2, "theirs": 4}


def test_what_was_imported_is_not_asked_for(local: Local, registry: ModelRegistry, tmp_path: Path) -> None:
    """A sentence, and no registry hears the name."""
    (tmp_path / "mine.gguf").write_bytes(version(1))
    local.models().add(str(tmp_path / "mine.gguf"), "qwen3")
    asked = len(registry.asked)
    for again in (pull, pull_by_api):
        with pytest.raises(Malformed, match="not pulled from anywhere"):
            again(local, "qwen3")
    assert len(registry.asked) == asked


def test_a_copy_is_renewed_by_its_own_name_and_told_of_else(local: Local, registry: ModelRegistry) -> None:
    """Whatever the reference says then means the newest."""
    pull(local, REPO)
    local.models().copy("tiny-f16", "aa")
    publish(registry, 2)
    (note,) = pull(local, REPO).notes
    assert "'aa' was pulled from there as well" in note
    assert note.endswith("blazar pull aa")
    assert versions(local) == {"aa": 1, "tiny-f16": 2}
    rows = local.catalog.list_models()
    for word in (REPO, REF, f"{REPO}/{FILE}", f"{registry.url}/{REPO}"):
        assert meant(word, rows) == "tiny-f16"
    assert pull(local, "aa").fresh
    assert versions(local) == {"aa": 2, "tiny-f16": 2}
    assert pull(local, REPO).notes == ()


def test_a_name_of_one_s_own_is_renewed_by_the_reference(local: Local, registry: ModelRegistry) -> None:
    """Where no row is called as usual."""
    pull(local, REPO, "t2")
    publish(registry, 2)
    pull(local, f"{REPO}/{FILE}")
    assert versions(local) == {"t2": 2}
    (row,) = local.catalog.list_models()
    assert row.origin is not None
    assert row.origin.reference == f"hf:{REF}"
    pull(local, REPO, "t3")
    assert versions(local) == {"t2": 2, "t3": 2}


def test_a_registry_that_is_away_changes_nothing(local: Local, registry: ModelRegistry) -> None:
    """The row stays and is found."""
    pull(local, REF)
    registry.close()
    with pytest.raises(RegistryTrouble):
        pull(local, "tiny-f16")
    assert meant(REPO, local.catalog.list_models()) == "tiny-f16"


def test_rm_takes_no_row_that_was_not_meant(local: Local, registry: ModelRegistry) -> None:
    """Two are meant equally: both are named, none goes. One goes by any spelling, and its name is told."""
    pull(local, REF)
    pull(local, REF, "second")
    with pytest.raises(Malformed, match="second, tiny-f16"):
        local.models().remove(REF)
    assert len(local.catalog.list_models()) == 2
    assert local.models().remove("second") == "second"
    assert local.models().remove(f"{registry.url}/{REPO}/resolve/main/{FILE}") == "tiny-f16"
    assert local.catalog.list_models() == []
