"""What a target means, which machine it is judged for, and what is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from blazar.application.config.model import Config
from blazar.application.ops.caller import Caller
from blazar.application.ops.preview_fit import MOST_CARDS, PreviewFit, Question, Wanted, _machine, question_of
from blazar.application.ports.children import Measured
from blazar.application.ports.remote import Offer
from blazar.application.supervise.charges import Tenant
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Malformed, ModelNotFound, NotFound, SeveralModels
from blazar.domain.fit.machine import Machine, Running, imagined
from blazar.domain.fit.shape import Projector
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from tests.fakes.remote import MemoryRegistry
from tests.fakes.weights import MemoryWeightFiles, some_facts, some_shape
from tests.support.command_line import model
from tests.support.registry import offer

MIB, GIB = 2**20, 2**30
QUANTS = tuple(offer(quant, size) for quant, size in (("Q2_K", 3 * GIB), ("Q4_K_M", 5 * GIB), ("Q8_0", 9 * GIB)))


class World:
    """One machine, a catalog with `tiny`, a file, and a registry with three quantisations."""

    def __init__(self, machine: Machine | None = None, offers: Sequence[Offer] = QUANTS, **settings: Any) -> None:
        self.here = machine or imagined((8,), 32)
        self.rows = {"tiny": model("tiny", sizes=(GIB,), ctx_train=4096)}
        self.weights = MemoryWeightFiles(
            {"/models/tiny.gguf": some_facts("/models/tiny.gguf"), "/else/x.gguf": some_facts("/else/x.gguf")}
        )
        self.weights.shapes["/models/tiny.gguf"] = some_shape(weights=GIB)
        for one in offers:
            self.weights.shapes[one.files[0].name] = some_shape(blocks=32, width=4096, weights=one.size)
        self.registry = MemoryRegistry({"me/m": tuple(offers), "library/m": tuple(offers)})
        self.registries: list[str] = []
        self.wanted = Wanted()
        self.settings = Config().settings_for("") | settings
        self.preview = PreviewFit(self.find, self.weights, self.open, self.look, self.configured)

    def find(self, name: str) -> Model:
        if name not in self.rows:
            raise ModelNotFound(name)
        return self.rows[name]

    def open(self, name: str) -> MemoryRegistry:
        self.registries.append(name)
        return self.registry

    def look(self, _tenants: Sequence[Tenant], wanted: Wanted) -> Machine:
        self.wanted = wanted
        return self.here.without(wanted.gone)

    def configured(self, name: str) -> Mapping[str, Any]:
        return self.settings

    def ask(self, target: str, tenants: Sequence[Tenant] = (), **more: Any) -> dict[str, Any]:
        return self.preview(Question(target, **more), tenants)


def test_a_row_of_the_catalog() -> None:
    """Its files, its quantisation, one verdict and nothing to choose from."""
    found = World().ask("tiny")
    assert (found["source"], found["model"], found["quant"], found["take"]) == ("catalog", "tiny", "Q4_0", "Q4_0")
    assert found["verdict"]["outcome"] == "fits"
    (row,) = found["quants"]
    assert (row["size"], row["files"], row["estimated"], row["take"], row["whole"]) == (GIB, 1, False, True, True)
    assert (row["ctx"], row["ctx_up_to"]) == (4096, 4096)
    assert found["machine"]["devices"][0]["total"] == 8 * GIB
    assert found["notes"] == []


@pytest.mark.parametrize("weights", [one for one in Weights if one is not Weights.GGUF])
def test_only_gguf_weights_are_counted(weights: Weights) -> None:
    """The planner is llama.cpp's; other engines size themselves."""
    world = World()
    world.rows["tiny"] = model("tiny", weights=weights)
    with pytest.raises(Malformed, match=f"'tiny' has {weights} weights, and only GGUF"):
        world.ask("tiny")
    world.weights.facts["/else/x.gguf"] = some_facts("/else/x.gguf", weights=weights)
    plain = weights in (Weights.SAFETENSORS, Weights.QUANTIZED)
    with pytest.raises(Malformed, match=r"llama\.cpp cannot load: convert them" if plain else "only GGUF"):
        world.ask("/else/x.gguf")


