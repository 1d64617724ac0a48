"""Creating a model: a row, an overlay, and nothing where it is refused."""

import asyncio
import hashlib
from typing import Any

import pytest

from blazar.application.models.copy_model import CopyModel
from blazar.application.models.create_model import Created, CreateModel, Wish
from blazar.application.models.import_model import ImportModel
from blazar.application.models.remove_model import RemoveModel
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, BadName, BlazarError, Malformed, ModelNotFound, NotFound, StoreTrouble
from blazar.domain.kinds import Weights
from blazar.domain.overlay import Overlay
from tests.fakes.blobs import MemoryBlobs
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.clock import FakeClock
from tests.fakes.overlays import MemoryOverlays
from tests.fakes.weights import MemoryWeightFiles, some_facts

BASE, OTHER, SENT = "/models/base.gguf", "/models/other.gguf", "/laid/m.gguf"
DIGEST = f"sha256:{hashlib.sha256(b'weights').hexdigest()}"
SYSTEM = Overlay(base="base", system="S")


class Rig:
    """The use case over fakes."""

    def __init__(self) -> None:
        self.weights = MemoryWeightFiles({file: some_facts(file) for file in (BASE, OTHER, SENT)})
        self.catalog = MemoryModelCatalog(
            [a_model("base", files=(BASE,)), a_model("other", files=(OTHER,), digest="cd" * 32)]
        )
        self.overlays, self.blobs, self.reloads = MemoryOverlays(), MemoryBlobs(), 0
        self.blobs.blobs[DIGEST] = b"weights"
        parts = (self.catalog, self.weights, FakeClock())
        remove = RemoveModel(self.catalog, self.weights, None, self.overlays)
        self.make = CreateModel(CopyModel(*parts), remove, ImportModel(*parts), self.overlays, self.blobs, self.reload)

    async def reload(self) -> None:
        self.reloads += 1

    def create(self, name: str, overlay: Overlay = SYSTEM, **more: Any) -> Created:
        return asyncio.run(self.make(Wish(name, overlay, **more)))

    def names(self) -> list[str]:
        return [row.name for row in self.catalog.list_models()]

    def settings(self, name: str) -> dict[str, Any]:
        return self.overlays.kept[name][1]


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_row_and_an_overlay(rig: Rig) -> None:
    """A link of the base's file, what was said as settings, the configuration read again, ollama's steps."""
    made = rig.create("new", SYSTEM._replace(parameters={"top_k": 5, "num_gpu": 1}))
    assert rig.weights.content["/models/new.gguf"] == rig.weights.content[BASE]
    assert rig.names() == ["base", "new", "other"]
    assert rig.settings("new")["extra_args"] == ["--top-k", "5"]
    assert "'S'" in rig.settings("new")["chat_template"]
    assert (made.model.name, made.silent, rig.reloads) == ("new", ("num_gpu",), 1)
    assert [step.partition(" sha256:")[0] for step in made.steps] == [
        "using existing layer",
        "creating new layer",
        "writing manifest",
        "success",
    ]


def test_nothing_on_top_is_an_alias(rig: Rig) -> None:
    """It still tells where it came from."""
    made = rig.create("alias", Overlay(base="base"))
    assert rig.overlays.kept["alias"] == (Overlay(base="base"), {})
    assert not [step for step in made.steps if step.startswith("creating")]


def test_created_from_a_created_one_it_inherits(rig: Rig) -> None:
    """Unless only the weights are wanted."""
    rig.create("one")
    rig.create("two", Overlay(base="one", parameters={"top_k": 5}))
    assert rig.overlays.kept["two"][0] == Overlay(base="one", system="S", parameters={"top_k": 5})
    rig.create("three", Overlay(base="one", parameters={"top_k": 5}), fresh=True)
    assert rig.overlays.kept["three"][0].system == ""


def test_a_name_that_is_there_is_created_anew(rig: Rig) -> None:
    """On the same weights only the overlay changes; on others the row is another; on itself it keeps its row."""
    rig.create("new")
    first = rig.catalog.find_model("new")
    rig.create("new", Overlay(base="base", system="T"))
    assert rig.catalog.find_model("new") is first
    rig.create("new", Overlay(base="new", parameters={"seed": 1}))
    assert rig.overlays.kept["new"][0] == Overlay(base="base", system="T", parameters={"seed": 1})
    rig.create("new", Overlay(base="other"))
    second = rig.catalog.find_model("new")
    assert second is not None
    assert second.digest == "cd" * 32
    assert rig.weights.content[second.files[0]] == rig.weights.content[OTHER]


