"""Of all files of a repository those that one model is made of."""

import pytest

from blazar.adapters.net.hub_parcels import Contents, chosen
from blazar.adapters.net.huggingface import _offers
from blazar.application.ports.remote import RemoteFile
from blazar.domain.errors import BadWeights, ChoiceOpen, NotFound
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef

REF = RemoteRef("hf", "me/m")


def contents(*paths: str, sizes: dict[str, int] | None = None) -> Contents:
    files = {path: RemoteFile(path, (sizes or {}).get(path, 1000), f"/{path}") for path in paths}
    return Contents(files, tuple(_offers(files)))


def pulled(there: Contents, ref: RemoteRef = REF) -> list[tuple[Role, str, str]]:
    return [(part.role, part.file.name, part.path) for part in chosen(ref, there, None).parts]


def test_the_only_model_needs_no_quantisation() -> None:
    """There is nothing to choose."""
    found = chosen(REF, contents("README.md", "m-Q8_0.gguf"), None)
    assert [part.file.name for part in found.parts] == ["m-Q8_0.gguf"]
    assert (found.quant, found.notes) == ("Q8_0", ())


def test_several_are_a_choice() -> None:
    """With the bytes of each, to be told with what fits."""
    with pytest.raises(ChoiceOpen) as refused:
        chosen(REF, contents("m-Q8_0.gguf", "m-Q4_0.gguf", sizes={"m-Q8_0.gguf": 8000}), None)
    assert [choice[:2] for choice in refused.value.choices] == [("Q8_0", 8000), ("Q4_0", 1000)]


def test_shards_and_projector_are_one_unit() -> None:
    """Weights first, in shard order; of several projectors F16, and that is said."""
    there = contents(
        "mmproj-m-BF16.gguf",
        "BF16/m-BF16-00002-of-00002.gguf",
        "mmproj-m-F16.gguf",
        "BF16/m-BF16-00001-of-00002.gguf",
    )
    found = chosen(REF, there, None)
    assert [(part.role, part.file.name) for part in found.parts] == [
        (Role.WEIGHTS, "BF16/m-BF16-00001-of-00002.gguf"),
        (Role.WEIGHTS, "BF16/m-BF16-00002-of-00002.gguf"),
        (Role.PROJECTOR, "mmproj-m-F16.gguf"),
    ]
    (note,) = found.notes
    assert "mmproj-m-F16.gguf is taken (mmproj-m-BF16.gguf" in note


def test_shards_that_lack_are_refused_before_the_first_byte() -> None:
    """Of either format."""
    with pytest.raises(NotFound, match="lacks 1 of its shards"):
        chosen(REF, contents("m-Q8_0-00001-of-00002.gguf"), None)
    with pytest.raises(NotFound, match="lacks 1 of its shards"):
        chosen(REF, contents("config.json", "model-00001-of-00002.safetensors"), None)


def test_a_folder_keeps_its_names() -> None:
    """Engines find them by those; weights first. MLX repositories look the same."""
    there = contents("tokenizer.json", "config.json", "model.safetensors", "pytorch_model.bin", "README.md")
    assert pulled(there) == [
        (Role.FOLDER, "model.safetensors", "model.safetensors"),
        (Role.FOLDER, "config.json", "config.json"),
        (Role.FOLDER, "tokenizer.json", "tokenizer.json"),
    ]


def test_gguf_goes_before_safetensors() -> None:
    """And it is said that there was both."""
    found = chosen(REF, contents("m.gguf", "config.json", "model.safetensors"), None)
    assert [part.file.name for part in found.parts] == ["m.gguf"]
    assert "safetensors, too" in found.notes[0]


def test_adapters() -> None:
    """As GGUF, or one file of safetensors for models that draw; neither is a model's weights."""
    assert pulled(contents("story-lora-F16.gguf")) == [(Role.ADAPTER, "story-lora-F16.gguf", "")]
    there, file = contents("pixel-lora.safetensors"), "pixel-lora.safetensors"
    assert chosen(REF._replace(file=file), there, None).parts[0].role is Role.ADAPTER


@pytest.mark.parametrize("file", ["", "adapter_model.safetensors", "step-100/adapter_model.safetensors"])
def test_a_folder_of_peft_is_refused_before_its_first_byte(file: str) -> None:
    """No engine here lays it over a model, in whatever words it is asked for; what makes a GGUF file of it is named."""
    folders = ("", "step-100/")
    names = [f"{folder}{name}" for folder in folders for name in ("adapter_config.json", "adapter_model.safetensors")]
    with pytest.raises(NotFound, match=r"convert_lora_to_gguf\.py"):
        chosen(REF._replace(file=file), contents("README.md", "tokenizer.json", *names), None)