def test_an_absolute_path_is_a_file() -> None:
    """Whatever the catalog holds; a file that is not there is said so."""
    world = World()
    found = world.ask("/else/x.gguf")
    assert (found["source"], found["model"], found["quant"]) == ("file", "/else/x.gguf", "F16")
    with pytest.raises(NotFound, match="/else/y"):
        world.ask("/else/y")
    assert world.registries == []


@pytest.mark.parametrize(
    ("target", "registry", "named"),
    [
        ("hf:me/m", "hf", "hf:me/m"),
        ("me/m", "hf", "hf:me/m"),
        ("hf:me/m:q4_k_m", "hf", "hf:me/m:q4_k_m"),
        ("ollama:m", "ollama", "ollama:library/m:latest"),
        ("m:latest", "ollama", "ollama:library/m:latest"),
    ],
)
def test_a_registry_is_asked_when_it_is_named(target: str, registry: str, named: str) -> None:
    """And left again; the answer says whose model it was."""
    world = World()
    found = world.ask(target)
    assert (world.registries, world.registry.closed) == ([registry], 1)
    assert (found["source"], found["model"], found["target"]) == (registry, named, target)


def test_a_repository_of_which_several_are_here_is_judged_whole() -> None:
    """It is the question which of them fits."""
    world = World()

    def find(name: str) -> Model:
        raise SeveralModels(name, ["m-q4_0", "m-q8_0"])

    world.preview = replace(world.preview, find_model=find)
    assert world.ask("me/m")["source"] == "hf"


def test_a_bare_word_never_leaves_the_machine() -> None:
    """A typing mistake is not asked for elsewhere; how to do so is said."""
    world = World()
    with pytest.raises(NotFound, match=r"'tinny' not found.*hf:owner/repo or ollama:name:tag"):
        world.ask("tinny")
    assert world.registries == []


def test_a_registry_is_left_also_after_a_refusal() -> None:
    """Connections are not kept by an error."""
    world = World()
    with pytest.raises(NotFound):
        world.ask("hf:me/gone")
    assert world.registry.closed == 1


def test_the_best_quantisation_is_taken_and_read() -> None:
    """Every one is listed; the one to take by its own header, the others by their sizes."""
    world = World(imagined((12,), 32))
    found = world.ask("hf:me/m", ctx=2048)
    assert found["take"] == found["quant"] == "Q8_0"
    assert [(row["quant"], row["estimated"]) for row in found["quants"]] == [
        ("Q2_K", True),
        ("Q4_K_M", False),
        ("Q8_0", False),
    ]
    assert world.registry.opened == ["m-Q4_K_M.gguf", "m-Q8_0.gguf"]
    assert "Q4_K_M, Q8_0" in found["notes"][0]
    assert [row["take"] for row in found["quants"]] == [False, False, True]


def test_a_smaller_card_takes_a_smaller_one() -> None:
    """What would spill into main memory is not taken while something else fits wholly."""
    found = World().ask("hf:me/m", ctx=2048)
    assert found["take"] == "Q4_K_M"
    assert [row["whole"] for row in found["quants"]] == [True, True, False]


def test_the_quantisation_that_is_named_is_shown() -> None:
    """The others stay in the table, with the one to take."""
    world = World(imagined((12,), 32))
    found = world.ask("hf:me/m:q2_k", ctx=2048)
    assert (found["quant"], found["take"]) == ("Q2_K", "Q8_0")
    assert found["verdict"]["memory"]["weights"] == 3 * GIB
    assert world.registry.opened == ["m-Q2_K.gguf", "m-Q8_0.gguf"]
    assert [row["quant"] for row in found["quants"] if row["estimated"]] == ["Q4_K_M"]


