"""One way from configuration to a verdict: what `fit` and `explain` show is what is started."""

from dataclasses import replace

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.config.layers import load_config
from blazar.application.ops.explain import Explain
from blazar.application.ops.preview_fit import PreviewFit, Question
from blazar.application.ports.children import Measured
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.preparation import prepare
from blazar.application.supervise.sizing import Sizing
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.machine import imagined
from blazar.domain.fit.shape import Projector
from blazar.domain.launch import Places
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.hardware import GIB, FakeCensus, FakeDeviceLister, a_gpu, a_machine
from tests.fakes.weights import MemoryWeightFiles, heavy_shape, some_facts, some_shape
from tests.support.fit_shapes import Dense
from tests.support.supervision import a_config, a_planner

MODEL, SEES, DRAFTS, ADAPTS = "/models/m.gguf", "/else/mmproj.gguf", "/else/draft.gguf", "/else/lora.gguf"
LARGE = Dense(blocks=16, size=5 * GIB, trained=16384).shape()


def some_files(shape=LARGE):
    """A model, a projector of 1 GiB, a draft and an adapter of 100 MiB."""
    files = MemoryWeightFiles({path: some_facts(path) for path in (MODEL, SEES, DRAFTS, ADAPTS)})
    files.shapes = {MODEL: shape, DRAFTS: some_shape(trained=16384)}
    files.projectors[SEES] = Projector("clip", GIB, 0)
    files.sizes[ADAPTS] = 100 * 2**20
    return files


class Three:
    """The launch, the dry run and the preview of one model, on one machine, under one configuration."""

    def __init__(self, text, *, cards=2, card=12, ram=64, available=None, shape=LARGE):
        self.files = some_files(shape)
        gpus = [a_gpu(number)._replace(kind="cuda", total=card * GIB, free=card * GIB) for number in range(cards)]
        self.census = FakeCensus(a_machine(ram=ram * GIB, available=(available or ram) * GIB, gpus=gpus))
        configured = load_config(text, "config.toml").config.settings_for
        self.row = a_model("m", files=(MODEL,), sizes=(5 * GIB,), ctx_train=shape.trained_ctx)
        lister = FakeDeviceLister(None)
        self.planner = a_planner(
            self.census,
            {},
            self.files,
            drivers={LLAMACPP.kind: LLAMACPP},
            settings_for=configured,
            sizing=Sizing(self.files, self.census, lister),
        )
        self.catalog = MemoryModelCatalog([self.row])
        engine = self.planner.engines.list_engines()[0]
        self.preview = PreviewFit(
            lambda _: self.row,
            self.files,
            lambda _: None,
            lambda tenants, wanted: self.planner.sizing.machine(
                engine, self.planner.sizing.usage(tenants, gone=wanted.gone), wanted.workers
            ),
            configured,
        )

    def launch(self):
        return self.planner.plan(self.row)

    def explained(self):
        return Explain(self.catalog, self.planner, self.census)("m")

    def previewed(self, **more):
        return self.preview(Question("m", **more))


def extra(words):
    return f"[model_overrides.m]\nextra_args = {words.split()}"


