"""Models on disk: facts, links, and what is never deleted."""

import errno
import os
from pathlib import Path

import pytest

from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.domain.errors import BadModelFile, Conflict, NotFound, StoreTrouble
from blazar.domain.kinds import Weights
from tests.support.gguf_files import Gguf, Row, save_shards, tiny
from tests.support.shared import shared


@pytest.fixture
def weights(tmp_path: Path) -> DiskWeightFiles:
    return DiskWeightFiles(tmp_path / "data" / "models")


def test_the_facts_of_a_single_file(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Everything a row needs comes from the header."""
    path = tiny().save(tmp_path / "m.gguf")
    facts = weights.inspect(str(path))
    assert facts.files == (str(path),)
    assert facts.sizes == (path.stat().st_size,)
    assert (facts.weights, facts.arch, facts.quant) == (Weights.GGUF, "llama", "F16")
    assert facts.parameters == 64 * 3 + 2 * 64 * 64 + 64
    assert (facts.ctx_train, facts.embedding_length, facts.pooling, facts.template) == (512, 64, None, True)


def test_an_embedding_model_says_so(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """The pooling type is what makes one (D38)."""
    file = tiny("bert", extra={"bert.pooling_type": 1}).having(tokenizer__chat_template=None)
    facts = weights.inspect(str(file.save(tmp_path / "m.gguf")))
    assert (facts.arch, facts.pooling, facts.template) == ("bert", 1, False)


def test_a_shard_set_is_summed(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """All siblings count (F19), from whichever shard one starts."""
    paths = save_shards(tmp_path, "big", 3)
    facts = weights.inspect(str(paths[1]))
    assert facts.files == tuple(map(str, paths))
    assert facts.sizes == tuple(path.stat().st_size for path in paths)
    assert facts.parameters == 3 * 64 * 64
    assert facts == weights.inspect(str(tmp_path))


def test_a_relative_path_becomes_absolute(
    weights: DiskWeightFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row must hold wherever it is read from."""
    tiny().save(tmp_path / "m.gguf")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert weights.inspect("../m.gguf").files == (str(tmp_path.resolve() / "m.gguf"),)


def test_refusals_of_inspect(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Missing, not a model, an impossible path: a refusal each, never an OSError."""
    with pytest.raises(NotFound):
        weights.inspect(str(tmp_path / "gone" / "m-00001-of-00002.gguf"))
    with pytest.raises(NotFound):
        weights.inspect(str(tmp_path / "gone.gguf"))
    with pytest.raises(BadModelFile):
        weights.inspect("nul\0byte")
    with pytest.raises(BadModelFile, match="File name too long"):
        weights.inspect("/" + "x" * 300)
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(BadModelFile):
        weights.inspect(str(tmp_path / "text.gguf"))


def test_links_cost_nothing_and_keep_the_name_reversible(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """The same inode under the encoded name; shards keep their suffix."""
    path = tiny().save(tmp_path / "m.gguf")
    links, owned = weights.link("org/m:q4", (str(path),))
    assert (links, owned) == ((str(weights.folder / "org%2Fm%3Aq4.gguf"),), True)
    assert Path(links[0]).samefile(path)
    shards = tuple(map(str, save_shards(tmp_path, "whatever", 2)))
    links, owned = weights.link("big", shards)
    assert [Path(link).name for link in links] == ["big-00001-of-00002.gguf", "big-00002-of-00002.gguf"]
    assert weights.inspect(links[1]).digest == weights.inspect(shards[0]).digest


def test_a_symlink_is_linked_to_what_it_means(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Download caches name blobs by symlinks; a hardlink to the symlink would dangle when the cache is cleaned."""
    blob = tiny().save(tmp_path / "blobs" / "abc")
    name = tmp_path / "snapshot.gguf"
    name.symlink_to(blob)
    links, owned = weights.link("m", weights.inspect(str(name)).files)
    assert owned
    assert not Path(links[0]).is_symlink()
    assert Path(links[0]).samefile(blob)


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK])
def test_where_links_are_impossible_the_file_is_referred_to(
    weights: DiskWeightFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """D36, and never a copy: not even of the first shard, whose link was possible."""
    shards = tuple(map(str, save_shards(tmp_path, "m", 3)))
    real, calls = os.link, []

    def link(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(number, os.strerror(number))
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    assert weights.link("m", shards) == (shards, False)
    assert list(weights.folder.iterdir()) == []


def test_what_is_ours_is_moved_where_links_are_impossible(
    weights: DiskWeightFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was downloaded lies in the models folder afterwards, its encoder beside it; elsewhere it is linked."""
    came = tmp_path / "came"
    model, beside = str(tiny().save(came / "m.gguf")), ENCODER.save(came / "mmproj.gguf")
    assert weights.take("linked", (model,)) == (str(weights.folder / "linked.gguf"),)
    assert beside.exists()

    def link(source: str, target: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    moved = weights.take("m", (model,))
    assert moved == (str(weights.folder / "m.gguf"),)
    assert Path(weights.projector_file(moved)).exists()
    assert list(came.iterdir()) == []
    one, two = (str(tiny().save(came / name)) for name in ("a.safetensors", "b.json"))
    folder = weights.take("f", (one, two), ("a.safetensors", "sub/b.json"))
    assert folder == (str(weights.folder / "f" / "a.safetensors"), str(weights.folder / "f" / "sub" / "b.json"))
    again = str(tiny().save(came / "m.gguf"))
    with pytest.raises(Conflict):
        weights.take("m", (again,))
    shards = tuple(map(str, save_shards(came, "s", 2)))
    with pytest.raises(StoreTrouble):
        weights.take("s", (*shards, str(came / "gone.gguf")))
    assert all(Path(shard).exists() for shard in shards)


def test_a_second_shard_that_fails_takes_the_first_link_along(
    weights: DiskWeightFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set is linked whole or not at all, whatever stops it."""
    shards = tuple(map(str, save_shards(tmp_path, "m", 2)))
    real = os.link

    def link(source: str, target: str) -> None:
        if "00002" in target:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StoreTrouble, match="No space left on device"):
        weights.link("m", shards)
    assert list(weights.folder.iterdir()) == []
    assert all(Path(shard).exists() for shard in shards)


def test_a_foreign_file_in_the_way_is_left_alone(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Its owner decides; nothing of the set stays behind."""
    shards = tuple(map(str, save_shards(tmp_path, "m", 2)))
    weights.folder.mkdir(parents=True)
    foreign = weights.folder / "m-00002-of-00002.gguf"
    foreign.write_text("precious")
    with pytest.raises(Conflict, match="is in the way"):
        weights.link("m", shards)
    assert foreign.read_text() == "precious"
    assert list(weights.folder.iterdir()) == [foreign]


def test_a_file_put_into_the_models_folder_by_hand_stays_its_owners(weights: DiskWeightFiles) -> None:
    """It is referred to, so that `rm` cannot delete the only copy, however the path is spelled."""
    path = tiny().save(weights.folder / "m.gguf")
    assert weights.link("m", (str(path),)) == ((str(path),), False)
    door = weights.folder.parent / "door"
    door.symlink_to(weights.folder)
    assert weights.link("m", (str(door / "m.gguf"),)) == ((str(door / "m.gguf"),), False)


def test_an_import_that_did_not_end_is_picked_up(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """The link of last time is the link of this time."""
    path = str(tiny().save(tmp_path / "m.gguf"))
    assert weights.link("m", (path,)) == weights.link("m", (path,))


def test_a_file_that_vanished_is_not_found(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Between inspecting and linking."""
    with pytest.raises(NotFound, match=r"gone\.gguf"):
        weights.link("m", (str(tmp_path / "gone.gguf"),))


def test_only_links_inside_the_folder_are_deleted(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Not outside it, not below it, not by way of `..`."""
    outside = tiny().save(tmp_path / "m.gguf")
    below = tiny().save(weights.folder / "sub" / "m.gguf")
    (link,), _ = weights.link("m", (str(outside),))
    sneaky = str(weights.folder / ".." / "models" / "m.gguf")
    weights.unlink((str(outside), str(below), sneaky))
    assert outside.exists()
    assert below.exists()
    assert Path(link).exists()
    weights.unlink((link, link))
    assert not Path(link).exists()
    assert outside.exists()


def test_what_cannot_be_deleted_is_said(weights: DiskWeightFiles) -> None:
    """A folder of that name, say."""
    (weights.folder / "m.gguf").mkdir(parents=True)
    with pytest.raises(StoreTrouble, match=r"deleting .* failed"):
        weights.unlink((str(weights.folder / "m.gguf"),))


def test_the_shared_models_have_the_facts_they_were_made_with(weights: DiskWeightFiles) -> None:
    """A real embedding model and a scripted one."""
    facts = weights.inspect(str(shared("models/minilm-q8_0.gguf")))
    assert (facts.arch, facts.quant, facts.pooling, facts.ctx_train) == ("bert", "Q8_0", 1, 512)
    facts = weights.inspect(str(shared("models/scripted.gguf")))
    assert (facts.arch, facts.pooling, facts.template, facts.ctx_train) == ("llama", None, True, 1_048_576)
    for name in ("tiny-lora", "mmproj-64"):
        with pytest.raises(BadModelFile):
            weights.inspect(str(shared(f"models/{name}.gguf")))


def test_metadata_is_a_copy(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """The cached header cannot be changed through it."""
    path = str(Gguf(tiny().pairs, [Row("a")]).save(tmp_path / "m.gguf"))
    weights.metadata(path)["general.name"] = "changed"
    assert weights.metadata(path)["general.name"] == "Tiny"


def test_one_byte_in_the_middle_makes_another_file(tmp_path: Path) -> None:
    """The fingerprint samples both ends; whether two files are the same is read in full."""
    weights = DiskWeightFiles(tmp_path / "models")
    ours, theirs = tmp_path / "a.gguf", tmp_path / "b.gguf"
    content = bytes(3 << 20)
    ours.write_bytes(content)
    theirs.write_bytes(content)
    assert weights.same((str(ours),), (str(theirs),))
    theirs.write_bytes(content[: 3 << 19] + b"x" + content[(3 << 19) + 1 :])
    assert not weights.same((str(ours),), (str(theirs),))
    theirs.write_bytes(content + b"x")
    assert not weights.same((str(ours),), (str(theirs),))
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    with pytest.raises(BadModelFile):
        weights.same((str(tmp_path / "x"),), (str(tmp_path / "y"),))


ENCODER = Gguf(
    [("general.architecture", "clip"), ("clip.has_vision_encoder", True)],
    [Row("v.patch_embd.weight", (14, 14, 3, 64), 1)],
)


def test_a_projector_beside_a_model_comes_along(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Linked under the model's own name, found by it, taken along by a copy, and gone with the model."""
    source = tiny().save(tmp_path / "m.gguf")
    beside = ENCODER.save(tmp_path / "mmproj-F16.gguf")
    files, owned = weights.link("a", (str(source),))
    assert owned
    found = Path(weights.projector_file(files))
    assert found.parent == weights.folder
    assert found.samefile(beside)
    copied, _ = weights.link("b", files)
    assert Path(weights.projector_file(copied)).samefile(beside)
    weights.unlink(files)
    assert not found.exists()
    assert Path(weights.projector_file(copied)).samefile(beside)
    weights.unlink(copied)
    assert list(weights.folder.iterdir()) == []
    assert beside.exists()


def an_encoder(width: int) -> Gguf:
    """Whose last layer hands on so many numbers."""
    return Gguf([*ENCODER.pairs, ("clip.vision.projection_dim", width)], ENCODER.rows)


def test_among_several_models_an_encoder_has_to_be_the_models(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Named for nobody it needs a width, and the model's; what is named for one of them is no other's, however wide it is."""
    seer, other = (str(tiny().save(tmp_path / name)) for name in ("seer.gguf", "other.gguf"))
    nobody = ENCODER.save(tmp_path / "mmproj-F16.gguf")
    assert weights.projector_file((seer,)) == ""
    (tmp_path / "other.gguf").unlink()
    assert weights.projector_file((seer,)) == str(nobody)
    tiny().save(tmp_path / "other.gguf")
    width = weights.shape((seer,)).embedding
    nobody = an_encoder(width).save(nobody)
    assert weights.projector_file((other,)) == str(nobody)
    an_encoder(width + 64).save(nobody)
    assert weights.projector_file((other,)) == ""
    named = an_encoder(width).save(tmp_path / "mmproj-seer.gguf")
    assert (weights.projector_file((seer,)), weights.projector_file((other,))) == (str(named), "")


def test_a_projector_that_cannot_be_used_ends_no_import(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """The model is sound without."""
    source = tiny().save(tmp_path / "m.gguf")
    (tmp_path / "mmproj-m.gguf").write_bytes(b"no model at all")
    files, owned = weights.link("a", (str(source),))
    assert owned
    assert weights.projector_file(files) == ""
    assert [path.name for path in weights.folder.iterdir()] == ["a.gguf"]


FOLDER = ("a.gguf", "sub/b.json")


def _two(tmp_path: Path) -> tuple[str, str]:
    return str(tiny().save(tmp_path / "in" / "a.gguf")), str(tiny(blocks=3).save(tmp_path / "in" / "b.gguf"))


def test_nothing_of_anybody_elses_may_lie_in_a_models_folder(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Engines read all of it. What an import left that did not end is no stranger."""
    files = _two(tmp_path)
    folder = weights.folder / "m"
    (links, _) = weights.link("m", files, FOLDER)
    Path(links[0]).unlink()
    assert weights.link("m", files, FOLDER) == (links, True)
    (folder / "extra.safetensors").touch()
    with pytest.raises(Conflict, match=r"extra\.safetensors is in the way"):
        weights.link("m", files, FOLDER)
    weights.unlink(links, str(folder))
    assert [one.name for one in folder.iterdir()] == ["extra.safetensors"]


@pytest.mark.parametrize("kind", ["link", "file", "dangling"])
def test_the_place_of_a_models_folder_may_be_taken(weights: DiskWeightFiles, tmp_path: Path, kind: str) -> None:
    """By a symlink to somebody's own, or by a file: nothing is put there."""
    files = _two(tmp_path)
    weights.folder.mkdir(parents=True)
    place = weights.folder / "m"
    if kind == "file":
        place.touch()
    else:
        place.symlink_to(tmp_path / ("in" if kind == "link" else "nowhere"))
    with pytest.raises(Conflict, match="in the way"):
        weights.link("m", files, FOLDER)
    assert sorted(one.name for one in (tmp_path / "in").iterdir()) == ["a.gguf", "b.gguf"]


def test_a_folder_that_was_put_there_by_hand_stays_its_owners(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """With all that lies in it."""
    folder = weights.folder / "m"
    files = (str(tiny().save(folder / "a.gguf")), str(tiny().save(folder / "sub" / "b.json")))
    (folder / "README.md").touch()
    assert weights.link("m", files, FOLDER) == (files, False)


def test_a_second_file_that_fails_takes_folder_and_first_link_along(
    weights: DiskWeightFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a folder or nothing; what cannot be linked is referred to (D36)."""
    files, link = _two(tmp_path), os.link

    def second(source: str, target: str) -> None:
        if target.endswith("b.json"):
            raise OSError(errno.EMLINK, "Too many links")
        link(source, target)

    monkeypatch.setattr(os, "link", second)
    assert weights.link("m", files, FOLDER) == (files, False)
    assert not (weights.folder / "m").exists()


def test_a_path_that_leads_out_of_a_models_folder_is_left_alone(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """By dots, by another model's folder, by a folder that is none of ours."""
    links, _ = weights.link("m", _two(tmp_path), FOLDER)
    outside = tiny().save(tmp_path / "out.gguf")
    folder = str(weights.folder / "m")
    weights.unlink((str(outside), f"{folder}/../m/a.gguf", f"{folder}/../../../out.gguf"), folder)
    weights.unlink(links, str(weights.folder / "n"))
    weights.unlink((str(outside),), str(tmp_path))
    weights.unlink(links, str(weights.folder))
    assert outside.exists()
    assert weights.missing(links) is None


def test_a_disk_that_takes_nothing_is_told_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is downloaded; one that may be written to is left as it is."""

    def touch(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    DiskWeightFiles(tmp_path / "models").check_writable()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(StoreTrouble, match=r"models.*Read-only"):
        DiskWeightFiles(tmp_path / "models").check_writable()