def test_nothing_fits() -> None:
    """No quantisation is recommended; the smallest one's levers are shown."""
    found = World(imagined((), 1)).ask("hf:me/m")
    assert (found["take"], found["quant"], found["verdict"]["outcome"]) == (None, "Q2_K", "never")
    assert found["verdict"]["levers"]


def test_what_cannot_be_judged_is_named() -> None:
    """Sets with missing shards, families beyond the eighth."""
    more = [offer("Q8_0", GIB + number, family=f"f{number}") for number in range(9)]
    broken = offer("F16", 20 * GIB, missing=1)
    notes = World(offers=(*more, broken)).ask("hf:me/m")["notes"]
    assert any("F16 lacks 1 of its shards" in note for note in notes)
    assert any("left out" in note and "Q8_0" in note for note in notes)


def test_sets_with_missing_shards_are_no_targets() -> None:
    """Neither the one that was named nor one that is all there is."""
    broken = offer("F16", 20 * GIB, missing=1)
    for offers, target in (((broken,), "hf:me/m"), ((*QUANTS, broken), "hf:me/m:f16")):
        with pytest.raises(NotFound, match="F16 lacks 1 of its shards"):
            World(offers=offers).ask(target)


def test_main_memory_is_asked_for_as_a_spawn_does() -> None:
    """Half the weights and 512 MiB must be free wherever they go; that changes when others leave, or never."""
    card = imagined((24,), 4)
    (row,) = World(card, offers=QUANTS[2:]).ask("hf:me/m", ctx=1024)["quants"]
    assert (row["outcome"], row["ctx_up_to"]) == ("never", 0)
    assert "spawn_mem_guard = false" in row["sentence"]
    full = replace(card, ram_total=8 * GIB)
    (row,) = World(full, offers=QUANTS[2:]).ask("hf:me/m", ctx=1024)["quants"]
    assert row["outcome"] == "fits-after-eviction"
    (row,) = World(card, offers=QUANTS[2:], spawn_mem_guard=False).ask("hf:me/m", ctx=1024)["quants"]
    assert row["outcome"] == "fits-from-disk"


def test_a_model_that_is_here_and_too_large_has_alternatives() -> None:
    """Smaller quantisations by estimate, with the one to look for; none where it fits as it is."""
    world = World(imagined((12,), 64))
    world.weights.shapes["/models/tiny.gguf"] = some_shape(blocks=32, width=4096, weights=15 * GIB)
    world.rows["tiny"] = model("tiny", sizes=(15 * GIB,))
    found = world.ask("tiny", ctx=2048)
    assert (found["take"], len(found["quants"])) == ("Q4_0", 1)
    assert [row["quant"] for row in found["alternatives"] if row["take"]] == ["Q8_0"]
    assert all(row["estimated"] and row["files"] == 0 and row["size"] < 9 * GIB for row in found["alternatives"])
    assert world.ask("tiny", ctx=2048, gpu=(24.0,))["alternatives"] == []
    assert world.ask("hf:me/m", gpu=(), ram=1.0)["alternatives"] == []


