"""What was pulled becomes a row: projectors, drafts, and what of an older version goes."""

import asyncio
import tomllib
from pathlib import Path

import pytest

from blazar.adapters.files.overlays import DiskOverlays
from blazar.application.models.copy_model import CopyModel
from blazar.application.models.pulling import Wish
from blazar.application.models.remove_model import RemoveModel
from blazar.application.supervise.launch_plan import parts_beside
from blazar.domain import teaching
from blazar.domain.errors import Malformed, NotFound
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Role, Words
from blazar.domain.records import Model
from tests.fakes.clock import FakeClock
from tests.support.gguf_files import Gguf, Row, tiny
from tests.support.pull_rig import PullRig
from tests.support.safetensors_files import OVIS, QWEN, TAE, safetensors

REF = "hf:owner/Tiny-GGUF:F16"
BYTES = tiny(blocks=4).build()
SMALL = tiny(blocks=1)
FILE = (Role.WEIGHTS, "Tiny-F16.gguf", BYTES)
ENCODER = Gguf(
    [("general.architecture", "clip"), ("clip.has_vision_encoder", True)],
    [Row("v.patch_embd.weight", (14, 14, 3, 64), 1)],
)
SIGHT = (Role.PROJECTOR, "mmproj-F16.gguf", ENCODER.build())


@pytest.fixture
def rig(tmp_path: Path) -> PullRig:
    rig = PullRig(tmp_path)
    rig.offers(REF, [FILE])
    return rig


def _pulled(rig: PullRig, wish: Wish | str) -> Model:
    model = rig.pull(wish).model
    assert model is not None
    return model


def _remove(rig: PullRig, name: str) -> None:
    asyncio.run(RemoveModel(rig.catalog, rig.weights, None, rig.overlays)(name))


def _copy(rig: PullRig, source: str, target: str) -> Model:
    return CopyModel(rig.catalog, rig.weights, FakeClock(), rig.overlays)(source, target)


def _draft(rig: PullRig, data: bytes = b"") -> Wish:
    rig.offers("hf:owner/small/draft.gguf", [(Role.WEIGHTS, "draft.gguf", data or SMALL.build())])
    return Wish(REF, draft="hf:owner/small/draft.gguf")


def test_a_projector_lies_beside_the_weights_and_goes_with_them(rig: PullRig) -> None:
    """One that is gone is fetched again; one that is there is not."""
    rig.offers(REF, [FILE, SIGHT])
    model = _pulled(rig, REF)
    beside = Path(rig.weights.projector_file(model.files))
    assert beside.read_bytes() == ENCODER.build()
    assert rig.pull(REF).fresh is False
    beside.unlink()
    assert rig.pull(REF).fresh
    assert rig.fetched == ["mmproj-F16.gguf"]
    _copy(rig, model.name, "alias")
    _remove(rig, model.name)
    assert rig.weights.projector_file(rig.catalog.list_models()[0].files)
    _remove(rig, "alias")
    assert rig.lying("models") == set()


def test_a_projector_that_does_not_belong_is_told_of(rig: PullRig) -> None:
    """The model serves text without it."""
    foreign = Gguf([*ENCODER.pairs, ("clip.vision.projection_dim", 4096)], ENCODER.rows)
    rig.offers(REF, [FILE, (Role.PROJECTOR, "mmproj.gguf", foreign.build())])
    pulled = rig.pull(REF)
    assert pulled.notes == (teaching.pull_projector_left("tiny-f16"),)
    assert len(rig.lying("models")) == 1


def test_a_draft_is_linked_for_its_model_and_found_by_its_launch(rig: PullRig) -> None:
    """It is no model of the catalog; copies have a link of their own, and the last of them takes it away."""
    model = _pulled(rig, _draft(rig))
    assert [row.name for row in rig.catalog.list_models()] == [model.name]
    assert Path(model.draft).read_bytes() == SMALL.build()
    beside = parts_beside(model)
    assert (beside.draft, beside.draft_family) == (model.draft, "simple")
    alias = _copy(rig, model.name, "alias")
    assert alias.origin == model.origin
    assert alias.draft != model.draft
    assert Path(alias.draft).samefile(model.draft)
    _remove(rig, model.name)
    assert Path(alias.draft).exists()
    _remove(rig, "alias")
    assert rig.lying("models") == set()


