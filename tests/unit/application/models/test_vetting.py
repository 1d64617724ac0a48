"""What cannot serve is refused before it comes where its header tells, and not kept where it is broken in its repository."""

from pathlib import Path

import pytest

from blazar.application.models.pulling import Wish
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, BrokenThere, Malformed
from blazar.domain.parcels import Role
from tests.support.gguf_files import Gguf, Row, tiny
from tests.support.pull_rig import PullRig
from tests.support.safetensors_files import OVIS, QWEN, TAE, VAE, safetensors

MAIN = "hf:owner/Ovis/ovis.safetensors"
PARTS = {"tae": TAE, "llm": QWEN}
GGUF = "hf:owner/Tiny-GGUF:F16"


@pytest.fixture
def rig(tmp_path: Path) -> PullRig:
    rig = PullRig(tmp_path / "data")
    offer(rig, MAIN, safetensors(tmp_path / "made/ovis.safetensors", OVIS).read_bytes())
    for role, tensors in PARTS.items():
        data = safetensors(tmp_path / f"made/{role}.safetensors", tensors).read_bytes()
        offer(rig, f"hf:owner/parts/{role}.safetensors", data)
    return rig


def offer(rig: PullRig, reference: str, data: bytes, name: str = "") -> None:
    """A file whose front can be read where it lies."""
    name = name or reference.rpartition("/")[2]
    rig.offers(reference, [(Role.WEIGHTS, name, data)])
    rig.registry.fronts[name] = data


def whole() -> Wish:
    return Wish(MAIN, parts=tuple((role, f"hf:owner/parts/{role}.safetensors") for role in PARTS))


def refused(rig: PullRig, wish: Wish | str) -> BlazarError:
    with pytest.raises(BlazarError) as caught:
        rig.pull(wish)
    return caught.value


def test_a_diffusion_model_without_its_parts_is_refused_before_the_first_byte(rig: PullRig) -> None:
    """And the sentence is one of a pull."""
    error = refused(rig, MAIN)
    assert isinstance(error, Malformed)
    assert str(error) == teaching.pull_parts_missing(MAIN, "ovis_image", ["vae or tae", "llm"])
    assert f"blazar pull {MAIN} --with vae=REF (or --with tae=REF) --with llm=REF" in str(error)
    assert rig.fetched == []


def test_a_gguf_checkpoint_is_looked_into_where_its_name_says_that_it_may_draw(rig: PullRig) -> None:
    """A language model costs no request more."""
    flux = Gguf([("general.architecture", "flux")], [Row("double_blocks.0.img_attn.proj.weight", (4, 4), 0)]).build()
    offer(rig, "hf:owner/Flux-GGUF:Q4_0", flux, "flux1-Q4_0.gguf")
    error = refused(rig, "hf:owner/Flux-GGUF:Q4_0")
    assert str(error) == teaching.pull_parts_missing(
        "hf:owner/Flux-GGUF:Q4_0", "flux", ["vae or tae", "clip_l", "t5xxl"]
    )
    assert rig.fetched == []
    offer(rig, GGUF, tiny().build(), "Tiny-F16.gguf")
    assert rig.pull(GGUF).fresh
    assert rig.registry.opened == ["flux1-Q4_0.gguf"]


def test_what_is_there_counts_when_it_is_renewed(rig: PullRig, tmp_path: Path) -> None:
    """A newer checkpoint needs no part that an earlier pull brought."""
    assert rig.pull(whole()).fresh
    newer = safetensors(tmp_path / "made/newer/ovis.safetensors", {**OVIS, "more.weight": ("F16", (2, 2))}).read_bytes()
    offer(rig, MAIN, newer)
    assert rig.pull(MAIN).fresh


def test_a_header_that_cannot_be_read_ahead_is_judged_when_it_is_here(rig: PullRig) -> None:
    """In the same words; what came waits for the same pull with the parts."""
    rig.registry.fronts.clear()
    assert str(refused(rig, MAIN)) == teaching.pull_parts_missing(MAIN, "ovis_image", ["vae or tae", "llm"])
    rig.pull(whole())
    assert "ovis.safetensors" not in rig.fetched