def test_an_imagined_machine_replaces_what_is_said_of_it() -> None:
    """Cards alone keep this machine's memory and who uses it, memory alone its cards; an empty list is a machine without."""
    card = imagined((8,), 1).devices[0]._replace(free=3 * GIB)
    here = Machine(64 * GIB, 10 * GIB, (card,), (Running("x", True, False, GIB, (("CUDA0", 4 * GIB),)),))
    world = World(here)
    cards = world.ask("tiny", gpu=(24.0, 24.0))["machine"]
    assert [device["total"] for device in cards["devices"]] == [24 * GIB] * 2
    assert (cards["ram_total"], cards["ram_available"], cards["imagined"]) == (64 * GIB, 10 * GIB, True)
    assert cards["imagined_parts"] == ["gpu"]
    left = _machine(Question("tiny", gpu=(24.0,)), lambda: here)
    assert left.running == (Running("x", True, False, GIB),)
    memory = world.ask("tiny", ram=16.0)["machine"]
    assert (memory["ram_total"], memory["ram_available"]) == (16 * GIB, 16 * GIB)
    assert [(device["total"], device["free"]) for device in memory["devices"]] == [(8 * GIB, 3 * GIB)]
    assert memory["imagined_parts"] == ["ram"]
    left = _machine(Question("tiny", ram=16.0), lambda: here)
    assert left.running == (Running("x", True, False, 0, (("CUDA0", 4 * GIB),)),)
    whole = world.ask("tiny", gpu=(4.0,), ram=16.0)["machine"]
    assert (whole["imagined_parts"], whole["ram_available"]) == (["gpu", "ram"], 16 * GIB)
    assert world.ask("tiny", gpu=())["machine"]["devices"] == []
    assert world.ask("tiny")["machine"]["imagined"] is False


def test_what_is_asked_wins_over_configuration() -> None:
    """Window, slots and cache types, each in the configuration's own sense."""
    world = World(imagined((24,), 64), ctx=512, slots=1, cache_type_k="f16", cache_type_v="f16")
    chosen = world.ask("tiny", ctx=1024, slots=3, kv="q8_0,q4_0")["verdict"]["chosen"]
    assert (chosen["ctx"], chosen["slots"]) == (1024, 3)
    assert (chosen["cache_type_k"], chosen["cache_type_v"]) == ("q8_0", "q4_0")
    assert world.ask("tiny", kv="q8_0")["verdict"]["chosen"]["cache_type_v"] == "q8_0"
    assert world.ask("tiny")["verdict"]["chosen"]["ctx"] == 512


def test_the_default_window_is_no_promise() -> None:
    """Where it does not fit, a smaller one is planned, as the daemon would (F14)."""
    world = World(imagined((6,), 5), offers=(offer("Q4_K_M", 4 * GIB),))
    world.weights.shapes["m-Q4_K_M.gguf"] = some_shape(blocks=32, width=4096, weights=4 * GIB, trained=2**20)
    found = world.ask("hf:me/m")
    assert found["verdict"]["outcome"] == "fits"
    assert 0 < found["verdict"]["chosen"]["ctx"] < 2**20


def test_the_projector_beside_a_model_counts() -> None:
    """Its weights and scratch (F8), of a file here and of a repository."""
    world = World()
    world.weights.projectors["/else/x.gguf"] = Projector("clip", GIB, 100 * MIB)
    assert world.ask("/else/x.gguf")["verdict"]["memory"]["projector"] == GIB + 100 * MIB
    assert world.ask("tiny")["verdict"]["memory"]["projector"] == 0


@pytest.mark.parametrize(
    ("said", "size", "note"),
    [
        ({}, GIB, "projector-with"),
        ({"mmproj_policy": "attach"}, GIB, ""),
        ({"mmproj_policy": "skip"}, 0, "projector-apart"),
        ({"mmproj": "/p/own.gguf"}, 2 * GIB, "projector-with"),
        ({"mmproj": "/p/none.gguf"}, 0, ""),
        ({"mmproj_auto": False}, 0, ""),
        ({"embeddings": True}, 0, ""),
    ],
)
def test_a_projector_that_waits_for_a_picture_counts(said: dict[str, Any], size: int, note: str) -> None:
    """F8: the first picture must not be where memory ends; one that configuration leaves out is said to be."""
    world = World(**said)
    world.weights.projectors["/models/tiny.gguf"] = Projector("clip", GIB, 0)
    world.weights.content["/p/own.gguf"] = "own"
    world.weights.projectors["/p/own.gguf"] = Projector("clip", 2 * GIB, 0)
    verdict = world.ask("tiny")["verdict"]
    assert verdict["memory"]["projector"] == size
    notes = {what for what in ("projector-with", "projector-apart") if teaching.fit_note(what) in verdict["notes"]}
    assert notes == ({note} if note else set())


