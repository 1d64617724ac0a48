"""From a reference to a row: what is fetched, what is there already, and what a pull that fails leaves behind."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blazar.application.models.arrivals import KEY, artefact_of_parcel
from blazar.application.models.pulling import DONE, MANIFEST, VERIFYING, WRITING, Pulled, Wish
from blazar.application.models.slots import Slot
from blazar.application.ports.downloads import Wanted
from blazar.domain import teaching
from blazar.domain.errors import (
    BadModelFile,
    BadName,
    Busy,
    Conflict,
    Forbidden,
    Malformed,
    NotFound,
    RegistryTrouble,
    StoreTrouble,
)
from blazar.domain.parcels import Role, Words
from blazar.domain.records import Model
from blazar.domain.references import client_name
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.support.gguf_files import Gguf, save_shards, tiny
from tests.support.pull_rig import PullRig
from tests.support.safetensors_files import OVIS, QWEN, TAE, model_folder, safetensors

REF = "hf:owner/Tiny-GGUF:F16"
NAME = "tiny-f16"
BYTES = tiny().build()
NEWER = tiny(extra={"general.name": "Newer"}).build()
FILE = (Role.WEIGHTS, "Tiny-F16.gguf", BYTES)


@pytest.fixture
def rig(tmp_path: Path) -> PullRig:
    rig = PullRig(tmp_path)
    rig.offers(REF, [FILE])
    return rig


def _model(pulled: Pulled) -> Model:
    assert pulled.model is not None
    return pulled.model


def test_a_pull_is_a_verified_file_a_link_and_a_row(rig: PullRig) -> None:
    """The row knows where it came from; of the download nothing is left."""
    pulled = rig.pull(REF)
    model = _model(pulled)
    assert pulled.fresh
    assert (model.name, model.owned, model.quant) == (NAME, True, "F16")
    assert rig.catalog.list_models() == [model]
    assert Path(model.files[0]).read_bytes() == BYTES
    assert model.origin is not None
    assert model.origin.reference == REF
    assert rig.lying("downloads") == set()
    assert rig.registry.closed == 1


def test_steps_are_ollama_s_in_ollama_s_order(rig: PullRig) -> None:
    """Of each file what is there never becomes less; the success is last."""
    rig.pull(REF)
    assert [step.status for step in rig.steps if not step.digest] == [MANIFEST, VERIFYING, WRITING, DONE]
    told = [step for step in rig.steps if step.digest]
    assert {step.status for step in told} == {f"pulling {told[0].digest.removeprefix('sha256:')[:12]}"}
    assert [step.completed for step in told] == sorted(step.completed for step in told)
    assert (told[-1].completed, told[-1].total, told[-1].file) == (len(BYTES), len(BYTES), "Tiny-F16.gguf")
    assert rig.steps[-1].status == DONE


def test_a_registry_that_is_waited_for_is_told(rig: PullRig) -> None:
    """Under the status of that moment, when it happens; what a pull came to says nothing of it."""
    rig.registry.pauses = ["asking again in 3 s", "asking again in 5 s"]
    pulled = rig.pull(REF)
    assert [(step.status, step.note) for step in rig.steps[:4]] == [
        (MANIFEST, ""),
        (MANIFEST, "asking again in 3 s"),
        (MANIFEST, "asking again in 5 s"),
        (*rig.steps[3][:1], ""),
    ]
    assert rig.steps[3].digest
    assert pulled.notes == ()


def test_the_same_again_fetches_nothing(rig: PullRig) -> None:
    """The artefact is the same: no file is asked for, and clients see the steps all the same."""
    before = _model(rig.pull(REF))
    again = rig.pull(REF)
    assert (again.model, again.fresh, rig.fetched) == (before, False, [])
    assert [step.status for step in rig.steps if not step.digest] == [MANIFEST, VERIFYING, WRITING, DONE]
    assert [step.completed for step in rig.steps if step.digest] == [len(BYTES)]
    assert rig.lying("downloads") == set()


def test_a_newer_version_takes_the_place_of_the_older(rig: PullRig) -> None:
    """Its links lie beside the older ones until the row has changed; a child that reads those keeps them open."""
    before = _model(rig.pull(REF))
    with Path(before.files[0]).open("rb") as child:
        rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", NEWER)])
        after = _model(rig.pull(REF))
        assert child.read() == BYTES
    assert rig.catalog.list_models() == [after]
    assert after.digest != before.digest
    assert Path(after.files[0]).read_bytes() == NEWER
    assert rig.lying("models") == {Path(after.files[0]).name}
    assert rig.pull(REF).fresh is False


def test_what_another_model_has_already_is_not_fetched_again(rig: PullRig) -> None:
    """Two tags of one blob, as ollama's library has many."""
    first = _model(rig.pull(REF))
    rig.offers("ollama:tiny:latest", [(Role.WEIGHTS, "model", BYTES)])
    second = _model(rig.pull("ollama:tiny:latest"))
    assert (second.name, rig.fetched) == ("tiny", [])
    assert Path(first.files[0]).samefile(second.files[0])


