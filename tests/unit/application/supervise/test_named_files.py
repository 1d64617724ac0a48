"""Files that a command line names, looked for."""

import pytest

from blazar.application.supervise.named_files import look_for
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.launch import Beside, Brief
from blazar.domain.told_paths import Told
from tests.fakes.catalog import a_model
from tests.fakes.hardware import a_machine
from tests.fakes.weights import MemoryWeightFiles, some_facts

FILES = MemoryWeightFiles({path: some_facts(path) for path in ("/l/a", "/run/b")})


def looked(path: str, beside: Beside | None = None, key: str = "loras", **said: str) -> None:
    """What is told of two adapters, the second one at that path."""
    settings = {"loras": ("/l/a",)} | said
    brief = Brief(settings, a_model("m"), a_machine(), beside=beside or Beside())
    look_for([Told("/l/a", "--lora", "loras"), Told(path, "--lora", key)], brief, FILES, "/run")


def test_what_is_there_is_no_news() -> None:
    """Whole paths, and others from the folder that children run in."""
    looked("/l/a")
    looked("b")


@pytest.mark.parametrize(("path", "folder"), [("/l/none", ""), ("none", "/run"), ("~/a", "/run"), ("l/a", "/run")])
def test_what_is_not_there_is_refused_with_its_key(path: str, folder: str) -> None:
    """And with the folder that it counts from, where it is no whole path."""
    with pytest.raises(Malformed) as caught:
        looked(path)
    assert (str(caught.value), caught.value.field) == (
        teaching.told_path_missing(path, "--lora", "loras", folder),
        "loras",
    )


@pytest.mark.parametrize("flag", ["--lora", "--lora-scaled", "--lora_scaled"])
def test_a_file_that_is_no_adapter_is_refused_with_its_key(flag: str) -> None:
    """The engine would end itself with a line that names no setting; other flags take any file."""
    files = MemoryWeightFiles({"/l/model": some_facts("/l/model")})
    files.broken["/l/model"] = "it is a model"
    brief = Brief({"loras": ("/l/model",)}, a_model("m"), a_machine())
    with pytest.raises(Malformed) as caught:
        look_for([Told("/l/model", flag, "loras")], brief, files, "/run")
    wanted = teaching.told_adapter_unusable("/l/model", flag, "loras", "it is a model")
    assert (str(caught.value), caught.value.field) == (wanted, "loras")
    look_for([Told("/l/model", "--control-vector", "control_vectors")], brief, files, "/run")


@pytest.mark.parametrize("beside", [Beside(draft="/d"), Beside(projector="/d"), Beside(components={"vae": "/d"})])
def test_a_part_of_the_model_is_nobody_s_setting(beside: Beside) -> None:
    """Nobody wrote it down: the model has to be mended."""
    with pytest.raises(Malformed, match="belongs to this model"):
        looked("/d", beside, "draft_model")


def test_the_key_that_a_person_wrote_is_named() -> None:
    """Where a kind says it by another one; a file that is configured is nobody's part."""
    for beside in (Beside(), Beside(draft="/d")):
        with pytest.raises(Malformed, match=r"^lane\.draft names"):
            looked("/d", beside, "draft", **{"lane.draft": "/d"})