def test_a_model_that_runs_has_its_own_memory() -> None:
    """It is judged as if it did not run: nobody has to leave for it, least of all itself."""
    busy = replace(
        imagined((4,), 32),
        devices=(imagined((4,), 1).devices[0]._replace(free=GIB),),
        running=(Running("tiny", False, False, 0, (("CUDA0", int(2.9 * GIB)),)),),
    )
    (row,) = World(busy).ask("tiny", ctx=512, slots=1)["quants"]
    assert (row["outcome"], row["whole"]) == ("fits", True)
    other = replace(busy, running=(busy.running[0]._replace(key="other", idle=True),))
    found = World(other).ask("tiny", ctx=512, slots=1)["verdict"]
    assert (found["outcome"], found["evict"]) == ("fits-after-eviction", ["other"])


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"ctx": -1}, "ctx"),
        ({"ctx": 2**31}, "ctx"),
        ({"slots": -1}, "slots"),
        ({"slots": 257}, "slots"),
        ({"kv": "q9"}, "kv"),
        ({"kv": "f16,f16,f16"}, "kv"),
        ({"kv": ","}, "kv"),
        ({"kv": "x" * 10_000}, "kv"),
        ({"gpu": (-1.0,)}, "gpu"),
        ({"gpu": (24.0, 0.0)}, "gpu"),
        ({"gpu": (float("inf"),)}, "gpu"),
        ({"gpu": (float("nan"),)}, "gpu"),
        ({"gpu": (1e9,)}, "gpu"),
        ({"gpu": (1.0,) * (MOST_CARDS + 1)}, "gpu"),
        ({"ram": 0.0}, "ram"),
        ({"ram": -5.0}, "ram"),
        ({"ram": float("nan")}, "ram"),
    ],
)
def test_what_no_plan_can_be_made_of_is_refused(more: dict[str, Any], field: str) -> None:
    """Before anything is read, naming the field."""
    world = World()
    with pytest.raises(Malformed) as refused:
        world.ask("hf:me/m", **more)
    assert (refused.value.field, world.registries) == (field, [])
    assert len(str(refused.value)) < 300
    assert "card" not in str(refused.value) or field == "gpu"


def test_the_smallest_sizes_are_sizes() -> None:
    """Less than a byte is not a size that nobody knows."""
    found = World().ask("tiny", gpu=(1e-300,), ram=1e-300)
    assert (found["machine"]["ram_total"], found["machine"]["devices"][0]["total"]) == (1, 1)
    assert found["verdict"]["outcome"] != "fits"
    assert World().ask("tiny", ram=1e-300)["machine"]["ram_total"] == 1


def test_as_many_cards_as_the_engine_takes() -> None:
    """One more is refused with their number."""
    world = World()
    assert len(world.ask("tiny", gpu=(1.0,) * MOST_CARDS)["machine"]["devices"]) == MOST_CARDS
    with pytest.raises(Malformed, match=f"up to {MOST_CARDS} cards"):
        world.ask("tiny", gpu=(1.0,) * (MOST_CARDS + 1))


def test_a_caller_that_left_ends_the_asking() -> None:
    """The registry is stopped with the reason, and closed."""
    world, caller, why = World(), Caller(), Busy("stopping")
    caller.leave(why)
    with pytest.raises(Busy) as raised:
        world.preview(Question("hf:me/m"), (), caller)
    assert (raised.value, world.registry.stopped, world.registry.closed) == (why, why, 1)


def test_nothing_is_asked_about_nothing() -> None:
    """An empty target would be the current folder."""
    with pytest.raises(BlazarError, match="model"):
        World().ask("")