def test_a_file_that_went_away_is_fetched_again(rig: PullRig) -> None:
    """The row is there, its bytes are not: that is no model."""
    model = _model(rig.pull(REF))
    Path(model.files[0]).unlink()
    again = rig.pull(REF)
    assert (again.fresh, rig.fetched) == (True, ["Tiny-F16.gguf"])
    assert Path(_model(again).files[0]).read_bytes() == BYTES


def test_a_name_that_is_another_model_s_is_refused_before_the_first_byte(rig: PullRig) -> None:
    """Whether that one was imported or pulled from elsewhere; `--name` is the way out."""
    rig.catalog.add_model(a_model(NAME))
    with pytest.raises(Conflict, match="--name"):
        rig.pull(REF)
    assert rig.fetched == []
    assert _model(rig.pull(Wish(REF, name="mine"))).name == "mine"
    rig.offers("hf:owner/Other-GGUF:F16", [(Role.WEIGHTS, "Other.gguf", NEWER)])
    with pytest.raises(Conflict, match="exists already"):
        rig.pull(Wish("hf:owner/Other-GGUF:F16", name="mine"))


def test_a_wrong_name_is_told_at_once(rig: PullRig) -> None:
    """No registry is asked."""
    with pytest.raises(BadName):
        rig.pull(Wish(REF, name="a#1"))
    assert rig.steps == []


def test_h8_a_disk_that_is_too_small_is_told_before_the_first_byte(rig: PullRig) -> None:
    """Of the whole parcel; nothing that came earlier is deleted (case H8)."""
    rig.disk.room = len(BYTES) - 1
    with pytest.raises(StoreTrouble, match="not enough space"):
        rig.pull(REF)
    assert rig.fetched == []
    rig.disk.error = OSError("it does not say")
    assert rig.pull(REF).fresh


def test_what_came_already_needs_no_room(rig: PullRig) -> None:
    """A partial file takes its blocks already, and a finished shard lies there."""
    rig.downloads.fails[next(iter(rig.downloads.content))] = RegistryTrouble("the line is cut")
    with pytest.raises(RegistryTrouble):
        rig.pull(REF)
    rig.disk.room = len(BYTES) - 1  # the rest fits
    assert rig.pull(REF).fresh


def _shards(folder: Path, total: int = 3) -> list[tuple[Role, str, bytes]]:
    return [(Role.WEIGHTS, path.name, path.read_bytes()) for path in save_shards(folder, "Big", total)]


def test_h5_a_pull_of_several_files_goes_on_where_it_ended(rig: PullRig, tmp_path: Path) -> None:
    """Shards that are there are not asked for again (case H5)."""
    shards = _shards(tmp_path / "made")
    rig.offers("hf:owner/Big-GGUF:F16", shards)
    last = next(at for at in rig.downloads.content if at.endswith("00003-of-00003.gguf"))
    rig.downloads.fails[last] = RegistryTrouble("the line is cut")
    with pytest.raises(RegistryTrouble, match="cut"):
        rig.pull("hf:owner/Big-GGUF:F16")
    assert rig.catalog.list_models() == []
    pulled = rig.pull("hf:owner/Big-GGUF:F16")
    assert rig.fetched == ["Big-00003-of-00003.gguf"]
    assert len(_model(pulled).files) == 3
    assert rig.lying("downloads") == set()


def test_of_an_update_only_what_changed_is_fetched(rig: PullRig, tmp_path: Path) -> None:
    """The other shards are linked from the version that is there."""
    rig.offers("hf:owner/Big-GGUF:F16", _shards(tmp_path / "made"))
    rig.pull("hf:owner/Big-GGUF:F16")
    newer = [
        (Role.WEIGHTS, path.name, path.read_bytes()) for path in save_shards(tmp_path / "newer", "Big", 3, noise=9)
    ]
    rig.offers("hf:owner/Big-GGUF:F16", [*_shards(tmp_path / "made")[:2], newer[2]])
    rig.pull("hf:owner/Big-GGUF:F16")
    assert rig.fetched == ["Big-00003-of-00003.gguf"]
    assert len(rig.lying("models")) == 3