def test_a_draft_that_comes_later_fetches_the_draft_alone(rig: PullRig) -> None:
    """And a pull that does not speak of it leaves it where it is, even when the model is renewed."""
    _pulled(rig, REF)
    with_draft = _pulled(rig, _draft(rig))
    assert rig.fetched == ["draft.gguf"]
    assert rig.pull(REF).fresh is False
    assert rig.pull(_draft(rig)).fresh is False
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", tiny(blocks=5).build())])
    after = _pulled(rig, REF)
    assert after.draft == with_draft.draft
    assert Path(after.draft).exists()
    assert rig.pull(_draft(rig)).fresh is False


def test_a_newer_draft_takes_the_place_of_the_older(rig: PullRig) -> None:
    """By what is in it."""
    before = _pulled(rig, _draft(rig))
    after = _pulled(rig, _draft(rig, tiny(blocks=2).build()))
    assert rig.fetched == ["draft.gguf"]
    assert after.draft != before.draft
    assert not Path(before.draft).exists()
    assert Path(after.draft).read_bytes() == tiny(blocks=2).build()


@pytest.mark.parametrize(("arch", "family"), [("eagle3", "eagle3"), ("dflash", "dflash"), ("gemma4-assistant", "mtp")])
def test_heads_for_one_model_are_told_by_their_architecture(rig: PullRig, arch: str, family: str) -> None:
    """They have no vocabulary that could differ."""
    heads = Gguf([("general.architecture", arch)], SMALL.rows)
    model = _pulled(rig, _draft(rig, heads.build()))
    assert parts_beside(model).draft_family == family


def test_a_draft_of_another_vocabulary_is_left_out_with_a_sentence(rig: PullRig) -> None:
    """The model itself is there."""
    foreign = SMALL.having(tokenizer__ggml__model="gpt2")
    pulled = rig.pull(_draft(rig, foreign.build()))
    ref = "hf:owner/small/draft.gguf"
    assert pulled.notes == (teaching.pull_draft_at_odds("tiny-f16", ref, "tokenizer.ggml.model"),)
    assert pulled.model is not None
    assert pulled.model.draft == ""
    assert len(rig.lying("models")) == 1


def test_a_draft_is_smaller_than_its_model(rig: PullRig) -> None:
    """Else it is not even fetched."""
    pulled = rig.pull(_draft(rig, tiny(blocks=9).build()))
    assert pulled.notes == (teaching.pull_draft_no_smaller("tiny-f16", "hf:owner/small/draft.gguf"),)
    assert rig.fetched == ["Tiny-F16.gguf"]


def test_a_draft_is_one_gguf_file_for_a_gguf_model(rig: PullRig) -> None:
    """Told before the first byte; so is one that is not there."""
    rig.offers("hf:owner/none", [(Role.FOLDER, "config.json", b"{}")])
    with pytest.raises(Malformed, match="no single GGUF"):
        rig.pull(Wish(REF, draft="hf:owner/none"))
    with pytest.raises(Malformed, match="no GGUF model"):
        rig.pull(Wish("hf:owner/none", draft=REF))
    with pytest.raises(NotFound):
        rig.pull(Wish(REF, draft="hf:owner/gone:Q8_0"))
    assert rig.fetched == []


def test_the_draft_of_a_known_family_is_found_by_itself(rig: PullRig) -> None:
    """Whatever is wrong with it is a sentence: the model comes all the same."""
    unknown = rig.pull(Wish(REF, draft="auto"))
    assert unknown.notes == (teaching.pull_draft_unknown("tiny-f16"),)
    rig.offers("hf:owner/Qwen3-8B-GGUF:F16", [FILE])
    lacking = rig.pull(Wish("hf:owner/Qwen3-8B-GGUF:F16", draft="auto"))
    assert "without its draft hf:Qwen/Qwen3-0.6B-GGUF:Q8_0" in lacking.notes[0]
    rig.offers("hf:Qwen/Qwen3-0.6B-GGUF:Q8_0", [(Role.WEIGHTS, "Qwen3-0.6B-Q8_0.gguf", SMALL.build())])
    found = rig.pull(Wish("hf:owner/Qwen3-8B-GGUF:F16", draft="auto"))
    assert found.notes == ()
    assert found.model is not None
    assert found.model.draft


