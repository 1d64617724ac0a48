"""What was pulled becomes a row: projectors, drafts, and what of an older version goes."""

import asyncio
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest

from blazar.adapters.files.overlays import DiskOverlays
from blazar.adapters.files.placements import DiskPlacements
from blazar.application.models.copy_model import CopyModel
from blazar.application.models.name_turns import LoopTurns, NameTurns
from blazar.application.models.pulling import Step, Wish
from blazar.application.models.remove_model import RemoveModel
from blazar.application.supervise.launch_plan import parts_beside
from blazar.domain import teaching
from blazar.domain.errors import Busy, Malformed, NotFound, StoreTrouble
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


def test_a_draft_is_brought_up_to_date_along_with_its_model(rig: PullRig) -> None:
    """Nobody has to say again what came once: by the reference that it came by, whether the model is newer as well or not."""
    before = _pulled(rig, _draft(rig))
    _draft(rig, newer := tiny(blocks=2).build())
    after = _pulled(rig, REF)
    assert rig.fetched == ["draft.gguf"]
    assert Path(after.draft).read_bytes() == newer
    assert not Path(before.draft).exists()
    assert rig.pull(REF).fresh is False
    _draft(rig, newest := SMALL.build() + b"\0" * 32)
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", tiny(blocks=7).build())])
    assert Path(_pulled(rig, REF).draft).read_bytes() == newest
    assert rig.pull(REF).fresh is False


def test_a_draft_that_cannot_be_looked_at_keeps_nothing_back(rig: PullRig) -> None:
    """Its model is brought up to date, it stays, and a sentence says so; it is looked at again the next time."""
    before = _pulled(rig, _draft(rig))
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", tiny(blocks=7).build())])
    gone = rig.registry.parcels.pop("hf:owner/small/draft.gguf")
    pulled = rig.pull(REF)
    assert pulled.model is not None
    assert (pulled.fresh, pulled.model.draft) == (True, before.draft)
    assert Path(before.draft).exists()
    (note,) = pulled.notes
    assert note.startswith("the draft of tiny-f16 stays as it is, hf:owner/small/draft.gguf could not be looked at: ")
    rig.registry.parcels["hf:owner/small/draft.gguf"] = gone
    _draft(rig, newer := tiny(blocks=2).build())
    assert Path(_pulled(rig, REF).draft).read_bytes() == newer


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


def test_who_removes_waits_for_no_download(rig: PullRig) -> None:
    """It goes through while an update comes, which is a new model then: row, words and links are of one version."""
    rig.offers(REF, [FILE], Words(system="old"))
    rig.pull(REF)
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", SMALL.build())], Words(system="new"))
    turns = LoopTurns(NameTurns(lambda: rig.landing), FakeClock())

    def met(_: object) -> None:
        asyncio.run(RemoveModel(rig.catalog, rig.weights, None, rig.overlays, turns)("tiny-f16"))
        assert rig.lying("models") == set()

    rig.downloads.met = met
    model = _pulled(rig, REF)
    assert rig.catalog.list_models() == [model]
    assert Path(model.files[0]).read_bytes() == SMALL.build()
    assert rig.overlays.find("tiny-f16") == Overlay(system="new")


def test_who_enters_waits_for_who_changes_the_name(rig: PullRig) -> None:
    """Says so, and looks again at what is there then."""
    rig.offers(REF, [FILE], Words(system="old"))
    rig.pull(REF)
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", SMALL.build())], Words(system="new"))
    held = ExitStack()
    rig.downloads.met = lambda _: held.enter_context(NameTurns(lambda: rig.landing)("tiny-f16"))
    told = list[str]()

    def heard(step: Step) -> None:
        rig.steps.append(step)
        if step.note == teaching.pull_waits_name("tiny-f16"):
            told.append(step.note)
            _remove(rig, "tiny-f16")
            held.close()

    pulled = rig.make()(Wish(REF), heard)
    assert pulled.model is not None
    assert rig.catalog.list_models() == [pulled.model]
    assert rig.overlays.find("tiny-f16") == Overlay(system="new")
    assert rig.lying("models") == {Path(pulled.model.files[0]).name}
    assert (len(told), pulled.notes) == (1, ())


def test_a_removal_that_finds_another_version_takes_that(rig: PullRig) -> None:
    """Judged when its turn is ours: no link of it stays behind, whichever was there when it was asked for."""
    rig.pull(REF)
    (seen,) = rig.catalog.list_models()
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", SMALL.build())])
    rig.pull(REF)
    assert not rig.catalog.remove_model("tiny-f16", seen)
    _remove(rig, "tiny-f16")
    assert (rig.catalog.list_models(), rig.lying("models")) == ([], set())


def test_a_copy_of_what_is_being_entered_is_of_one_version(rig: PullRig) -> None:
    """It waits, or is refused: weights of the one and words of the other are no model."""
    rig.pull(REF)
    turns = NameTurns(lambda: rig.landing)
    copy = CopyModel(rig.catalog, rig.weights, FakeClock(), rig.overlays, turns)
    with turns("tiny-f16"), pytest.raises(Busy):
        copy("TINY-F16", "e")
    assert copy("tiny-f16", "e").name == "e"


def test_words_that_went_away_are_laid_again(rig: PullRig) -> None:
    """A model without what its registry says of it is not complete; its weights are not fetched again. A person's own words stay."""
    rig.offers(REF, [FILE], Words(system="Be brief.", licence="MIT"))
    rig.pull(REF)
    assert rig.pull(REF).fresh is False
    rig.overlays.forget("tiny-f16")
    assert (rig.pull(REF).fresh, rig.fetched) == (True, [])
    assert rig.overlays.find("tiny-f16") == Overlay(system="Be brief.")
    rig.overlays.keep("tiny-f16", Overlay(system="Mine."), {})
    assert rig.pull(REF).fresh is False
    assert rig.overlays.find("tiny-f16") == Overlay(system="Mine.")


def test_words_that_say_nothing_here_are_no_lack(rig: PullRig) -> None:
    """Else it would be entered anew at each pull."""
    rig.offers(REF, [FILE], Words(parameters={"odd": 1}, licence="MIT"))
    rig.pull(REF)
    assert rig.pull(REF).fresh is False


@pytest.mark.parametrize("which", ["weights", "placements", "overlays"])
def test_what_may_not_be_written_is_told_before_the_first_byte(
    rig: PullRig, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models, notes, words: an hour of download ends in none of them. What is there already needs no place."""

    def refuse(*_: object) -> None:
        raise StoreTrouble("read-only")

    rig.offers(REF, [FILE], Words(system="Be brief."))
    rig.pull(REF)
    kinds = {"weights": type(rig.weights), "placements": DiskPlacements, "overlays": type(rig.overlays)}
    monkeypatch.setattr(kinds[which], "check_writable", refuse)
    assert rig.pull(REF).fresh is False
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", SMALL.build())], Words(system="new"))
    with pytest.raises(StoreTrouble, match="read-only"):
        rig.pull(REF)
    assert rig.fetched == []
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", SMALL.build())], Words(licence="MIT"))
    if which == "overlays":
        assert rig.pull(REF).fresh  # it says nothing that would be laid over it