@pytest.mark.parametrize(
    "spelling", ["hf:owner/Tiny-GGUF:F16", "owner/Tiny-GGUF:F16", "https://huggingface.co/owner/Tiny-GGUF:F16"]
)
def test_every_spelling_is_one_model(rig: PullRig, spelling: str) -> None:
    """The second is told that it is there."""
    rig.pull(REF)
    with suppress(Malformed):
        assert rig.pull(spelling).fresh is False


def test_two_references_to_the_same_files_are_one_model(rig: PullRig) -> None:
    """A quantisation, and the file that it is."""
    rig.pull(Wish(REF, name="mine"))
    rig.offers("hf:owner/Tiny-GGUF/Tiny-F16.gguf", [FILE])
    assert rig.pull(Wish("hf:owner/Tiny-GGUF/Tiny-F16.gguf", name="mine")).fresh is False


def test_a_short_name_is_looked_for_in_each_of_its_spellings(rig: PullRig) -> None:
    """A dash before a size is a colon in ollama's library; who has neither hears of what was said."""
    rig.offers("ollama:tiny:0.6b", [FILE])
    assert _model(rig.pull("tiny-0.6b")).name == "tiny-0.6b"
    with pytest.raises(NotFound, match=r"other-0\.6b"):
        rig.pull("other-0.6b")


def test_what_a_registry_says_beside_the_weights_is_an_overlay(rig: PullRig) -> None:
    """Template, system prompt and parameters, as `create` lays them; the licence is the row's."""
    words = Words(
        template="{{ .System }}|{{ .Prompt }}|", system="Be brief.", parameters={"temperature": 0.5}, licence="MIT"
    )
    rig.offers("ollama:tiny", [FILE], words)
    model = _model(rig.pull("ollama:tiny"))
    overlay = rig.overlays.find(model.name)
    assert overlay is not None
    assert (overlay.system, overlay.parameters) == ("Be brief.", {"temperature": 0.5})
    assert model.origin is not None
    assert model.origin.licence == "MIT"


def test_words_that_cannot_be_said_here_are_told_of(rig: PullRig) -> None:
    """The template inside the weights serves instead; what can be said is."""
    words = Words(template="{{ range .Messages }}{{ .Content }}{{ end }}", parameters={"stop": ["</s>"], "odd": 1})
    rig.offers("ollama:tiny", [FILE], words)
    pulled = rig.pull("ollama:tiny")
    assert pulled.notes == (teaching.pull_template_left(), teaching.pull_parameters_left(("odd",)))
    assert [step.note for step in rig.steps if step.note] == list(pulled.notes)
    overlay = rig.overlays.find("tiny")
    assert overlay is not None
    assert (overlay.template, overlay.parameters) == ("", {"stop": ["</s>"]})


def test_other_words_are_another_version_and_fetch_nothing(rig: PullRig) -> None:
    """Of a parcel whose files are there only the overlay changes."""
    rig.offers("ollama:tiny", [FILE], Words(system="one"))
    rig.pull("ollama:tiny")
    rig.offers("ollama:tiny", [FILE], Words(system="two"))
    assert rig.pull("ollama:tiny").fresh
    overlay = rig.overlays.find("tiny")
    assert overlay is not None
    assert (overlay.system, rig.fetched) == ("two", [])
    rig.offers("ollama:tiny", [FILE], Words(system="two", licence="another"))
    assert rig.pull("ollama:tiny").fresh is False


def test_files_of_a_folder_lie_together_under_their_names(rig: PullRig, tmp_path: Path) -> None:
    """Safetensors as engines are given them."""
    made = model_folder(tmp_path / "made")
    files = [(Role.FOLDER, path.name, path.read_bytes()) for path in sorted(made.iterdir())]
    rig.offers("hf:owner/Folder", files)
    model = _model(rig.pull("hf:owner/Folder"))
    assert model.folder == str(tmp_path / "models" / "folder")
    assert rig.lying("models") == {f"folder/{path.name}" for path in made.iterdir()}
    assert rig.pull("hf:owner/Folder").fresh is False


