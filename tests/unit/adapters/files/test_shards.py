"""Which files belong to a model."""

from pathlib import Path

import pytest

from blazar.adapters.files.shards import files_of, models_in
from blazar.domain.errors import Malformed
from blazar.domain.weight_names import shard_name


def _touch(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize("given", ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf", ""])
def test_any_shard_or_the_folder_means_the_set(tmp_path: Path, given: str) -> None:
    """In shard order; a projector beside the model is not a second model."""
    names = [shard_name("m", number, 3) for number in (1, 2, 3)]
    _touch(tmp_path, *reversed(names), "mmproj-F16.gguf", "README.md")
    assert files_of(tmp_path / given) == tuple(tmp_path / name for name in names)


def test_a_single_file_stands_alone(tmp_path: Path) -> None:
    """Whatever its suffix: the header decides what it is."""
    _touch(tmp_path, "sha256-abc", "other.gguf")
    assert files_of(tmp_path / "sha256-abc") == (tmp_path / "sha256-abc",)


def test_an_incomplete_set_names_what_is_missing(tmp_path: Path) -> None:
    """And at most eight of them."""
    _touch(tmp_path, "m-00002-of-00003.gguf", "n-00001-of-00099.gguf")
    with pytest.raises(Malformed, match=r"missing m-00001-of-00003\.gguf, m-00003-of-00003\.gguf$"):
        files_of(tmp_path / "m-00002-of-00003.gguf")
    with pytest.raises(Malformed, match=r"and 90 more$"):
        files_of(tmp_path / "n-00001-of-00099.gguf")


@pytest.mark.parametrize(("number", "total"), [(4, 3), (0, 3), (1, 0)])
def test_a_shard_outside_its_set_is_refused(tmp_path: Path, number: int, total: int) -> None:
    """Index above total, index zero, a set of none."""
    name = shard_name("m", number, total)
    _touch(tmp_path, name)
    with pytest.raises(Malformed, match=f"calls itself shard {number} of {total}"):
        files_of(tmp_path / name)


def test_a_folder_must_hold_exactly_one_model(tmp_path: Path) -> None:
    """None and two are both said, with the names to choose from."""
    _touch(tmp_path / "none", "README.md", "mmproj-f16.gguf")
    _touch(tmp_path / "two", "a.gguf", "b.gguf")
    with pytest.raises(Malformed, match=r"holds no \.gguf file"):
        files_of(tmp_path / "none")
    with pytest.raises(Malformed, match=r"more than one model: name one of a\.gguf, b\.gguf"):
        files_of(tmp_path / "two")


def test_safetensors_are_in_nobodys_way(tmp_path: Path) -> None:
    """The GGUF file of a folder is found among them."""
    _touch(tmp_path, "model-00001-of-00002.safetensors", "config.json", "m.gguf")
    assert files_of(tmp_path) == (tmp_path / "m.gguf",)


def test_models_are_told_by_their_first_file() -> None:
    """In the order of the names; projectors and files of other kinds are none."""
    names = ["b-00002-of-00002.gguf", "b-00001-of-00002.gguf", "a.gguf", "mmproj-a.gguf", "c.safetensors"]
    assert models_in(names) == ["a.gguf", "b-00001-of-00002.gguf"]
