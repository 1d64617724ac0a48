"""Diffusion models on disk."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from blazar.adapters.files.drawings import (
    MOST_FILES,
    facts_of_set,
    look_at,
    metadata_of_drawing,
    set_in,
    vet_part_source,
    vet_source,
)
from blazar.application.ports.remote import RemoteFile
from blazar.domain.errors import BadModelFile, BadWeights, Malformed, NotFound, PartsMissing, PartsOfNoSet, WrongPart
from blazar.domain.kinds import Weights
from tests.fakes.remote import MemorySource
from tests.support.gguf_files import Gguf, Row, tiny
from tests.support.safetensors_files import CHECKPOINT, OVIS, QWEN, TAE, VAE, safetensors, torch_zip


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, str]:
    tensors = {"ovis": OVIS, "tae": TAE, "vae": VAE, "qwen": QWEN}
    return {name: str(safetensors(tmp_path / f"{name}.safetensors", rows)) for name, rows in tensors.items()}


def test_a_set_is_its_main_file_and_its_parts(parts: dict[str, str]) -> None:
    """In the order of the roles, however they were named; each with its role."""
    facts = facts_of_set(look_at(parts["ovis"]), [("llm", parts["qwen"]), ("vae", parts["vae"])])
    assert facts.weights is Weights.DIFFUSION
    assert (facts.arch, facts.quant, facts.stem) == ("ovis_image", "F16", "ovis")
    assert facts.components == (("diffusion_model", parts["ovis"]), ("vae", parts["vae"]), ("llm", parts["qwen"]))
    assert facts.files == tuple(path for _, path in facts.components)
    assert facts.sizes == tuple(Path(file).stat().st_size for file in facts.files)
    assert facts.parameters == 32 + 36 + 32
    assert not facts.template


def test_roles_are_part_of_the_fingerprint(parts: dict[str, str]) -> None:
    """The same files in other places draw other pictures."""
    main, own = look_at(parts["ovis"]), Path(parts["ovis"]).with_name("own.safetensors")
    decoder = str(safetensors(own, {"a_decoder_of_another_make.weight": ("F16", (2, 2))}))
    one = facts_of_set(main, [("vae", decoder), ("llm", parts["qwen"])])
    other = facts_of_set(main, [("tae", decoder), ("llm", parts["qwen"])])
    assert one.digest != other.digest


def test_a_whole_checkpoint_needs_nothing(tmp_path: Path) -> None:
    """As safetensors, as GGUF whose header names no architecture, as PyTorch wrote it."""
    files = [
        safetensors(tmp_path / "a.safetensors", CHECKPOINT),
        Gguf(rows=[Row(name, (4, 4)) for name in CHECKPOINT]).save(tmp_path / "b.gguf"),
        torch_zip(tmp_path / "c.ckpt", list(CHECKPOINT)),
    ]
    for file in files:
        facts = facts_of_set(look_at(str(file)), ())
        assert facts.components == (("model", str(file)),)
        assert facts.arch == "sd1"


def test_a_bare_model_says_what_it_lacks(parts: dict[str, str]) -> None:
    """With the words that bring it."""
    with pytest.raises(
        Malformed, match=r"lacks llm\. Name the files: blazar import .*ovis.safetensors --with llm=PATH"
    ):
        facts_of_set(look_at(parts["ovis"]), [("tae", parts["tae"])])


def test_a_part_that_is_not_there_is_told_before_one_that_lacks(parts: dict[str, str]) -> None:
    """Else somebody would look for the other file first."""
    with pytest.raises(NotFound, match="nope"):
        facts_of_set(look_at(parts["ovis"]), [("vae", "/nope")])


def test_only_diffusion_models_have_parts(parts: dict[str, str], tmp_path: Path) -> None:
    """A language model is none, nor is a part; a family of tomorrow is believed to whoever names its decoder."""
    text = str(tiny().save(tmp_path / "text.gguf"))
    for main in (text, parts["qwen"], parts["vae"]):
        with pytest.raises(Malformed, match="is no diffusion model"):
            facts_of_set(look_at(main), [("vae", parts["vae"]), ("llm", parts["qwen"])])
    new = str(safetensors(tmp_path / "new.safetensors", {"unheard.of.weight": ("F16", (2, 2))}))
    assert facts_of_set(look_at(new), [("vae", parts["vae"])]).arch == "diffusion"
    with pytest.raises(Malformed, match="is no diffusion model"):
        facts_of_set(look_at(new), [("llm", parts["qwen"])])


def test_a_part_that_cannot_be_read_is_named_with_its_role(parts: dict[str, str], tmp_path: Path) -> None:
    """Missing, empty, a folder."""
    main = look_at(parts["ovis"])
    empty = tmp_path / "empty.safetensors"
    empty.touch()
    with pytest.raises(BadWeights, match="to be the part vae, but it is empty"):
        facts_of_set(main, [("vae", str(empty)), ("llm", parts["qwen"])])
    with pytest.raises(NotFound):
        facts_of_set(main, [("vae", str(tmp_path / "gone.safetensors")), ("llm", parts["qwen"])])
    with pytest.raises(BadWeights):
        facts_of_set(main, [("vae", str(tmp_path)), ("llm", parts["qwen"])])


def test_names_that_clash_carry_their_role(tmp_path: Path) -> None:
    """Files of several folders share one of ours; on some file systems case does not tell names apart."""
    main = safetensors(tmp_path / "a" / "model.safetensors", OVIS)
    vae = safetensors(tmp_path / "b" / "Model.safetensors", VAE)
    llm = safetensors(tmp_path / "c" / "llm.safetensors", QWEN)
    facts = facts_of_set(look_at(str(main)), [("vae", str(vae)), ("llm", str(llm))])
    assert facts.names == ("model.safetensors", "vae-Model.safetensors", "llm.safetensors")


def test_a_folder_is_one_set(parts: dict[str, str], tmp_path: Path) -> None:
    """Each file is told by its tensors, none by its name; the folder names it."""
    facts = set_in(tmp_path, ["ovis.safetensors", "tae.safetensors", "qwen.safetensors"])
    assert facts is not None
    assert [role for role, _ in facts.components] == ["diffusion_model", "tae", "llm"]
    assert facts.stem == tmp_path.name


def test_a_folder_without_a_diffusion_model_is_no_set(parts: dict[str, str], tmp_path: Path) -> None:
    """Nor is one with too many files to look at."""
    assert set_in(tmp_path, ["tae.safetensors", "qwen.safetensors"]) is None
    assert set_in(tmp_path, ["ovis.safetensors"] * (MOST_FILES + 1)) is None


def test_what_does_not_fit_together_is_asked_about(parts: dict[str, str], tmp_path: Path) -> None:
    """Two models, two files for one part, a part that this family has no use for."""
    safetensors(tmp_path / "two.safetensors", OVIS)
    with pytest.raises(Malformed, match="nothing says which"):
        set_in(tmp_path, ["ovis.safetensors", "two.safetensors"])
    safetensors(tmp_path / "vae2.safetensors", VAE)
    with pytest.raises(Malformed, match=r"not clear: vae\.safetensors, vae2\.safetensors"):
        set_in(tmp_path, ["ovis.safetensors", "qwen.safetensors", "vae.safetensors", "vae2.safetensors"])
    safetensors(tmp_path / "flux.safetensors", {"double_blocks.0.img_mod.lin.weight": ("F16", (2, 2))})
    with pytest.raises(Malformed, match=r"not clear: qwen\.safetensors"):
        set_in(tmp_path, ["flux.safetensors", "vae.safetensors", "qwen.safetensors"])


def test_metadata_say_what_it_draws_with(parts: dict[str, str]) -> None:
    """By the keys of a GGUF."""
    assert metadata_of_drawing(parts["ovis"])["general.architecture"] == "ovis_image"


def test_a_gguf_without_tensors_is_none(tmp_path: Path) -> None:
    """As everywhere."""
    with pytest.raises(BadModelFile, match="no tensors"):
        look_at(str(Gguf([("general.architecture", "flux")]).save(tmp_path / "m.gguf")))


def test_a_part_in_the_place_of_another(parts: dict[str, str], tmp_path: Path) -> None:
    """Told at the import: the engine would only say that tensors are missing. A checkpoint may lend its decoder."""
    main, whole = look_at(parts["ovis"]), str(safetensors(tmp_path / "sd.safetensors", CHECKPOINT))
    for role, path, said in (
        ("llm", parts["tae"], "by its tensors it is the part tae"),
        ("llm", parts["ovis"], "it is a diffusion model itself"),
        ("llm", whole, "it is a diffusion model itself"),
        ("tae", parts["qwen"], "it is the part llm"),
        ("vae", parts["ovis"], "it is a diffusion model itself"),
        ("vae", parts["tae"], "it is the part tae: name it --with tae="),
        ("tae", parts["vae"], "it is the part vae: name it --with vae="),
        ("high_noise_diffusion_model", parts["vae"], "it is the part vae"),
    ):
        given = {"tae": parts["tae"], "llm": parts["qwen"], role: path}
        given = given if role != "vae" else {name: given[name] for name in ("vae", "llm")}
        with pytest.raises(Malformed, match=f"cannot be the part {role}: .*{said}"):
            facts_of_set(main, list(given.items()))
    assert facts_of_set(main, [("vae", whole), ("llm", parts["qwen"])]).components[1] == ("vae", whole)


def test_a_decoder_that_lacks_is_named_with_both_of_its_roles(parts: dict[str, str]) -> None:
    """Either draws; which of the two a file is, its owner knows."""
    with pytest.raises(Malformed, match=r"--with vae=PATH \(or --with tae=PATH\)"):
        facts_of_set(look_at(parts["ovis"]), [("llm", parts["qwen"])])


@pytest.mark.parametrize(
    ("name", "roles", "lacks"), [("ovis", (), True), ("ovis", ("vae", "llm"), False), ("llm", (), False)]
)
def test_a_checkpoint_elsewhere_says_what_it_lacks(
    tmp_path: Path, name: str, roles: Sequence[str], lacks: bool
) -> None:
    """By its header alone; a part of a set lacks nothing, and a file that ends within its header cannot be judged."""
    data = safetensors(tmp_path / f"{name}.safetensors", OVIS if name == "ovis" else QWEN).read_bytes()
    file = RemoteFile(f"{name}.safetensors", len(data), "")
    with pytest.raises(PartsMissing) if lacks else nullcontext():
        vet_source(MemorySource(file, data), roles)
    with pytest.raises(BadWeights):
        vet_source(MemorySource(file._replace(size=20), data), roles)


def elsewhere(path: Path) -> MemorySource:
    data = path.read_bytes()
    return MemorySource(RemoteFile(path.name, len(data), ""), data)


@pytest.mark.parametrize(
    ("role", "name", "part"),
    [
        ("vae", "tae", "tae"),
        ("tae", "vae", "vae"),
        ("llm", "ovis", "model"),
        ("t5xxl", "llm", "llm"),
        ("llm", "llm", ""),
    ],
)
def test_a_part_elsewhere_says_which_it_is(tmp_path: Path, role: str, name: str, part: str) -> None:
    """By its header alone, as it is judged when it is here."""
    tensors = {"tae": TAE, "vae": VAE, "ovis": OVIS, "llm": QWEN}[name]
    path = safetensors(tmp_path / f"{name}.safetensors", tensors)
    with pytest.raises(WrongPart) if part else nullcontext() as caught:
        vet_part_source(elsewhere(path), role)
    if caught is not None:
        assert (caught.value.role, caught.value.part) == (role, part)


def test_a_gguf_part_elsewhere_says_which_it_is(tmp_path: Path) -> None:
    """Text encoders are published as GGUF, too; what no header is read of is judged when it is here."""
    encoder = Gguf([("general.architecture", "t5encoder")], [Row("enc.blk.0.attn_q.weight", (4, 4), 0)])
    path = encoder.save(tmp_path / "t5.gguf")
    vet_part_source(elsewhere(path), "t5xxl")
    with pytest.raises(WrongPart):
        vet_part_source(elsewhere(path), "clip_l")
    vet_part_source(elsewhere(torch_zip(tmp_path / "c.ckpt", list(CHECKPOINT))), "vae")


def test_a_part_elsewhere_is_no_model_by_itself(tmp_path: Path) -> None:
    """Unless parts are named with it: then it may be a family that nothing here knows."""
    path = safetensors(tmp_path / "vae.safetensors", VAE)
    with pytest.raises(WrongPart):
        vet_source(elsewhere(path), ())
    vet_source(elsewhere(path), ("llm", "tae"))


def test_a_language_model_elsewhere_has_no_parts(tmp_path: Path) -> None:
    """Whatever its file is called: a registry of layers gives it no ending. Without parts nobody asks."""
    path = tiny().save(tmp_path / "m.gguf")
    vet_source(elsewhere(path), ())
    with pytest.raises(PartsOfNoSet):
        vet_source(elsewhere(path), ("vae",))
    with pytest.raises(PartsOfNoSet):
        vet_source(elsewhere(path.rename(tmp_path / "weights")), ("vae",))