@pytest.mark.parametrize(
    "path", ["../up", "a/../b", "/etc/x", "a\\b", "nul\0", ".hidden", "x.part", "", "a//b", "x" * 300]
)
def test_a_name_that_leads_out_of_its_folder_is_refused(rig: PullRig, path: str) -> None:
    """Before anything is fetched, whatever a registry let through."""
    rig.offers("hf:owner/Folder", [(Role.FOLDER, "config.json", b"{}"), (Role.FOLDER, path or "/", b"x")])
    with pytest.raises(RegistryTrouble, match="nothing was downloaded"):
        rig.pull("hf:owner/Folder")
    assert rig.lying("") == set()


def test_a_set_that_draws_is_put_together_from_several_references(rig: PullRig, tmp_path: Path) -> None:
    """Each part by its role; pulled again without them, they stay."""
    main = safetensors(tmp_path / "made/ovis.safetensors", OVIS).read_bytes()
    tae = safetensors(tmp_path / "made/tae.safetensors", TAE).read_bytes()
    llm = safetensors(tmp_path / "made/qwen.safetensors", QWEN).read_bytes()
    rig.offers("hf:owner/Ovis/ovis.safetensors", [(Role.WEIGHTS, "ovis.safetensors", main)])
    rig.offers("hf:owner/parts/tae.safetensors", [(Role.WEIGHTS, "tae.safetensors", tae)])
    rig.offers("hf:owner/parts/qwen.safetensors", [(Role.WEIGHTS, "qwen.safetensors", llm)])
    wish = Wish(
        "hf:owner/Ovis/ovis.safetensors",
        parts=(("taesd", "hf:owner/parts/tae.safetensors"), ("llm", "hf:owner/parts/qwen.safetensors")),
    )
    with pytest.raises(Malformed, match="llm"):
        rig.pull(wish._replace(parts=()))
    model = _model(rig.pull(wish))
    assert rig.fetched == ["tae.safetensors", "qwen.safetensors"]
    assert [role for role, _ in model.components] == ["diffusion_model", "tae", "llm"]
    assert rig.pull(wish).fresh is False
    assert rig.pull(wish.reference).fresh is False
    newer = safetensors(tmp_path / "made/newer.safetensors", OVIS, noise=3).read_bytes()
    rig.offers("hf:owner/Ovis/ovis.safetensors", [(Role.WEIGHTS, "ovis.safetensors", newer)])
    after = _model(rig.pull(wish.reference))
    assert rig.fetched == ["ovis.safetensors"]
    assert [role for role, _ in after.components] == ["diffusion_model", "tae", "llm"]
    assert not rig.weights.missing(after.files)
    assert len(rig.lying("models")) == 3
    assert rig.pull(wish).fresh is False


def test_a_part_has_a_role_and_is_one_file(rig: PullRig, tmp_path: Path) -> None:
    """Told before the first byte."""
    with pytest.raises(Malformed, match="is no part"):
        rig.pull(Wish(REF, parts=(("nose", REF),)))
    rig.offers("hf:owner/Big-GGUF:F16", _shards(tmp_path / "made"))
    with pytest.raises(Malformed, match="more than one file"):
        rig.pull(Wish(REF, parts=(("vae", "hf:owner/Big-GGUF:F16"),)))
    assert rig.fetched == []


LORA = Gguf([("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")], tiny().rows)


@pytest.mark.parametrize("role", [Role.ADAPTER, Role.WEIGHTS], ids=["said", "seen"])
def test_an_adapter_gets_a_place_and_no_row(rig: PullRig, tmp_path: Path, role: Role) -> None:
    """And a sentence how it is used; the same again is there already, a newer one takes its path."""
    rig.offers("hf:owner/lora/a.gguf", [(role, "a.gguf", LORA.build())])
    pulled = rig.pull(Wish("hf:owner/lora/a.gguf", name="terse"))
    path = tmp_path / "models" / "adapters" / "terse.gguf"
    assert (pulled.model, pulled.path, rig.catalog.list_models()) == (None, str(path), [])
    assert pulled.notes == (teaching.adapter_pulled(str(path), str(path.parent / ".terse.json")),)
    assert path.read_bytes() == LORA.build()
    assert rig.lying("downloads") == set()
    again = rig.pull(Wish("hf:owner/lora/a.gguf", name="terse"))
    assert (again.fresh, again.path, rig.fetched) == (False, str(path), [])
    newer = LORA.having(general__name="newer").build()
    rig.offers("hf:owner/lora/a.gguf", [(role, "a.gguf", newer)])
    assert rig.pull(Wish("hf:owner/lora/a.gguf", name="terse")).path == str(path)
    assert path.read_bytes() == newer
    rig.offers("hf:owner/other", [(Role.ADAPTER, "a.gguf", newer)])
    assert rig.pull(Wish("hf:owner/other", name="terse")).fresh is False  # the very same file
    rig.offers("hf:owner/other", [(Role.ADAPTER, "a.gguf", LORA.having(general__name="other").build())])
    with pytest.raises(Conflict, match="delete that file"):
        rig.pull(Wish("hf:owner/other", name="terse"))


