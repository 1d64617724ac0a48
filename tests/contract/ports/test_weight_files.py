"""What every implementation of WeightFiles must do: the one in memory and the one on disk."""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.application.ports.weights import WeightFiles
from blazar.domain.errors import BadModelFile, Conflict, NotFound
from tests.fakes.weights import MemoryWeightFiles, some_facts
from tests.support.gguf_files import save_shards, tiny


@dataclass
class World:
    """The same things for every implementation: a single file, a set, another file, a broken one, and a folder of ours."""

    weights: WeightFiles
    single: str
    shards: tuple[str, ...]
    other: str
    broken: str
    folder: str
    forbid_links: Callable[[], None]


def _memory(tmp_path: Path, _monkeypatch: pytest.MonkeyPatch) -> World:
    shards = ("/in/big-00001-of-00002.gguf", "/in/big-00002-of-00002.gguf")
    models = {
        "/in/single.gguf": some_facts("/in/single.gguf"),
        "/in/other.gguf": some_facts("/in/other.gguf", digest="cd" * 32),
        **{shard: some_facts(*shards, digest="ef" * 32) for shard in shards},
    }
    weights = MemoryWeightFiles(models)
    weights.broken["/in/broken.gguf"] = "it is empty"

    def forbid() -> None:
        weights.linkable = False

    return World(weights, "/in/single.gguf", shards, "/in/other.gguf", "/in/broken.gguf", "/models", forbid)


def _disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    single = tiny().save(tmp_path / "in" / "single.gguf")
    other = tiny(blocks=3).save(tmp_path / "in" / "other.gguf")
    shards = tuple(map(str, save_shards(tmp_path / "in", "big", 2)))
    broken = tmp_path / "in" / "broken.gguf"
    broken.touch()
    folder = tmp_path / "models"

    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    return World(
        DiskWeightFiles(folder),
        str(single),
        shards,
        str(other),
        str(broken),
        str(folder),
        lambda: monkeypatch.setattr(os, "link", refuse),
    )