CONFIGURATIONS = [
    "",
    "[model_overrides.m]\nctx = 4096\nslots = 3",
    "[model_overrides.m]\nctx = 99999\nslots = 1",
    "[model_overrides.m]\nctx = 4096\nslots = 3\nkv_unified = false",
    "default_ctx = 8192\ndeterministic = true",
    'split_mode = "none"\nmain_gpu = 1',
    'split_mode = "row"',
    'split_mode = "none"\n[model_overrides.m]\ndevices = ["CUDA1", "CUDA0"]',
    "main_gpu = 1",
    'cache_type = "q4_0"\nno_kv_offload = true',
    "ubatch_size = 1024\nbatch_size = 1024",
    'devices = ["CUDA1"]\ncpu_ffn_n = 4',
    'tensor_split = "3,1"',
    "[model_overrides.m]\nembeddings = true",
    'rpc_servers = "10.0.0.2:50052"',
    extra("-c 8192 -np 2 -no-kvu"),
    extra("--ctx-size 0 --parallel -1"),
    extra(f"--mmproj {SEES}"),
    extra(f"-mm {SEES} --no-mmproj-offload --lora {ADAPTS} --lora-scaled {ADAPTS}:0.5"),
    extra(f"-md {DRAFTS} -ctkd q8_0"),
    extra("-ngl 4 -fa off -ctk f32 -ub 256"),
    extra("-ot blk.[0-3].=CPU -sm none -mg 1 --no-mmap"),
    extra("-dev none"),
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
@pytest.mark.parametrize(("cards", "card"), [(0, 0), (1, 6), (2, 12), (2, 4)])
def test_launch_dry_run_and_preview_are_one_verdict(text, cards, card):
    """Every byte, every place, every note: the same plan by three roads."""
    three = Three(text, cards=cards, card=card)
    launch, explained, previewed = three.launch(), three.explained(), three.previewed()
    assert explained["fit"]["verdict"] == previewed["verdict"]
    verdict = launch.verdict
    shown = previewed["verdict"]
    assert (verdict.outcome.value, verdict.exact_bytes, list(verdict.notes)) == (
        shown["outcome"],
        shown["exact_bytes"],
        shown["notes"],
    )
    assert list(launch.plan.words) == explained["argv"]
    if verdict.placed:
        assert (launch.plan.ctx, launch.plan.slots) == (shown["chosen"]["ctx"], shown["chosen"]["slots"])
    assert (explained["refusal"] is None) == previewed["verdict"]["fits"]


def test_main_memory_that_the_guard_asks_for_is_asked_for_by_all():
    """`spawn_mem_guard` refuses a load whose plan fits a card."""
    three = Three("", cards=1, card=24, ram=8, available=2)
    assert three.previewed()["verdict"]["fits"] is False
    assert three.explained()["refusal"] == teaching.not_enough_memory("m", three.explained()["fit"]["need"], 2 * GIB)
    free = Three("spawn_mem_guard = false", cards=1, card=24, ram=8, available=2)
    assert free.previewed()["verdict"]["fits"]
    assert free.explained()["refusal"] is None


def test_a_model_that_runs_is_judged_as_if_it_did_not():
    """By dry run and preview alike: its own memory is there for its next child, and nobody else's is."""
    three = Three("", cards=1, card=24)
    card = a_gpu()._replace(kind="cuda", total=24 * GIB, free=3 * GIB)
    three.census.machine = a_machine(ram=4 * GIB, available=3 * GIB, gpus=(card,))
    own, other = (
        Tenant(key, 0, 1.0, False, False, Measured(0, 0, (("CUDA0", size * GIB),)), (), object())
        for key, size in (("m", 10), ("x", 11))
    )
    explained = Explain(three.catalog, three.planner, three.census)("m", (own, other))
    previewed = three.preview(Question("m"), (own, other))
    assert explained["fit"]["verdict"] == previewed["verdict"]
    assert (previewed["verdict"]["outcome"], explained["fit"]["evict"]) == ("fits", [])
    assert three.planner.plan(three.row, usage=three.planner.sizing.usage((own, other))).verdict.outcome.value != "fits"


def words_of(three):
    return three.launch().plan.words


def test_a_projector_in_the_extra_words_is_charged_and_placed():
    """F8: 5 GiB of weights and 1 GiB of projector do not both fit a card of 7 GiB with its margin."""
    little = 'default_ctx = 4096\nslots = 1\ncache_type = "f16"\n'
    plain, seeing = Three(little, cards=1, card=7), Three(little + extra(f"--mmproj {SEES}"), cards=1, card=7)
    assert plain.launch().verdict.memory.projector_bytes == 0
    verdict = seeing.launch().verdict
    assert verdict.memory.projector_bytes == GIB
    assert verdict.gpu_layers < plain.launch().verdict.gpu_layers
    assert teaching.extra_args_planned(("--mmproj",)) in verdict.notes
    roomy = Three(extra(f"--mmproj {SEES}"), cards=2, card=24)
    assert "--mmproj-device" in words_of(roomy)
    assert "--mmproj-device" not in words_of(Three(extra(f"--mmproj {SEES}"), cards=0))


def test_adapters_and_a_draft_in_the_extra_words_are_charged():
    """The adapters' tensors, and all that the draft takes with the model's window."""
    memory = Three(extra(f"--lora {ADAPTS},{ADAPTS} -md {DRAFTS}")).launch().verdict.memory
    assert memory.lora_bytes == 200 * 2**20
    assert memory.draft_bytes > 240_128
    notes = Three(extra(f"--lora {ADAPTS} -md {DRAFTS}")).launch().plan.notes
    # An adapter joins those of the configuration; a draft takes the place of its own.
    assert {teaching.extra_args_counted(("--lora",)), teaching.extra_args_planned(("-md",))} <= set(notes)
    draft = Three(extra(f"-md {DRAFTS}")).launch()
    assert "--device-draft" in draft.plan.words
    assert draft.verdict.settings.draft.settings.ctx == draft.verdict.settings.ctx


def test_paths_in_the_extra_words_count_from_where_children_run():
    """For the launch and for the preview; the words themselves stay as they are."""
    settings, files = load_config("", "config.toml").config.settings_for("m"), some_files()
    words = ("--lora", f"lora.gguf,{ADAPTS}", "-md", "draft.gguf")
    found = prepare(settings, files, words, "/else")
    assert (found.extras.lora_bytes, found.extras.draft is not None) == ((100 * 2**20,) * 2, True)
    three = Three(extra("--lora lora.gguf"))
    sizing = replace(three.planner.sizing, folder="/else")
    planner = replace(three.planner, sizing=sizing, places=Places(socket="/else"))
    launch = planner.plan(three.row)
    assert (launch.verdict.memory.lora_bytes, launch.plan.words[-1]) == (100 * 2**20, "lora.gguf")
    shown = (three.preview(Question("m")), replace(three.preview, folder="/else")(Question("m")))
    assert ["lora.gguf" in str(one["verdict"]["notes"]) for one in shown] == [True, False]


def test_what_a_person_says_is_not_said_twice():
    """His words stay as they are written, at the end; ours for the same are left out."""
    launch = Three(extra("-c 8192 -np 2 -ctk q8_0 -ngl 3 -fa off")).launch()
    words = launch.plan.words
    assert words[-10:] == ("-c", "8192", "-np", "2", "-ctk", "q8_0", "-ngl", "3", "-fa", "off")
    ours = {"--ctx-size", "--parallel", "--cache-type-k", "--n-gpu-layers", "--flash-attn"}
    assert not ours & set(words)
    assert (launch.plan.ctx, launch.plan.slots, launch.verdict.gpu_layers) == (8192, 2, 3)
    assert teaching.extra_args_planned(("-c", "-np", "-ctk", "-ngl", "-fa")) in launch.plan.notes


def test_a_request_s_wish_does_not_undo_a_window_in_the_extra_words():
    """They come last, whatever a request would like."""
    three = Three(extra("-c 4096 -np 2 -no-kvu"))
    launch = three.planner.plan(three.row, ctx=8192)
    assert (launch.plan.ctx, launch.verdict.settings.ctx) == (2048, 4096)


def test_a_question_says_otherwise_than_the_extra_words():
    """`fit --ctx` asks what would be if they were not there."""
    three = Three(extra("-c 4096 -np 2 -ctk q8_0"))
    chosen = three.previewed(ctx=8192, slots=1, kv="f16")["verdict"]["chosen"]
    assert (chosen["ctx"], chosen["slots"], chosen["cache_type_k"]) == (8192, 1, "f16")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--mmproj /x.gguf", teaching.no_such_file("/x.gguf")),
        ("-md /x.gguf", teaching.no_such_file("/x.gguf")),
        ("--lora /x.gguf", teaching.no_such_file("/x.gguf")),
    ],
)
def test_a_file_that_is_not_there_is_a_sentence(words, why):
    """A preview counts without it and says so; a launch is refused, for the engine would end itself."""
    flag, path = words.split()
    three = Three(extra(words))
    assert teaching.extra_file_uncounted(flag, path, why) in three.previewed()["verdict"]["notes"]
    with pytest.raises(Malformed, match=r"extra_args names '/x.gguf'"):
        three.launch()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('split_mode = "row"', "split-rows"),
        ('split_mode = "tensor"', "split-rows"),
        ("main_gpu = 0", "main-gpu"),
        ('split_mode = "layer"\nmain_gpu = 1', "main-gpu"),
    ],
)
def test_a_split_that_is_not_counted_as_it_is_made_is_noted(text, note):
    """Only where there is something to split between."""
    assert teaching.fit_note(note) in Three(text).launch().plan.notes
    assert teaching.fit_note(note) not in Three(text, cards=1, card=24).launch().plan.notes
    assert teaching.fit_note(note) not in Three(text + '\ndevices = ["CUDA1"]').launch().plan.notes