@pytest.mark.parametrize("role", [Role.ADAPTER, Role.WEIGHTS])
def test_an_adapter_is_called_the_same_whoever_pulls_it(rig: PullRig, tmp_path: Path, role: Role) -> None:
    """Ollama's clients have models called as they asked for them; an adapter is a file that configurations name."""
    reference = "owner/terse-GGUF"
    rig.offers(reference, [(role, "terse.gguf", LORA.build())])
    first = rig.pull(reference)
    assert first.path == str(tmp_path / "models" / "adapters" / "terse.gguf")
    again = rig.pull(Wish(reference, client_name(reference)))
    assert (again.path, again.fresh) == (first.path, False)
    assert rig.pull(Wish(reference, "mine")).path.endswith("mine.gguf")


def test_an_adapter_of_several_files_lies_in_a_folder(rig: PullRig, tmp_path: Path) -> None:
    """As engines of safetensors are given it."""
    files = [(Role.ADAPTER, "adapter_config.json", b"{}"), (Role.ADAPTER, "adapter_model.safetensors", b"x")]
    rig.offers("hf:owner/peft", files)
    pulled = rig.pull("hf:owner/peft")
    assert pulled.path == str(tmp_path / "models" / "adapters" / "peft")
    assert {path.name for path in Path(pulled.path).iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}


def test_nothing_to_serve_is_told(rig: PullRig) -> None:
    """A repository of a projector alone, or of nothing."""
    rig.offers("hf:owner/none", [])
    with pytest.raises(NotFound, match="holds no model"):
        rig.pull("hf:owner/none")


def test_what_is_no_model_leaves_no_row(rig: PullRig) -> None:
    """A file whose checksum is right and whose content is nothing."""
    rig.offers(REF, [(Role.WEIGHTS, "Tiny-F16.gguf", b"no model")])
    with pytest.raises(BadModelFile):
        rig.pull(REF)
    assert (rig.catalog.list_models(), rig.lying("models")) == ([], set())


def test_a_stop_ends_it_with_its_reason(rig: PullRig) -> None:
    """Wherever it is: what came is kept, no row is there."""
    one = rig.make()

    def stopping(_: Wanted) -> None:
        one.stop(Busy("enough"))

    rig.downloads.met = stopping
    with pytest.raises(Busy, match="enough"):
        one(Wish(REF), rig.steps.append)
    assert rig.catalog.list_models() == []
    assert rig.registry.stopped is not None
    assert rig.steps[-1].status != DONE


def test_who_waits_for_another_process_can_be_stopped(rig: PullRig) -> None:
    """It is told once that it waits, and finds the model where the other has brought it."""
    one = rig.make()
    main = rig.registry.parcels[REF]

    key = artefact_of_parcel(main)[:KEY]
    told: list[str] = []

    def hears(step: object) -> None:
        told.append(getattr(step, "note", ""))
        if told[-1]:
            one.stop(Busy("enough"))

    with rig.landing.claim([key], lambda: None), pytest.raises(Busy):
        one(Wish(REF), hears)  # type: ignore[arg-type]
    assert told == ["", teaching.pull_waits(NAME)]


def test_a_lost_race_for_a_name_leaves_neither_row_nor_link(rig: PullRig) -> None:
    """Another process took it in the last moment."""

    class Racing(MemoryModelCatalog):
        def add_model(self, model: Model) -> None:
            super().add_model(a_model(model.name, files=("/elsewhere.gguf",), digest="other"))
            super().add_model(model)

    rig.catalog = Racing()
    with pytest.raises(Conflict):
        rig.pull(REF)
    assert rig.lying("models") == set()


STEPS = ("parcel", "fetch", "inspect", "take", "metadata", "keep", "row")