@pytest.fixture(params=[_memory, _disk], ids=["memory", "disk"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    build: Callable[[Path, pytest.MonkeyPatch], World] = request.param
    return build(tmp_path, monkeypatch)


def test_facts_name_the_files_they_are_about(world: World) -> None:
    """One size a file; a set has one digest whichever shard is named."""
    facts = world.weights.inspect(world.single)
    assert facts.files == (world.single,)
    assert len(facts.sizes) == 1
    sets = [world.weights.inspect(shard) for shard in world.shards]
    assert sets[0] == sets[1]
    assert sets[0].files == world.shards
    assert len({facts.digest, sets[0].digest, world.weights.inspect(world.other).digest}) == 3


def test_what_cannot_be_inspected_is_refused(world: World) -> None:
    """Missing and broken are told apart."""
    with pytest.raises(NotFound):
        world.weights.inspect(world.single + ".gone")
    with pytest.raises(BadModelFile, match="it is empty"):
        world.weights.inspect(world.broken)


def test_metadata_is_that_of_the_header(world: World) -> None:
    """Without vocabulary; a missing file is not found."""
    assert world.weights.metadata(world.single)["general.architecture"] == "llama"
    assert "tokenizer.ggml.tokens" not in world.weights.metadata(world.single)
    with pytest.raises(NotFound):
        world.weights.metadata(world.single + ".gone")


def test_a_link_lies_in_our_folder_and_the_original_stays(world: World) -> None:
    """Named for the model; owned."""
    links, owned = world.weights.link("org/m", (world.single,))
    assert (links, owned) == ((f"{world.folder}/org%2Fm.gguf",), True)
    assert world.weights.missing((*links, world.single)) is None
    assert world.weights.link("org/m", (world.single,)) == (links, owned)


def test_links_of_a_set_keep_their_numbers(world: World) -> None:
    """Engines find siblings by them."""
    links, owned = world.weights.link("m", world.shards)
    assert (links, owned) == (
        (f"{world.folder}/m-00001-of-00002.gguf", f"{world.folder}/m-00002-of-00002.gguf"),
        True,
    )


def test_one_name_is_never_two_files(world: World) -> None:
    """What lies there already is not overwritten."""
    world.weights.link("m", (world.single,))
    with pytest.raises(Conflict, match="in the way"):
        world.weights.link("m", (world.other,))


def test_without_hardlinks_the_original_is_referred_to(world: World) -> None:
    """Nothing appears in our folder (D36)."""
    world.forbid_links()
    assert world.weights.link("m", world.shards) == (world.shards, False)
    assert world.weights.missing((f"{world.folder}/m-00001-of-00002.gguf",)) is not None


def test_only_links_of_ours_are_deleted(world: World) -> None:
    """Twice is as good as once; anything outside is left alone."""
    links, _ = world.weights.link("m", (world.single,))
    world.weights.unlink((*links, world.single))
    world.weights.unlink(links)
    assert world.weights.missing(links) == links[0]
    assert world.weights.missing((world.single,)) is None


def test_the_first_missing_file_is_named(world: World) -> None:
    """In the order that was asked."""
    gone = (world.single + ".1", world.single + ".2")
    assert world.weights.missing((world.single, *gone)) == gone[0]
    assert world.weights.missing(()) is None


def test_linking_what_is_gone_is_refused(world: World) -> None:
    """With its path; nothing is linked."""
    with pytest.raises(NotFound, match="gone"):
        world.weights.link("m", (world.single + ".gone",))


def test_a_model_of_several_files_gets_a_folder_of_its_own(world: World) -> None:
    """Under the names it asks for, which stay when the folder goes with its last link."""
    names = ("model.safetensors", "1_Pooling/config.json")
    links, owned = world.weights.link("org/m", (world.single, world.other), names)
    folder = f"{world.folder}/org%2Fm"
    assert (links, owned) == (tuple(f"{folder}/{name}" for name in names), True)
    assert world.weights.missing((*links, world.single, world.other)) is None
    assert world.weights.link("org/m", (world.single, world.other), names) == (links, owned)
    world.weights.unlink(links)
    assert world.weights.missing(links) is None
    world.weights.unlink(links, f"{world.folder}/other")
    assert world.weights.missing(links) is None
    world.weights.unlink(links, folder)
    assert world.weights.missing(links) == links[0]
    assert world.weights.missing((world.single, world.other)) is None


def test_without_hardlinks_a_folder_is_referred_to(world: World) -> None:
    """As a file is (D36)."""
    world.forbid_links()
    files = (world.single, world.other)
    assert world.weights.link("m", files, ("a", "b")) == (files, False)
    assert world.weights.missing((f"{world.folder}/m/a",)) is not None


def test_a_path_is_stamped_by_what_lies_there(world: World) -> None:
    """The same until another file takes its place; a link of it is the same file, and nothing has no stamp."""
    (link,) = world.weights.take("m", (world.single,))
    first = world.weights.stamp(link)
    assert first
    assert world.weights.stamp(link) == first
    world.weights.unlink((link,))
    assert world.weights.stamp(link) == ""
    assert world.weights.take("m", (world.other,)) == (link,)
    assert world.weights.stamp(link) not in ("", first)


def test_files_are_the_same_by_link_or_by_content(world: World) -> None:
    """Order and number count; another file is another file."""
    links, _ = world.weights.link("m", (world.single,))
    assert world.weights.same(links, (world.single,))
    assert not world.weights.same(links, (world.other,))
    assert not world.weights.same(world.shards, tuple(reversed(world.shards)))
    assert not world.weights.same(world.shards, world.shards[:1])
    with pytest.raises(NotFound, match="gone"):
        world.weights.same(links, (world.single + ".gone",))


def test_what_lies_beside_a_model_can_be_weighed(world: World) -> None:
    """A projector and an adapter by their own files; one that is broken or gone is said so."""
    assert world.weights.projector_in(world.single).weights_bytes > 0
    assert world.weights.adapter_bytes(world.single) > 0
    facts = world.weights.projector_facts(world.single)
    assert facts["general.architecture"]
    assert facts["general.parameter_count"] > 0
    for weigh in (world.weights.projector_in, world.weights.projector_facts, world.weights.adapter_bytes):
        with pytest.raises(BadModelFile):
            weigh(world.broken)
        with pytest.raises(BadModelFile):
            world.weights.vet_adapter(world.broken, "llama")
        with pytest.raises(NotFound):
            weigh("/in/gone.gguf")
