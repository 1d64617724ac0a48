"""A pull that is killed at any step of entering a model: the next one ends with the right bytes, no orphan, and the right words."""

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.config.model import Config
from blazar.application.models.pulling import Pulled, Wish
from blazar.composition.local import Local
from blazar.composition.pulling import Pulling, Shelf, pull_here, unlisted_in
from blazar.domain.records import Model
from tests.faults.conftest import CHAOS
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry

VERSIONS = [tiny(blocks=blocks).build() for blocks in (2, 3, 4)]
MOST = 60


class House:
    """One data folder, and a registry that has one model in one of its versions."""

    def __init__(self, registry: ModelRegistry, at: Path, dying: "subprocess.Popen[str]") -> None:
        self.registry, self.dying = registry, dying
        self.host = registry.url.removeprefix("http://")
        self.reference = f"{self.host}/library/tiny:1b"
        at.mkdir()
        (at / "config.toml").write_text(f'model_registries = ["{self.host}"]\n')
        self.folders = Folders(at / "config.toml", at / "data")
        self.local = Local(self.folders, {"BLAZAR_REGISTRY_BASE": registry.url}, lambda _: ())

    def publish(self, version: int) -> None:
        words = json.dumps({"temperature": version / 10, "stop": [f"<{version}>"]}).encode()
        self.registry.publish("library/tiny", "1b", [("model", VERSIONS[version]), ("params", words)])

    def pull(self) -> Pulled:
        return pull_here(self.local)(Wish(self.reference), lambda _: None)

    def dies_at(self, step: int) -> bool:
        """Whether it came so far."""
        words = [str(self.folders.config_file), str(self.folders.data), self.registry.url, self.reference, str(step)]
        assert self.dying.stdin is not None
        assert self.dying.stdout is not None
        self.dying.stdin.write("\t".join(words) + "\n")
        self.dying.stdin.flush()
        code = int(self.dying.stdout.readline())
        assert code in (0, 9)
        return code == 9

    def row(self) -> Model | None:
        return next(iter(self.local.catalog.list_models()), None)

    def words(self) -> str:
        raw = tomllib.loads(self.folders.config_file.read_text())
        return str(raw.get("model_overrides", {}))

    def check_version(self, version: int) -> None:
        """Bytes and words of that one, and nothing of any other."""
        row = self.row()
        assert row is not None
        assert [Path(file).read_bytes() for file in row.files] == [VERSIONS[version]]
        assert f"<{version}>" in self.words()
        assert self.words().count("reverse-prompt") == 1
        assert [str(path) for path in self.folders.models.iterdir()] == list(row.files)
        assert list(self.folders.downloads.iterdir()) == []
        assert [*self.folders.placing.glob("*")] == []


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    with closing(ModelRegistry()) as registry:
        yield registry


@pytest.fixture
def dying() -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-m", "tests.support.dying_pull"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def _houses(
    registry: ModelRegistry, at: Path, dying: "subprocess.Popen[str]", half: int = 0
) -> Iterator[tuple[House, int]]:
    """One for each step at which a kill may come, until there is none; every second one where two tests share them."""
    for step in range(1, MOST) if CHAOS else range(1 + half, MOST, 2):
        with_step = House(registry, at / str(step), dying)
        with closing(with_step.local):
            yield with_step, step


@pytest.mark.parametrize("swept", [False, True])
def test_a_first_pull_that_is_killed_anywhere(
    registry: ModelRegistry, tmp_path: Path, dying: "subprocess.Popen[str]", swept: bool
) -> None:
    """Also where what was downloaded is gone by then."""
    for house, step in _houses(registry, tmp_path, dying, swept):
        house.publish(1)
        died = house.dies_at(step)
        if swept and died:
            shutil.rmtree(house.folders.downloads, ignore_errors=True)
        house.pull()
        house.check_version(1)
        if not died:
            assert step > 5
            return
    pytest.fail("it never ended by itself")


@pytest.mark.parametrize("back", [False, True])
def test_an_update_that_is_killed_anywhere(
    registry: ModelRegistry, tmp_path: Path, dying: "subprocess.Popen[str]", back: bool
) -> None:
    """From the second version to the third; then the same again without what was downloaded, or back to the second."""
    for house, step in _houses(registry, tmp_path, dying, back):
        for version in (0, 1):
            house.publish(version)
            house.pull()
        house.publish(2)
        died = house.dies_at(step)
        shutil.rmtree(house.folders.downloads, ignore_errors=True)
        house.publish(1 if back else 2)
        house.pull()
        house.check_version(1 if back else 2)
        if not died:
            assert step > 5
            return
    pytest.fail("it never ended by itself")


def _same(config: Config) -> Config:
    return config


def test_a_start_puts_the_words_right(registry: ModelRegistry, tmp_path: Path, dying: "subprocess.Popen[str]") -> None:
    """Old weights never serve with the words of the new ones: nobody has to pull for it."""
    for house, step in _houses(registry, tmp_path, dying):
        house.publish(1)
        house.pull()
        house.publish(2)
        died = house.dies_at(step)
        local = house.local
        shelf = Shelf(local.catalog, local.weights, local.overlays, local.clock)
        config = local.settings().loaded.rooted()
        Pulling(house.folders, {}, partial(_same, config), shelf, local.throttle).mended()
        row = house.row()
        assert row is not None
        version = VERSIONS.index(Path(row.files[0]).read_bytes())
        assert f"<{version}>" in house.words()
        assert f"<{3 - version}>" not in house.words()
        assert list(unlisted_in(house.folders.models, row.files)) == []
        if not died:
            return
    pytest.fail("it never ended by itself")


def test_what_a_person_put_there_stays(registry: ModelRegistry, tmp_path: Path, dying: "subprocess.Popen[str]") -> None:
    """A file of the very name that the model's link would have, and one that lies about."""
    house = House(registry, tmp_path / "one", dying)
    with closing(house.local):
        house.folders.ensure()
        theirs = house.folders.models / "other%40mine.gguf"
        theirs.write_bytes(b"mine")
        house.publish(1)
        assert house.dies_at(3)
        name = house.pull().model
        assert name is not None
        named = house.folders.models / "tiny%3A1b%40note.gguf"
        named.write_bytes(b"mine")
        house.publish(2)
        house.dies_at(4)
        house.pull()
        assert theirs.read_bytes() == named.read_bytes() == b"mine"
        row = house.row()
        assert row is not None
        found = dict(unlisted_in(house.folders.models, row.files))
        assert found == {str(theirs): 4, str(named): 4}