def test_from_files(rig: Rig) -> None:
    """Blobs are laid out, looked at, linked, and taken away again."""
    made = rig.create("sent", Overlay(system="S"), files={"m.gguf": DIGEST})
    assert made.steps[0] == "parsing GGUF"
    assert rig.weights.content[made.model.files[0]] == rig.weights.content[SENT]
    assert (made.model.files, rig.blobs.laid) == (("/models/sent.gguf",), [])
    assert rig.overlays.kept["sent"][0].system == "S"
    rig.create("sent", Overlay(), files={"m.gguf": DIGEST})
    assert "sent" not in rig.overlays.kept


def test_from_files_over_another_model(rig: Rig) -> None:
    """The name means what was sent now."""
    made = rig.create("other", Overlay(), files={"m.gguf": DIGEST})
    assert rig.weights.content[made.model.files[0]] == rig.weights.content[SENT]


def test_what_would_only_be_referred_to_is_refused(rig: Rig) -> None:
    """Laid out files go away: a row that names them would be broken at once (D36 does not hold for them)."""
    rig.weights.linkable = False
    with pytest.raises(StoreTrouble) as refused:
        rig.create("sent", Overlay(), files={"m.gguf": DIGEST})
    assert str(refused.value) == teaching.blob_not_linkable()
    assert "sent" not in rig.names()


def test_adapters_are_blobs(rig: Rig) -> None:
    """Each is looked at before anything is changed."""
    rig.create("tuned", Overlay(base="base"), adapters=(DIGEST,))
    assert rig.settings("tuned") == {"loras": [f"/blobs/{DIGEST}"]}
    rig.weights.broken[f"/blobs/{DIGEST}"] = "no adapter"
    with pytest.raises(BadModelFile):
        rig.create("again", Overlay(base="base"), adapters=(DIGEST,))
    assert "again" not in rig.names()


@pytest.mark.parametrize(
    ("name", "overlay", "more", "error"),
    [
        ("a b", SYSTEM, {}, BadName),
        ("new", Overlay(base="nobody"), {}, ModelNotFound),
        ("new", Overlay(), {}, Malformed),
        ("new", Overlay(base="base", template="{{ range .Messages }}"), {}, Malformed),
        ("new", Overlay(), {"files": {"m.gguf": f"sha256:{'0' * 64}"}}, NotFound),
        ("new", Overlay(), {"files": {"m.safetensors": DIGEST}}, Malformed),
        ("new", Overlay(), {"files": {"mmproj-m.gguf": DIGEST}}, Malformed),
        ("new", Overlay(base="base"), {"adapters": ("x",)}, Malformed),
    ],
)
def test_what_is_refused_changes_nothing(
    rig: Rig, name: str, overlay: Overlay, more: dict[str, Any], error: type[BlazarError]
) -> None:
    """No row, no overlay, no reload, nothing laid out."""
    with pytest.raises(error):
        rig.create(name, overlay, **more)
    assert (rig.names(), rig.overlays.kept, rig.reloads, rig.blobs.laid) == (["base", "other"], {}, 0, [])


def test_only_gguf_takes_an_overlay(rig: Rig) -> None:
    """Other kinds are configured by their own keys; an alias of them is one."""
    rig.catalog.add_model(a_model("tensors", files=(OTHER,), weights=Weights.SAFETENSORS))
    with pytest.raises(Malformed) as refused:
        rig.create("new", Overlay(base="tensors", system="S"))
    assert str(refused.value) == teaching.overlay_needs_gguf()
    assert rig.create("new", Overlay(base="tensors")).model.weights is Weights.SAFETENSORS


def test_an_overlay_goes_with_a_copy_and_with_its_model(rig: Rig) -> None:
    """`cp` takes it along, `rm` takes it away."""
    rig.create("new")
    CopyModel(rig.catalog, rig.weights, FakeClock(), rig.overlays)("new", "twin")
    asyncio.run(rig.make.remove("new"))
    assert [*rig.overlays.kept] == ["twin"]


@pytest.mark.parametrize("error", [StoreTrouble, ValueError])
@pytest.mark.parametrize("more", [{}, {"files": {"m.gguf": DIGEST}}])
def test_a_configuration_that_cannot_say_it_leaves_no_row(
    rig: Rig, more: dict[str, Any], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was there before stays, with its files and its words, whichever model it was."""

    def refuse(*_: object, **__: object) -> None:
        raise error("read-only")

    rig.create("old")
    rig.create("far", SYSTEM._replace(base="other"))
    before = rig.catalog.list_models(), dict(rig.weights.content), dict(rig.overlays.kept)
    monkeypatch.setattr(rig.overlays, "keep", refuse)
    for name in ("new", "old", "far"):
        with pytest.raises(error):
            rig.create(name, SYSTEM._replace(base="" if more else "base"), **more)
    assert (rig.catalog.list_models(), rig.weights.content, rig.overlays.kept) == before