def test_what_is_not_split_lies_on_the_main_one_of_those_named():
    """The engine's number counts within `--device`."""
    text = 'split_mode = "none"\nmain_gpu = 1\ndevices = ["CUDA1", "CUDA0"]'
    assert Three(text).launch().verdict.pins == ("CUDA0",)
    assert teaching.fit_note("main-gpu") not in Three(text).launch().plan.notes


def test_devices_of_workers_are_planned_with():
    """Told to the child before any device is named; one that nobody sees is a note."""
    three = Three('rpc_servers = "10.0.0.2:50052"', cards=0, ram=64, shape=heavy_shape(4 * GIB))
    three.planner.sizing.lister.devices = ()
    launch = three.launch()
    words = launch.plan.words
    assert launch.verdict.pins == ("RPC0",)
    assert words.index("--rpc") < words.index("--device")
    assert launch.workers == "10.0.0.2:50052"
    three.planner.sizing.lister.devices = None
    assert teaching.rpc_worker_silent("10.0.0.2:50052") in three.launch().plan.notes
    said = Three(extra("--rpc 10.0.0.3:50052"), cards=0)
    assert said.launch().workers == "10.0.0.3:50052"
    assert said.launch().plan.words.count("--rpc") == 1


def test_other_engines_words_are_not_read():
    """Nothing is known of them."""
    settings = a_config({"m": {"extra_args": ["-c", "lots"]}}).settings_for("m")
    assert prepare(settings, some_files(), ()).notes == ()
    asked = prepare(settings, some_files(), ()).asked(4096, imagined((), 64), embeds=False)
    assert (asked.cap, asked.settings.ctx) == (4096, 0)