def test_asked_slots_have_a_window_each() -> None:
    """As those that are chosen, whatever configuration says of its own; configured ones share one."""
    world = World(imagined((24,), 64))
    asked = world.ask("tiny", ctx=1024, slots=3)["verdict"]["chosen"]
    assert (asked["ctx"], asked["slots"], asked["ctx_size"], asked["kv_unified"]) == (1024, 3, 3072, True)
    open_window = world.ask("tiny", slots=3)["verdict"]["chosen"]
    assert (open_window["ctx"], open_window["ctx_size"]) == (4096, 3 * 4096)
    configured = World(imagined((24,), 64), slots=3).ask("tiny", ctx=1024)["verdict"]["chosen"]
    assert (configured["slots"], configured["ctx_size"]) == (3, 1024)
    parts = World(imagined((24,), 64), kv_unified=False).ask("tiny", ctx=1024, slots=3)["verdict"]["chosen"]
    assert (parts["ctx"], parts["ctx_size"], parts["kv_unified"]) == (1024, 3072, False)


def test_a_window_beyond_the_trained_one_is_said() -> None:
    """It is clamped, not silently."""
    found = World().ask("tiny", ctx=1_000_000)["verdict"]
    assert found["chosen"]["ctx"] == 4096
    assert teaching.ctx_clamped(1_000_000, 4096) in found["notes"]
    assert World().ask("tiny", ctx=4096)["verdict"]["notes"] == []


def test_an_architecture_that_the_engine_does_not_know_is_said() -> None:
    """It may be counted by convention and be refused all the same."""
    world = World()
    world.weights.shapes["/models/tiny.gguf"] = replace(some_shape(weights=GIB), arch="new")
    assert teaching.fit_arch_unknown("new") in world.ask("tiny")["verdict"]["notes"]


def test_a_loaded_model_says_so() -> None:
    """The figures are those of a load beside itself gone."""
    loaded = Tenant("tiny", 5, 1.0, False, False, Measured(0, 0), (), object())
    assert World().ask("tiny", (loaded,))["notes"] == [teaching.fit_loaded("tiny")]


def test_an_encoder_that_cannot_be_read_hides_no_model() -> None:
    """A note says that it is not counted."""
    world = World()
    world.weights.broken["beside /else/x.gguf"] = "it is a page"
    verdict = world.ask("/else/x.gguf")["verdict"]
    assert verdict["memory"]["projector"] == 0
    assert any("cannot be read and is not counted" in note for note in verdict["notes"])


def test_blazar_fit_does_not_advise_itself() -> None:
    """The hint is for those who read the sentence elsewhere."""
    found = World(imagined((), 1)).ask("hf:me/m")
    assert "blazar fit" not in str(found)


def test_a_body_becomes_a_question() -> None:
    """`target` says the same as `model`; one card of size 0 is none, one among others a mistake."""
    assert question_of({"target": "a"}) == Question("a")
    assert question_of({"model": "b", "gpu": [0]}).gpu == ()
    assert question_of({"model": "b", "gpu": [24, 0]}).gpu == (24.0, 0.0)
    body = {"model": "b", "target": "a", "ctx": 5, "slots": 2, "kv": "f16", "gpu": [24], "ram": 3}
    assert question_of(body) == Question("b", 5, 2, "f16", (24.0,), 3)
    assert question_of({"model": "b", "gpu": []}).gpu == ()
    assert question_of({"model": "b"}).imagined == ()


def test_the_machine_is_that_of_the_load() -> None:
    """Its workers, the build that it is pinned to, and without what the model itself has loaded; a file has nothing loaded."""
    world = World(rpc_servers="10.0.0.2:50052", engine="b2")
    world.ask("tiny")
    assert world.wanted == Wanted("10.0.0.2:50052", "b2", {"tiny"}, "llama")
    world.ask("/else/x.gguf")
    assert world.wanted == Wanted("10.0.0.2:50052", "b2", (), "llama")
