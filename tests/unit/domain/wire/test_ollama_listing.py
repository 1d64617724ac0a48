"""What ollama clients list."""

from typing import Any

import pytest

from blazar.domain.kinds import Weights
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Origin
from blazar.domain.records import Model
from blazar.domain.wire.ollama_listing import Running, Shown, format_of, human_count, judged_tags, ps, show, tags
from blazar.domain.wire.stamps import FOREVER


def model(**changes: Any) -> Model:
    facts: dict[str, Any] = {
        "name": "smol",
        "files": ("/m/smol.gguf",),
        "sizes": (98, 2),
        "weights": Weights.GGUF,
        "arch": "llama",
        "quant": "Q4_1",
        "parameters": 134_515_008,
        "ctx_train": 2048,
        "embedding_length": 576,
        "pooling": None,
        "template": True,
        "owned": True,
        "digest": "ab" * 32,
        "imported_at": 1_800_000_000.0,
    }
    return Model(**{**facts, **changes})


def test_a_judged_list_says_the_same_and_more() -> None:
    """Row by row."""
    (plain,) = tags([model()])["models"]
    assert judged_tags([(model(), "fits", "")]) == {"models": [{**plain, "fit": "fits", "lane": ""}]}


def test_show_says_where_a_model_was_pulled_from() -> None:
    """Ours; nothing of it about one that was imported, and no secret of an address."""
    origin = Origin("https://files.example/smol.gguf?sig=secret", "ab")
    assert show(model(origin=origin), Shown({}))["pulled_from"] == "https://files.example/smol.gguf"
    assert "pulled_from" not in show(model(), Shown({}))


DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "134.5M",
    "quantization_level": "Q4_1",
}


def test_tags() -> None:
    """Every field that clients read, and an empty list for no models (B17)."""
    assert tags([]) == {"models": []}
    entry = {
        "name": "smol",
        "model": "smol",
        "modified_at": "2027-01-15T08:00:00.000000Z",
        "size": 100,
        "digest": "ab" * 32,
        "details": DETAILS,
    }
    assert tags([model()]) == {"models": [entry]}


def test_ps() -> None:
    """Sizes are whole bytes (B20); a model that stays expires far away, never in the past."""
    told = ps([Running(model(), 120, 20, 1_800_000_060.0, 4096), Running(model(name="b"), 1, 0, None, 512)])["models"]
    assert told[0]["expires_at"] == "2027-01-15T08:01:00.000000Z"
    assert (told[0]["size"], told[0]["size_vram"], told[0]["context_length"]) == (120, 20, 4096)
    assert told[0]["details"] == DETAILS
    assert (told[1]["name"], told[1]["expires_at"]) == ("b", FOREVER)


def test_show() -> None:
    """Metadata, template, capabilities; a licence only where there is one."""
    overlay = Overlay(parameters={"stop": ["x"]})
    facts = Shown({"general.architecture": "llama"}, "{{ m }}", ("completion", "tools"), overlay=overlay)
    told = show(model(), facts)
    assert told["model_info"] == {"general.architecture": "llama"}
    assert (told["template"], told["parameters"], told["capabilities"]) == (
        "{{ m }}",
        f'{"stop":<30} "x"',
        ["completion", "tools"],
    )
    assert told["modelfile"] == "FROM /m/smol.gguf\nPARAMETER stop x\n"
    assert show(model(), Shown({}))["modelfile"] == "FROM /m/smol.gguf\n"
    assert told["details"] == DETAILS
    assert "license" not in told
    assert show(model(), facts._replace(license="MIT"))["license"] == "MIT"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (24_000, "24K"),
        (134_515_008, "134.5M"),
        (8_030_261_248, "8.0B"),
        (1_200_000_000_000, "1.2T"),
    ],
)
def test_parameter_counts(number: int, text: str) -> None:
    """As model cards write them."""
    assert human_count(number) == text


@pytest.mark.parametrize(
    ("weights", "file", "said"),
    [
        (Weights.GGUF, "/m/a.gguf", "gguf"),
        (Weights.SAFETENSORS, "/m/a.safetensors", "safetensors"),
        (Weights.QUANTIZED, "/m/a.safetensors", "safetensors"),
        (Weights.MLX_QUANT, "/m/a.safetensors", "mlx"),
        (Weights.DIFFUSION, "/m/a.safetensors", "safetensors"),
        (Weights.DIFFUSION, "/m/a.GGUF", "gguf"),
        (Weights.DIFFUSION, "/m/a.ckpt", "ckpt"),
    ],
)
def test_the_format_is_how_weights_are_stored(weights: Weights, file: str, said: str) -> None:
    """In ollama's words where it has one."""
    assert format_of(model(weights=weights, files=(file,))) == said
    assert format_of(model(weights=Weights.DIFFUSION, files=())) == "safetensors"