def test_prompts_that_a_person_gives_room_are_weighed_as_he_says():
    """His number reaches the child, whatever is left; that it is more than that is a note."""
    little = Three(extra("--cache-ram -1"), cards=0)
    assert "--cache-ram" in words_of(little)
    assert words_of(little).count("--cache-ram") == 1
    said = teaching.said_in_extra_args("--cache-ram", "-1")
    assert any(note.startswith(said) and str(2**31 - 1) not in note for note in little.launch().plan.notes)
    assert not any("-cram 512" in note for note in Three(extra("-cram 512"), cards=0).launch().plan.notes)


def test_weights_that_nobody_counts_are_started_with_the_same_words():
    """Where a header describes no model that can be counted, what a person adds is noted and not said twice all the same."""
    three = Three(extra("-c 4096 -np 2 -no-kvu"))
    three.files.broken[MODEL] = "it is odd"
    launch = three.launch()
    assert launch.sized is None
    assert (launch.plan.ctx, launch.plan.slots) == (2048, 2)
    assert not {"--ctx-size", "--parallel", "--no-kv-unified"} & set(launch.plan.words)
    assert launch.plan.notes == (
        teaching.extra_args_planned(("-c", "-np", "-no-kvu")),
        *(teaching.flag_given_way(flag, "extra_args") for flag in ("--ctx-size", "--parallel", "--kv-unified")),
    )


def test_what_configuration_says_of_a_draft_is_planned_and_told():
    """Places and number formats; words of a person's own win over it."""
    keys = 'spec_draft_device = "CUDA1"\nspec_draft_type_k = "q8_0"\nspec_draft_type_v = "q8_0"\n'
    three = Three(keys + extra(f"-md {DRAFTS}"))
    plain = Three(extra(f"-md {DRAFTS}")).launch()
    draft = three.launch().sized.asked.draft.settings
    assert (draft.devices, draft.cache_type_k) == (("CUDA1",), "q8_0")
    words = words_of(three)
    assert words[words.index("--device-draft") + 1] == "CUDA1"
    assert three.launch().verdict.memory.draft_bytes < plain.verdict.memory.draft_bytes
    said = Three(keys + extra(f"-md {DRAFTS} -devd none")).launch()
    assert (said.sized.asked.draft.settings.gpu_layers, said.verdict.placed) == (0, True)
    assert "--device-draft" not in said.plan.words