def test_one_checkpoint_of_an_image_model() -> None:
    """Beside the folders of its pipeline; several are a choice of files."""
    folders = ("model_index.json", "unet/model.safetensors", "vae/model.safetensors")
    assert pulled(contents("sd.safetensors", *folders)) == [(Role.WEIGHTS, "sd.safetensors", "")]
    with pytest.raises(ChoiceOpen, match=r"hf:me/m/sd\.safetensors") as refused:
        chosen(REF, contents("sd.safetensors", "sd-vae.safetensors", *folders), None)
    assert [choice[0] for choice in refused.value.choices] == ["sd.safetensors", "sd-vae.safetensors"]


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("model_index.json", "unet/model.safetensors"), "set of folders for the diffusers library"),
        (("README.md",), "no weights that are served here"),
        (("config.json", "pytorch_model.bin"), "no weights that are served here"),
        ((), "no weights that are served here"),
    ],
)
def test_nothing_to_serve_is_a_sentence(paths: tuple[str, ...], words: str) -> None:
    """That says what to look for."""
    with pytest.raises(NotFound, match=words):
        chosen(REF, contents(*paths), None)


def test_a_tag_means_gguf() -> None:
    """A folder has no quantisations to choose."""
    with pytest.raises(NotFound, match="no GGUF file"):
        chosen(REF._replace(tag="Q4_0"), contents("config.json", "model.safetensors"), None)


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        ("m-Q4_0.gguf", [(Role.WEIGHTS, "m-Q4_0.gguf", ""), (Role.PROJECTOR, "mmproj-F16.gguf", "")]),
        ("M-q4_0.GGUF", [(Role.WEIGHTS, "m-Q4_0.gguf", ""), (Role.PROJECTOR, "mmproj-F16.gguf", "")]),
        ("mmproj-F16.gguf", [(Role.PROJECTOR, "mmproj-F16.gguf", "")]),
        ("m-lora.gguf", [(Role.ADAPTER, "m-lora.gguf", "")]),
        ("vae/ae.safetensors", [(Role.WEIGHTS, "vae/ae.safetensors", "")]),
        ("style-lora.safetensors", [(Role.ADAPTER, "style-lora.safetensors", "")]),
        (
            "s-Q8_0-00002-of-00002.gguf",
            [
                (Role.WEIGHTS, "s-Q8_0-00001-of-00002.gguf", ""),
                (Role.WEIGHTS, "s-Q8_0-00002-of-00002.gguf", ""),
                (Role.PROJECTOR, "mmproj-F16.gguf", ""),
            ],
        ),
        (
            "model.safetensors",
            [(Role.FOLDER, "model.safetensors", "model.safetensors"), (Role.FOLDER, "config.json", "config.json")],
        ),
    ],
)
def test_one_file_comes_with_what_it_cannot_be_without(file: str, parts: list[tuple[Role, str, str]]) -> None:
    """In any case of letters: shards with their set, a folder's weights with the folder."""
    there = contents(
        "m-Q4_0.gguf",
        "s-Q8_0-00001-of-00002.gguf",
        "s-Q8_0-00002-of-00002.gguf",
        "mmproj-F16.gguf",
        "m-lora.gguf",
        "vae/ae.safetensors",
        "style-lora.safetensors",
        "config.json",
        "model.safetensors",
    )
    assert pulled(there, REF._replace(file=file)) == parts


def test_a_file_that_is_not_there_names_those_that_are() -> None:
    """Weights only."""
    with pytest.raises(NotFound, match=r"has no file x\.gguf; it has m\.gguf$"):
        chosen(REF._replace(file="x.gguf"), contents("m.gguf", "README.md"), None)


def test_a_folder_of_data_is_no_model() -> None:
    """Refused before it is fetched: too many files, or one that no model has beside it."""
    many = [f"part-{number}.json" for number in range(300)]
    with pytest.raises(BadWeights, match="256"):
        chosen(REF, contents("config.json", "model.safetensors", *many), None)
    with pytest.raises(BadWeights, match=r"me/m/data\.json"):
        chosen(REF, contents("config.json", "model.safetensors", "data.json", sizes={"data.json": 65 << 20}), None)