def test_a_file_in_the_way_that_is_nobody_s_is_passed_by(rig: PullRig, tmp_path: Path) -> None:
    """Gigabytes were fetched: a file that somebody left in the models folder does not make that vain, and is not touched."""
    theirs = tmp_path / "models" / "tiny-f16.gguf"
    theirs.parent.mkdir()
    theirs.write_bytes(b"theirs")
    model = _pulled(rig, REF)
    assert theirs.read_bytes() == b"theirs"
    assert Path(model.files[0]).read_bytes() == BYTES


def test_what_was_laid_over_a_model_goes_and_is_carried_with_it(rig: PullRig) -> None:
    """An alias has an overlay of its own."""
    rig.offers("ollama:tiny", [FILE], Words(system="Be brief."))
    _pulled(rig, "ollama:tiny")
    _copy(rig, "tiny", "alias")
    _remove(rig, "tiny")
    assert rig.overlays.find("tiny") is None
    overlay = rig.overlays.find("alias")
    assert overlay is not None
    assert overlay.system == "Be brief."


def test_the_files_of_a_set_go_with_its_last_alias(rig: PullRig, tmp_path: Path) -> None:
    """Each alias has links of its own to all of them, in a folder of its own."""
    main = safetensors(tmp_path / "made/ovis.safetensors", OVIS).read_bytes()
    rig.offers("hf:owner/Ovis/ovis.safetensors", [(Role.WEIGHTS, "ovis.safetensors", main)])
    parts = {"tae": TAE, "llm": QWEN}
    for role, tensors in parts.items():
        data = safetensors(tmp_path / f"made/{role}.safetensors", tensors).read_bytes()
        rig.offers(f"hf:owner/parts/{role}.safetensors", [(Role.WEIGHTS, f"{role}.safetensors", data)])
    wish = Wish(
        "hf:owner/Ovis/ovis.safetensors", parts=tuple((role, f"hf:owner/parts/{role}.safetensors") for role in parts)
    )
    model = _pulled(rig, wish)
    alias = _copy(rig, model.name, "alias")
    _remove(rig, model.name)
    assert not rig.weights.missing(alias.files)
    assert [role for role, _ in alias.components] == ["diffusion_model", "tae", "llm"]
    _remove(rig, "alias")
    assert rig.lying("models") == set()


def test_an_adapter_stays_when_the_models_that_it_is_laid_over_go(rig: PullRig) -> None:
    """It is no model's own: several may be laid over with it."""
    lora = Gguf([("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")], SMALL.rows)
    rig.offers("hf:owner/lora/a.gguf", [(Role.ADAPTER, "a.gguf", lora.build())])
    path = rig.pull("hf:owner/lora/a.gguf").path
    model = _pulled(rig, REF)
    rig.overlays.keep(model.name, Overlay(adapters=(path,)), {"loras": [path]})
    _remove(rig, model.name)
    assert Path(path).exists()
    assert rig.overlays.find(model.name) is None


def test_an_update_leaves_what_a_person_set(rig: PullRig, tmp_path: Path) -> None:
    """Theirs wins over what the registry says now, a sentence names it, and a failure afterwards changes nothing of it."""
    config = tmp_path / "config.toml"
    rig.overlays = DiskOverlays(tmp_path / "overlays", config)
    rig.offers("ollama:tiny", [FILE], Words(parameters={"num_ctx": 512, "top_k": 1}))
    _pulled(rig, "ollama:tiny")
    config.write_text(config.read_text().replace("ctx = 512", "ctx = 1024"))
    rig.offers("ollama:tiny", [FILE], Words(parameters={"num_ctx": 2048, "top_k": 2}))
    pulled = rig.pull("ollama:tiny")
    assert pulled.fresh
    assert pulled.notes == (teaching.pull_settings_kept("tiny", ["ctx"]),)
    (override,) = tomllib.loads(config.read_text())["model_overrides"].values()
    assert override == {"ctx": 1024, "extra_args": ["--top-k", "2"]}


def test_words_that_say_nothing_leave_what_a_person_laid_over_it(rig: PullRig) -> None:
    """An update of the weights takes nobody's system prompt away."""
    model = _pulled(rig, REF)
    rig.overlays.keep(model.name, Overlay(system="mine"), {})
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", tiny(blocks=5).build())])
    assert rig.pull(REF).fresh
    overlay = rig.overlays.find(model.name)
    assert overlay is not None
    assert overlay.system == "mine"