def test_a_part_that_is_another_is_told_by_its_reference_before_the_first_byte(rig: PullRig) -> None:
    """With the words that name it rightly; where its header cannot be read ahead, in the same words afterwards."""
    tae = "hf:owner/parts/tae.safetensors"
    wish = Wish(MAIN, parts=(("vae", tae), ("llm", "hf:owner/parts/llm.safetensors")))
    told = teaching.part_is_another(tae, "vae", "tae")
    assert f"name it --with tae={tae}" in told
    error = refused(rig, wish)
    assert isinstance(error, Malformed)
    assert (str(error), error.field, rig.fetched) == (told, "with", [])
    rig.registry.fronts.clear()
    assert str(refused(rig, wish)) == told
    assert "tae.safetensors" in rig.fetched


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("role", ["tae", "llm"])
def test_a_part_alone_is_told_of_as_what_it_was_asked_for(rig: PullRig, role: str, ahead: bool) -> None:
    """No hidden path, whatever the sentence; what is a part for sure does not come at all."""
    reference = f"hf:owner/parts/{role}.safetensors"
    if not ahead:
        rig.registry.fronts.clear()
    error = refused(rig, reference)
    assert str(rig.data) not in str(error)
    assert reference in str(error)
    if role == "tae":
        assert str(error) == teaching.part_alone(reference, "tae")
        assert bool(rig.fetched) is not ahead


@pytest.mark.parametrize("names", [("a", "b"), ("a", "v", "w"), ("llm",), ("x/llm",)])
def test_a_folder_that_cannot_serve_is_told_of_by_its_reference(
    rig: PullRig, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Two models, parts of which none is meant, nothing that describes it: none of the sentences knows where it lies."""
    tensors = {"a": OVIS, "b": OVIS, "v": VAE, "w": VAE, "llm": QWEN, "x/llm": QWEN}
    made = [(name, safetensors(tmp_path / "made" / f"{name[-3:]}.safetensors", tensors[name])) for name in names]
    rig.offers("hf:owner/Folder", [(Role.FOLDER, f"{name}.safetensors", file.read_bytes()) for name, file in made])
    error = refused(rig, "hf:owner/Folder")
    assert str(error).startswith("hf:owner/Folder holds ")
    assert str(rig.data) not in str(error)


def test_a_file_that_is_broken_in_its_repository_is_not_kept(rig: PullRig) -> None:
    """It is what its registry promised: no hidden path, no advice to download it again, nothing left."""
    offer(rig, GGUF, tiny(blocks=4).build()[:-4000], "Tiny-F16.gguf")
    error = refused(rig, GGUF)
    assert isinstance(error, BrokenThere)
    assert str(error).startswith(f"Tiny-F16.gguf of {GGUF} came as its registry has it, and cannot be used: ")
    assert str(rig.data) not in str(error)
    assert "incomplete" not in str(error)
    assert not {name for name in rig.lying("downloads") if name.endswith(".gguf")}
    assert rig.catalog.list_models() == []


@pytest.mark.parametrize("here", [True, False])
def test_a_language_model_with_parts_is_refused_before_the_first_byte(rig: PullRig, here: bool) -> None:
    """Whether it is here already or not: nothing is fetched to be dropped."""
    offer(rig, GGUF, tiny().build(), "Tiny-F16.gguf")
    if here:
        rig.pull(GGUF)
    error = refused(rig, Wish(GGUF, parts=(("tae", "hf:owner/parts/tae.safetensors"),)))
    assert (str(error), rig.fetched) == (teaching.parts_of_no_set(GGUF), [])


def test_what_came_along_goes_with_it(rig: PullRig, tmp_path: Path) -> None:
    """Nobody comes back for it."""
    data = safetensors(tmp_path / "made/llm.safetensors", QWEN).read_bytes()
    offer(rig, "hf:owner/parts/llm.safetensors", data[:-1])
    error = refused(rig, whole())
    assert str(error).startswith("llm.safetensors of hf:owner/parts/llm.safetensors came")
    assert not {name for name in rig.lying("downloads") if name.endswith(".safetensors")}