def _broken(rig: PullRig, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call of that step fails."""
    owner, name = {
        "parcel": (rig.registry, "parcel"),
        "fetch": (rig.downloads, "fetch"),
        "inspect": (rig.weights, "inspect"),
        "take": (rig.weights, "take"),
        "metadata": (rig.weights, "metadata"),
        "keep": (rig.overlays, "keep"),
        "row": (rig.catalog, "replace_model" if rig.catalog.list_models() else "add_model"),
    }[step]
    real: Callable[..., object] = getattr(owner, name)
    failed: list[str] = []

    def failing(*args: object, **more: object) -> object:
        if not failed:
            failed.append(step)
            raise StoreTrouble(f"the disk failed at {step}")
        return real(*args, **more)

    monkeypatch.setattr(owner, name, failing)


@given(st.lists(st.sampled_from(STEPS), max_size=4), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_failure_anywhere_leaves_no_half_model(
    tmp_path_factory: pytest.TempPathFactory, broken: list[str], update: bool, draft: bool
) -> None:
    """Of any order of failures: before the last try the catalog is as it was, after it everything is there and nothing else."""
    rig = PullRig(tmp_path_factory.mktemp("data"))
    rig.offers("ollama:tiny", [FILE], Words(system="one"))
    rig.offers("hf:owner/small/d.gguf", [(Role.WEIGHTS, "d.gguf", tiny(blocks=1).build())])
    wish = Wish("ollama:tiny", draft="hf:owner/small/d.gguf" if draft else "")
    if update:
        rig.pull(wish)
        rig.offers("ollama:tiny", [(Role.WEIGHTS, "model", NEWER)], Words(system="two"))
    before, lying, overlay = rig.catalog.list_models(), rig.lying("models"), rig.overlays.find("tiny")
    for step in broken:
        with pytest.MonkeyPatch.context() as patch:
            _broken(rig, step, patch)
            try:
                rig.pull(wish)
            except StoreTrouble:
                assert rig.catalog.list_models() == before
                assert rig.lying("models") == lying
                assert rig.overlays.find("tiny") == overlay
                assert rig.steps[-1:] == [] or rig.steps[-1].status != DONE
            else:
                break
    model = _model(rig.pull(wish))
    assert rig.catalog.list_models() == [model]
    files = {Path(file).name for file in (*model.files, model.draft) if file}
    assert rig.lying("models") == files
    assert bool(model.draft) is draft
    assert rig.lying("downloads") == set()
    assert rig.pull(wish).fresh is False


def test_a_gated_repository_is_told_as_it_is(rig: PullRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry's sentence says what to do; there is nothing to add."""

    def gated(_: object) -> object:
        raise Forbidden("accept the terms first")

    monkeypatch.setattr(rig.registry, "parcel", gated)
    with pytest.raises(Forbidden, match="terms"):
        rig.pull(REF)


def test_one_digest_under_many_names_comes_once(rig: PullRig) -> None:
    """The others are links to it; room is asked for once as well."""
    files = [(Role.WEIGHTS, f"model-{number:05}-of-00003.gguf", BYTES) for number in range(1, 4)]
    rig.offers(REF, files)
    rig.disk.room = len(BYTES) + 1
    with suppress(BadModelFile):  # three shards that are the same are no model
        rig.pull(REF)
    assert len(rig.fetched) == 1


def test_who_waits_for_files_lends_its_slot_and_takes_it_back_before_it_fetches(rig: PullRig) -> None:
    """Not where nothing is to be fetched: a name more for what is here waits for no transfer."""
    did: list[str] = []

    class Counted(Slot):
        def lend(self) -> None:
            did.append("lend")
            freed.set()

        def take_back(self, waiting: Callable[[], None]) -> None:
            did.append(f"back, {len(rig.fetched)} fetched")

    freed, held = Event(), Event()
    key = artefact_of_parcel(rig.registry.parcels[REF])[:KEY]

    def hold() -> None:
        with rig.landing.claim([key], lambda: None):
            held.set()
            freed.wait(30)

    other = Thread(target=hold)
    other.start()
    held.wait(30)
    one = rig.make()
    one.slot = Counted()
    one(Wish(REF), rig.steps.append)
    other.join(30)
    assert (did[0], did[-1], len(rig.fetched)) == ("lend", "back, 0 fetched", 1)
    did.clear()
    again = rig.make()
    again.slot = Counted()
    again(Wish(REF, "again"), rig.steps.append)
    assert did == []


def test_what_becomes_of_a_file_that_came_spoilt_is_told(rig: PullRig) -> None:
    """Progress stands still while it is fetched again: a sentence says why."""
    rig.downloads.says = "came with other bytes"
    pulled = rig.pull(REF)
    assert pulled.notes == ("came with other bytes",)
    assert (VERIFYING, "came with other bytes") in [(step.status, step.note) for step in rig.steps]
