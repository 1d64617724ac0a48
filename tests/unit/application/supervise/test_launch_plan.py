"""Model, engine and settings to what the child is told."""

from dataclasses import replace

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.application.supervise.fit_settings import slots_for, unified, window_for
from blazar.application.supervise.launch_plan import parts_beside
from blazar.domain import teaching
from blazar.domain.draft_pairs import link_name
from blazar.domain.errors import EngineBroken, Malformed, Unserved
from blazar.domain.fit.shape import Projector
from blazar.domain.kinds import EngineKind, Provenance, Task, Weights
from blazar.domain.launch import Beside
from blazar.domain.manifest import Manifest, Option
from blazar.domain.manners import Manners
from blazar.domain.names import file_stem
from blazar.domain.routing import LANES, Rules
from tests.fakes.catalog import a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import GIB, FakeCensus, a_gpu, a_machine
from tests.fakes.weights import MemoryWeightFiles, heavy_shape, some_facts, some_shape
from tests.support.supervision import AnyWeightFiles, KnowsAll, PlainDriver, a_config, a_planner

ANY = tuple(Option((flag.name,)) for flag in LLAMACPP.flags if flag.name != "--spec-type")


def settings_of(**said):
    """What configuration says of a model when a person said this."""
    return a_config({"m": said}).settings_for("m")


def real_plan(text="", model=None, *, ram=64, known=()):
    """The launch of one model on llama.cpp's own flags, from the text of a config.toml."""
    model = model or a_model("m", ctx_train=8192)
    loaded = load_config(text, "config.toml")
    planner = a_planner(
        FakeCensus(a_machine(ram=ram * GIB)),
        {},
        AnyWeightFiles(model.ctx_train),
        drivers={LLAMACPP.kind: LLAMACPP},
        probe=KnowsAll(known),
        settings_for=loaded.config.settings_for,
        origins_for=loaded.origins_for,
    )
    return planner.plan(model)


def plan(model=None, wish=0, **settings):
    """The launch of one model under these settings."""
    model = model or a_model("m", ctx_train=8192)
    files = AnyWeightFiles(model.ctx_train)
    return a_planner(FakeCensus(a_machine(cores=6)), {model.name: settings}, files).plan(model, ctx=wish)


def said(launch, flag):
    """The word after `flag`, or None."""
    words = launch.plan.words
    return words[words.index(flag) + 1] if flag in words else None


def test_the_floor_of_a_plan():
    """Program, model, name, window, slots, threads of the CPU set (D23, D30)."""
    launch = plan()
    assert launch.plan.words == (
        "/engines/b11434/llama-server",
        *("--model", "/models/m.gguf", "--alias", "m", "--ctx-size", "8192", "--parallel", "2", "--threads", "6"),
    )
    assert (launch.plan.ctx, launch.plan.slots, launch.plan.weights) == (4096, 2, 240_128)
    assert (launch.plan.key, launch.plan.model, launch.plan.tag) == ("m", "m", "b11434")
    assert launch.load_cap == 180.0
    assert launch.plan.notes == ()


def test_a_plan_always_names_a_model_file():
    """Of a shard set the first: a child without one would be a router that never loads (case G11)."""
    shards = a_model("m", files=("/models/m-00001-of-00002.gguf", "/models/m-00002-of-00002.gguf"), sizes=(5, 7))
    launch = plan(shards)
    assert said(launch, "--model") == "/models/m-00001-of-00002.gguf"
    assert launch.plan.weights == 12


@pytest.mark.parametrize(
    ("settings", "trained", "slots", "wish", "window"),
    [
        ({}, 8192, 1, 0, (4096, 4096)),
        ({}, 512, 1, 0, (512, 512)),
        ({}, 0, 1, 0, (4096, 4096)),
        ({"ctx": 2048}, 8192, 1, 0, (2048, 2048)),
        ({"ctx": 2048}, 8192, 4, 0, (2048, 2048)),
        ({"ctx": 2048, "kv_unified": False}, 8192, 4, 0, (2048, 8192)),
        ({}, 8192, 1, 6000, (6000, 6000)),
        ({}, 8192, 1, 100, (4096, 4096)),
    ],
)
def test_the_window_is_one_request_s(settings, trained, slots, wish, window):
    """`--ctx-size` is what the engine divides by its slots, unless the cache is unified (D30)."""
    found = window_for(settings_of(**settings), trained, slots, wish)
    assert (found.ctx, found.ctx_size) == window


def test_a_chosen_window_that_shrinks_is_noted():
    """The default is no promise, so it shrinks silently, wherever it comes from; a choice does not."""
    assert plan(a_model("m", ctx_train=512)).plan.notes == ()
    assert real_plan("", a_model("m", ctx_train=512)).plan.notes == ()
    assert real_plan("default_ctx = 8192", a_model("m", ctx_train=512)).plan.notes == ()
    assert plan(a_model("m", ctx_train=512), wish=100).plan.notes == ()
    assert plan(a_model("m", ctx_train=512), wish=1000).plan.notes == (teaching.ctx_clamped(1000, 512),)
    assert plan(a_model("m", ctx_train=512), ctx=512).plan.notes == ()
    assert plan(a_model("m", ctx_train=512), wish=9999).plan.notes == (teaching.ctx_clamped(9999, 512),)
    assert plan(a_model("m", ctx_train=512), ctx=2048).plan.notes == (teaching.ctx_clamped(2048, 512),)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("default_ctx = 1024\n", 1024),
        ("default_ctx = 1024\nkv_unified_per_slot = 512\n", 512),
        ("default_ctx = 1024\nkv_unified_per_slot = 2048\n", 1024),
        ('default_ctx = 1024\n[model_overrides.m]\nextra_args = ["--kv-unified-per-slot", "256"]\n', 256),
    ],
)
def test_a_slot_that_is_held_to_less_is_what_a_request_gets(text, window):
    """The engine refuses a longer prompt, so that `ps`, `explain` and inputs that are cut must know, and advice names what binds."""
    launch = real_plan(f"slots = 2\n{text}", a_model("m", ctx_train=4096))
    assert (launch.plan.ctx, said(launch, "--ctx-size")) == (window, "1024")
    assert launch.plan.ctx_key == ("ctx" if window == 1024 else "kv_unified_per_slot")


def test_slots():
    """Open unless configured; always 1 when answers must repeat."""
    assert [slots_for(settings_of(**said)) for said in ({}, {"slots": 0}, {"slots": 3})] == [0, 0, 3]
    assert slots_for(settings_of(slots=3, deterministic=True)) == 1
    assert said(real_plan("slots = 3\ndeterministic = true"), "--parallel") == "1"
    assert (
        said(real_plan("slots = 3\ndeterministic = true\n[model_overrides.m]\ndeterministic = false"), "--parallel")
        == "3"
    )


def test_one_cache_for_all_slots_by_itself():
    """As soon as there is more than one, unless configured."""
    assert (unified(settings_of(), 1), unified(settings_of(), 2)) == (False, True)
    assert (unified(settings_of(kv_unified=False), 2), unified(settings_of(kv_unified=True), 1)) == (False, True)


def test_cache_types_arrive_resolved():
    """A lone side is mirrored by configuration, and both are said."""
    launch = real_plan('cache_type_v = "q4_0"')
    assert (said(launch, "--cache-type-k"), said(launch, "--cache-type-v")) == ("q4_0", "q4_0")


def test_threads_can_be_configured():
    """0 means the physical cores (D39)."""
    assert said(plan(threads=2), "--threads") == "2"
    assert said(plan(threads=0), "--threads") == "6"


def test_odd_the_threads_for_prompts_are_always_said():
    """Told only --threads, the engine takes every processor for prompts."""
    assert said(real_plan("threads = 2"), "--threads-batch") == "2"
    assert said(real_plan("threads = 2\nthreads_batch = 4"), "--threads-batch") == "4"


def test_embedding_models_are_started_for_embeddings():
    """By their metadata, or by the overlay, which then needs a pooling (D38)."""
    embedder = plan(a_model("m", pooling=1))
    assert "--embeddings" in embedder.plan.words
    assert said(embedder, "--pooling") is None
    overlay = plan(a_model("m"), embeddings=True)
    assert said(overlay, "--pooling") == "mean"
    assert "--embeddings" not in plan().plan.words
    planner = a_planner(FakeCensus(), {"both": {"embeddings": True}, "never": {"embeddings": False}})
    models = (a_model("m"), a_model("m", pooling=1), a_model("both"), a_model("never", pooling=1))
    assert [planner.task(model) for model in models] == [Task.CHAT, Task.EMBED, Task.EMBED, Task.CHAT]


def test_a_child_that_leaves_the_last_step_to_the_gateway():
    """Late chunking: the plan says how one vector is made of those of the tokens, as the model's metadata does."""
    for pooling, how in ((1, "mean"), (2, "cls"), (3, "last"), (None, "")):
        late = plan(a_model("m", pooling=pooling), late_chunking=True)
        assert (late.handling.late, said(late, "--pooling")) == (how, "none" if how else None)
    assert plan(a_model("m"), late_chunking=True, embeddings=True).handling.late == "mean"
    assert plan(a_model("m", pooling=4), late_chunking=True).handling.late == ""
    assert plan(a_model("m", pooling=1)).handling.late == ""


def test_a_child_that_guesses_is_known_by_its_words():
    """Its log probabilities have holes then, which the doors tell."""
    assert not plan(a_model("m"), spec="off").handling.guesses
    assert plan(a_model("m"), extra_args=["--spec-type", "ngram-cache"]).handling.guesses


def test_reranking_models_are_started_for_ranking():
    """The engine's route for scores answers only where its command line names rank pooling; the overlay wins over metadata."""
    ranks = plan(a_model("m", pooling=4))
    assert said(ranks, "--pooling") == "rank"
    assert "--embeddings" in ranks.plan.words
    planner = a_planner(FakeCensus(), {"both": {"embeddings": True}, "never": {"embeddings": False}})
    models = (a_model("m", pooling=4), a_model("both", pooling=4), a_model("never", pooling=4))
    assert [planner.task(model) for model in models] == [Task.RERANK, Task.EMBED, Task.CHAT]


def test_an_overlay_makes_an_embedding_model_a_chat_model():
    """`embeddings = false` wins over metadata in all that follows from it: switch, pooling and batches (D38)."""
    launch = real_plan("[model_overrides.m]\nembeddings = false", a_model("m", pooling=1))
    assert not {"--embeddings", "--pooling", "--batch-size", "--ubatch-size"} & set(launch.plan.words)
    by_metadata = real_plan("", a_model("m", pooling=1, ctx_train=2048))
    assert "--embeddings" in by_metadata.plan.words
    assert said(by_metadata, "--batch-size") == said(by_metadata, "--ubatch-size") == "2048"


def test_a_flag_that_the_build_does_not_know_is_left_out_and_noted():
    """Never sent, always said."""
    probe = KnowsAll({"--model", "--alias", "--ctx-size", "--parallel", "--threads"})
    launch = a_planner(FakeCensus(), {"m": {"swa_full": True}}, probe=probe).plan(a_model("m"))
    assert "--fancy" not in launch.plan.words
    assert launch.plan.notes == (teaching.flag_unknown_to_engine("--fancy", "b11434"),)


def test_extra_words_and_environment_come_last():
    """What a person adds wins over what was compiled."""
    launch = plan(extra_args=["--seed", "7"], engine_env={"B": "2", "A": "1"})
    assert launch.plan.words[-2:] == ("--seed", "7")
    assert launch.plan.env == (("A", "1"), ("B", "2"))


EXTRA = ["--cache-ram", "-1", "--reasoning-budget", "-1", "--temp", "-0.5", "--lora", "a", "--lora", "b", "-x", "-.5"]


def extra(words, known=()):
    """The launch of a model with these extra words, on a build that knows these flags."""
    return real_plan(f"[model_overrides.m]\nextra_args = {words}", known=known)


LEAST = {"--alias", "--ctx-size", "--parallel"}
"""Without these no build serves what was asked for."""


@pytest.mark.parametrize("known", [(), {*LEAST, "--cache-ram", "--reasoning-budget", "--temp", "--lora", "-x"}])
def test_extra_words_keep_order_repetitions_and_negative_numbers(known):
    """A number is a value, whatever its sign, and a repeated flag is repeated (cases I4, I5)."""
    assert extra(EXTRA, known).plan.words[-len(EXTRA) :] == tuple(EXTRA)


def test_a_flag_and_its_value_in_one_word_are_told_to_be_two():
    """llama-server would not know the word; it is not the flag that is wrong."""
    with pytest.raises(Malformed) as caught:
        extra(["--temp=1"], {"--temp"})
    assert str(caught.value) == teaching.extra_arg_joined("--temp=1", "--temp", "llama-server")


@pytest.mark.parametrize("words", [["--temp", "0", "--temprature", "1"], ["--temprature=1"]])
def test_an_extra_flag_that_the_build_does_not_know_is_refused(words):
    """The child would die of it; the sentence names flag and build."""
    with pytest.raises(Malformed) as caught:
        extra(words, {"--temp"})
    assert str(caught.value) == teaching.extra_arg_unknown("--temprature", "b11434")
    assert caught.value.field == "extra_args"


@pytest.mark.parametrize(
    "flag",
    ["--host", "--port", "-m", "--alias", "--api-key", "--api_key_file", "--cors-origins", "--path", "--host=::"],
)
def test_an_extra_flag_that_is_ours_is_refused(flag):
    """Also where the build knows it, and where the build could not be asked; the sentence says what is ours there."""
    name = flag.partition("=")[0]
    for known in ((), {flag}):
        planner = a_planner(
            FakeCensus(), {"m": {"extra_args": [flag, "x"]}}, drivers={LLAMACPP.kind: LLAMACPP}, probe=KnowsAll(known)
        )
        with pytest.raises(Malformed) as caught:
            planner.plan(a_model("m", ctx_train=8192))
        assert str(caught.value) == teaching.extra_arg_reserved(name, LLAMACPP.because[name.replace("_", "-")])


def test_a_build_that_could_not_be_asked_is_trusted():
    """Nothing is known of its flags, so none of them is wrong."""
    assert extra(["--whatever"]).plan.words[-1] == "--whatever"


def on_two_cards(text, weights=10):
    """The launch of a model of so many GiB on a machine with two 24 GiB cards."""
    files = AnyWeightFiles()
    files.every = heavy_shape(weights * GIB)
    cards = [a_gpu(number)._replace(kind="cuda") for number in range(2)]
    planner = a_planner(
        FakeCensus(a_machine(ram=64 * GIB, gpus=cards)),
        {},
        files,
        drivers={LLAMACPP.kind: LLAMACPP},
        settings_for=load_config(text, "config.toml").config.settings_for,
    )
    return planner.plan(a_model("m"))


def test_the_verdict_is_compiled_into_words_and_variables():
    """One card by its name, two with a split and pins; the ladder's and the machine's choices come from one plan."""
    one = on_two_cards("")
    assert (said(one, "--device"), said(one, "--n-gpu-layers"), said(one, "--tensor-split")) == ("CUDA0", "3", None)
    assert one.plan.env == (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),)
    two = on_two_cards("", 30)
    assert said(two, "--device") == "CUDA0,CUDA1"
    assert said(two, "--tensor-split") is not None
    assert ("CUDA_VISIBLE_DEVICES", "0,1") in two.plan.env
    assert two.verdict.fits


def test_a_person_s_environment_wins_over_the_plan_s():
    """Whoever orders cards otherwise has a reason."""
    launch = on_two_cards('engine_env = { CUDA_DEVICE_ORDER = "FASTEST_FIRST" }')
    assert launch.plan.env == (("CUDA_DEVICE_ORDER", "FASTEST_FIRST"),)


def test_what_is_not_split_is_planned_for_its_one_card():
    """By its number, and in its own words; a model that only two cards hold does not fit whole then."""
    launch = on_two_cards('split_mode = "none"\nmain_gpu = 1')
    assert launch.verdict.pins == ("CUDA1",)
    assert (said(launch, "--main-gpu"), said(launch, "--split-mode"), said(launch, "--device")) == ("1", "none", None)
    large = on_two_cards('split_mode = "none"', 30)
    assert large.verdict.pins == ("CUDA0",)
    assert int(said(large, "--n-gpu-layers")) < 3


def test_a_window_that_a_request_wants_is_not_given_up_for_room():
    """The default may shrink to keep the model whole, but not below what was asked for (cases B8, F14)."""
    files = AnyWeightFiles(65536)
    files.every = replace(heavy_shape(2 * GIB), trained_ctx=65536)
    card = a_gpu(total=3 * GIB + 100 * 2**20)._replace(kind="cuda")
    said = {"default_ctx": 65536, "cache_type": "f16"}
    planner = a_planner(FakeCensus(a_machine(ram=64 * GIB, gpus=(card,))), {"m": said}, files)
    model = a_model("m", ctx_train=65536)
    assert 4096 <= planner.plan(model).plan.ctx < 60_000
    assert planner.plan(model, ctx=60_000).plan.ctx >= 60_000


def test_what_never_fits_is_compiled_as_configured():
    """The words of a load that is tried all the same (the guard is off): nothing of a plan that found no place."""
    launch = on_two_cards("", 3000)
    assert not launch.verdict.placed
    assert said(launch, "--ctx-size") == "512"
    assert said(launch, "--device") is None
    assert launch.plan.env == ()


def test_the_pin_of_a_model_chooses_its_build():
    """`engine` under the overrides."""
    engines = MemoryEngineCatalog([an_engine(), an_engine("old")])
    planner = a_planner(FakeCensus(), {"m": {"engine": "old"}}, engines=engines)
    assert planner.plan(a_model("m")).engine.tag == "old"
    assert planner.route(a_model("n")).engine.tag == "b11434"


def test_the_table_of_routing_is_asked_anew_for_every_plan():
    """A reload of `[engine_routing]` holds from the next load on; an override wins over it."""
    engines = MemoryEngineCatalog([an_engine(), an_engine("fork-1", provenance=Provenance.FORK)])
    now = [Rules()]
    planner = a_planner(FakeCensus(), {"n": {"engine": "fork-1"}}, engines=engines, rules=lambda: now[0])
    assert planner.route(a_model("m")).why == LANES[Weights.GGUF].why
    now[0] = Rules("manual")
    assert planner.route(a_model("m")).why == teaching.lane_manual("b11434")
    assert (planner.pin(a_model("n")), planner.route(a_model("n")).engine.tag) == ("fork-1", "fork-1")


def test_nothing_is_planned_for_weights_that_nothing_serves():
    """The refusal is routing's; every lane has its reason."""
    planner = a_planner(FakeCensus(), {})
    model = a_model("m", weights=Weights.DIFFUSION)
    with pytest.raises(Unserved):
        planner.plan(model)
    assert "llamacpp" in {lane.lane for lane in planner.rejected(model)}


def test_the_prompt_cache_is_capped_by_the_machine():
    """30 % of the memory: an unclamped budget was measured to swap-kill a machine (contract)."""
    texts = ["", "cache_ram_mb = 1000", "cache_ram_mb = 0", "cache_ram_mb = 100000"]
    assert [said(real_plan(text, ram=10), "--cache-ram") for text in texts] == ["3072", "1000", "0", "3072"]
    assert said(real_plan("", ram=64), "--cache-ram") == "8192"
    assert said(real_plan("", ram=0), "--cache-ram") == "8192"


def test_the_prompt_cache_lives_on_what_the_plan_leaves():
    """Of 2 GiB half is free, and a margin stays: the default is cut, with 0 in so many words, a choice is commented on."""
    left = int(said(real_plan("", ram=2), "--cache-ram"))
    assert 256 < left < 1024 - 512 < 3 * 2048 // 10
    tight = real_plan("", ram=1)
    assert said(tight, "--cache-ram") == "0"
    assert not [note for note in tight.plan.notes if "cache_ram_mb" in note]
    chosen = real_plan("cache_ram_mb = 200", ram=1)
    assert said(chosen, "--cache-ram") == "200"
    assert chosen.plan.notes[-1] == teaching.prompt_cache_beyond("cache_ram_mb 200", 0)


def test_the_default_configuration_says_the_floor_and_nothing_else():
    """Keys at their defaults are silent but for D30, the threads (D23), the capped cache and the sleep (setup document)."""
    words, threads = real_plan().plan.words, said(real_plan(), "--threads")
    assert " ".join(words[1:]) == (
        "--model /models/m.gguf --alias m --ctx-size 8192 --parallel 1 --no-kv-unified --flash-attn on --fit off "
        f"--cache-ram 8192 --threads {threads} --threads-batch {threads} --cors-origins localhost --no-ui --metrics --slots "
        "--sleep-idle-seconds 300 --verbosity 4"
    )
    assert Config().settings_for("m")["ctx"] is None


def test_decisions_name_who_set_what():
    """Each word after the program has one, in order; the planner hands on who set a key."""
    text = 'slots = 3\n[model_overrides.m]\nreasoning = "on"\nextra_args = ["--temp", "1"]'
    loaded = load_config(text, "config.toml")
    planner = a_planner(
        FakeCensus(),
        {},
        drivers={LLAMACPP.kind: LLAMACPP},
        settings_for=loaded.config.settings_for,
        origins_for=loaded.origins_for,
    )
    plan = planner.plan(a_model("m")).plan
    assert tuple(word for one in plan.decisions for word in one.words) == plan.words[1:]
    reasons = {one.key: one.reason for one in plan.decisions}
    for key in ("slots", "reasoning", "extra_args"):
        assert reasons[key].startswith(f"{key} (")
        assert not reasons[key].endswith("(default)")


def test_a_projector_is_counted_where_it_is_attached():
    """And told; a child that waits for the first picture is planned without."""
    files = AnyWeightFiles()
    files.content["/models/mmproj.gguf"] = "p"
    files.projectors |= {f"/models/{name}.gguf": Projector("clip", 3 * GIB, 0) for name in ("m", "mmproj")}
    files.beside["/models/m.gguf"] = "/models/mmproj.gguf"

    def launch(**said):
        return a_planner(FakeCensus(), {"m": said}, files, drivers={LLAMACPP.kind: LLAMACPP}).plan(a_model("m"))

    assert (launch().verdict.memory.projector_bytes, said(launch(), "--mmproj")) == (0, None)
    attached = launch(mmproj_policy="attach")
    assert (attached.verdict.memory.projector_bytes, said(attached, "--mmproj")) == (3 * GIB, "/models/mmproj.gguf")
    embedder = launch(mmproj_policy="attach", embeddings=True)
    assert (embedder.verdict.memory.projector_bytes, said(embedder, "--mmproj")) == (0, None)


def test_configured_adapters_are_counted():
    """Each file, whatever its scale; one that cannot be read is noted."""
    files = AnyWeightFiles()
    files.content |= {"/l/a.gguf": "a", "/l/b.gguf": "b"}
    files.sizes |= {"/l/a.gguf": 100, "/l/b.gguf": 50}

    def launch(*loras):
        return a_planner(FakeCensus(), {"m": {"loras": loras}}, files, drivers={LLAMACPP.kind: LLAMACPP}).plan(
            a_model("m")
        )

    assert launch("/l/a.gguf:0.5", "/l/b.gguf").verdict.memory.lora_bytes == 150
    assert any("/l/none.gguf" in note for note in launch("/l/none.gguf").plan.notes)


def test_what_guesses_tokens_is_counted():
    """A second model whole, heads by their own weights and cache, and the rows of logits that are checked at once."""
    files = AnyWeightFiles()
    files.facts["/d.gguf"] = some_facts("/d.gguf")
    build = KnowsAll()
    build.known = Manifest([Option(("--spec-type",), value="none,draft-mtp,draft-simple,ngram-cache"), *ANY])

    def launch(beside=None, nextn=0):
        files.every = replace(some_shape(trained=8192), nextn=nextn)
        found = Beside(draft="/d.gguf", draft_family="simple") if beside else Beside()
        planner = a_planner(
            FakeCensus(), {}, files, drivers={LLAMACPP.kind: LLAMACPP}, probe=build, beside_for=lambda _: found
        )
        return planner.plan(a_model("m", ctx_train=8192))

    plain = launch()
    assert (said(plain, "--spec-type"), plain.sized.asked.drafted, plain.verdict.memory.draft_bytes) == (
        "ngram-cache",
        8,
        0,
    )
    pair = launch(beside=True)
    assert (said(pair, "--spec-type"), said(pair, "--model-draft")) == ("draft-simple", "/d.gguf")
    assert pair.verdict.memory.draft_bytes > 240_128
    heads = launch(nextn=1)
    assert said(heads, "--spec-type") == "draft-mtp"
    assert 0 < heads.verdict.memory.draft_bytes < pair.verdict.memory.draft_bytes


def test_a_draft_that_is_gone_is_not_told_of():
    """An engine would end itself over it; the model needs none."""
    files = AnyWeightFiles()
    draft = f"/models/{file_stem(link_name('m', 'simple', 'ab' * 6))}.gguf"
    files.facts[draft] = some_facts(draft)
    build = KnowsAll()
    build.known = Manifest([Option(("--spec-type",), value="none,draft-simple,ngram-cache"), *ANY])
    planner = a_planner(FakeCensus(), {}, files, drivers={LLAMACPP.kind: LLAMACPP}, probe=build)
    model = a_model("m", ctx_train=8192, draft=draft)
    files.missing = lambda paths: None  # type: ignore[method-assign]
    there = planner.plan(model)
    assert (said(there, "--spec-type"), said(there, "--model-draft")) == ("draft-simple", draft)
    files.missing = lambda paths: draft if draft in paths else None  # type: ignore[method-assign]
    gone = planner.plan(model)
    assert said(gone, "--spec-type") == "ngram-cache"
    assert "--model-draft" not in gone.plan.words


def test_where_a_child_listens_is_part_of_its_plan():
    """A port is chosen when it is started; a socket has its path already, each instance its own, and no words change."""
    tcp, unix = real_plan("").plan, real_plan('child_transport = "unix"').plan
    assert (tcp.socket, tcp.auth) == ("", True)
    assert (unix.socket, unix.auth) == ("/m.sock", False)
    assert unix.words == tcp.words
    assert not {"--host", "--port", "--api-key-file"} & set(unix.words)


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        ("", ""),
        ('rpc_servers = "far:1,there:2"', "far:1,there:2"),
        ('rpc_servers = "far:1"\n[model_overrides.m]\nrpc_servers = "there:2"', "there:2"),
        ('rpc_servers = "far:1"\n[model_overrides.m]\nrpc_servers = ""', "far:1"),
        ('rpc_servers = "far:1"\n[model_overrides.m]\nextra_args = ["--rpc", "there:2"]', "there:2"),
    ],
)
def test_a_launch_knows_the_workers_that_its_child_is_told_of(text, workers):
    """By the words themselves: a model's own replace the configuration's, extra words win over both."""
    launch = real_plan(text)
    assert launch.workers == workers
    assert workers in (said(launch, "--rpc") or "")


@pytest.mark.parametrize(
    ("text", "flag", "key", "path"),
    [
        ('loras = ["/l/a.gguf:0.5"]', "--lora-scaled", "loras", "/l/a.gguf"),
        ('extra_args = ["--lora", "/l/a.gguf"]', "--lora", "extra_args", "/l/a.gguf"),
        ('extra_args = ["-md", "/l/d.gguf"]', "-md", "extra_args", "/l/d.gguf"),
        ('extra_args = ["--control-vector", "/l/v.gguf"]', "--control-vector", "extra_args", "/l/v.gguf"),
        ('chat_template_file = "/t/mine.jinja"', "--chat-template-file", "chat_template_file", "/t/mine.jinja"),
        ('extra_args = ["--grammar-file", "/t/g.gbnf"]', "--grammar-file", "extra_args", "/t/g.gbnf"),
    ],
)
def test_a_file_that_the_child_is_told_of_has_to_be_there(text, flag, key, path):
    """The engine would end itself over it, in words of its own."""
    model = a_model("m", ctx_train=8192)
    planner = a_planner(
        FakeCensus(a_machine(ram=64 * GIB)),
        {},
        MemoryWeightFiles({model.files[0]: some_facts(*model.files)}),
        drivers={LLAMACPP.kind: LLAMACPP},
        settings_for=load_config(f"[model_overrides.m]\n{text}", "config.toml").config.settings_for,
    )
    with pytest.raises(Malformed) as caught:
        planner.plan(model)
    assert (str(caught.value), caught.value.field) == (teaching.told_path_missing(path, flag, key, ""), key)


def test_the_parts_of_a_set_are_what_the_row_keeps():
    """By role; a model of one file has none."""
    parts = (("diffusion_model", "/m/dit.gguf"), ("vae", "/m/vae.gguf"))
    assert parts_beside(a_model("m", components=parts)).components == dict(parts)
    assert parts_beside(a_model("m")) == Beside()
    draft = f"/models/{file_stem(link_name('m', 'eagle3', 'ab' * 6))}.gguf"
    assert parts_beside(a_model("m", draft=draft)) == Beside(draft=draft, draft_family="eagle3")


@pytest.mark.parametrize(
    ("said", "vision", "blind", "told", "able"),
    [
        ({}, False, teaching.projector_waits("/models/mmproj.gguf"), False, True),
        ({}, True, "", True, True),
        ({"mmproj_policy": "attach"}, False, "", True, True),
        ({"mmproj_policy": "skip"}, True, teaching.projector_skipped("m"), False, False),
        ({"embeddings": True}, True, "", False, False),
    ],
)
def test_a_launch_says_whether_it_takes_pictures(said, vision, blind, told, able):
    """For whoever asks for one; what is told of a projector is charged for it."""
    row, files = a_model("m"), AnyWeightFiles()
    files.beside[row.files[0]] = "/models/mmproj.gguf"
    files.projectors |= dict.fromkeys((row.files[0], "/models/mmproj.gguf"), Projector("clip", 7, 0))
    files.content["/models/mmproj.gguf"] = "encoder"
    planner = a_planner(FakeCensus(), {"m": said}, files)
    launch = planner.plan(row, vision=vision)
    assert (launch.blind, launch.projector, launch.vision) == (blind, told, vision)
    assert ("--mmproj" in launch.plan.words) is told
    assert launch.verdict.memory.projector_bytes == (7 if told else 0)
    assert planner.takes_pictures(row) is able
    assert planner.projector(row) == ("/models/mmproj.gguf" if able else "")


def test_of_other_kinds_nothing_is_said_about_pictures():
    """They have encoders of their own, or none: no request is refused here, and nothing is claimed."""
    row = a_model("m", weights=Weights.SAFETENSORS)
    engines = MemoryEngineCatalog([an_engine("s1", kind=EngineKind.SGLANG)])
    planner = a_planner(FakeCensus(), {"m": {}}, engines=engines, drivers={EngineKind.SGLANG: PlainDriver()})
    launch = planner.plan(row, vision=True)
    assert (launch.blind, launch.projector) == ("", False)
    assert planner.takes_pictures(row) is False
    assert planner.projector(row) == ""
    bare = a_planner(FakeCensus(), {"m": {}}, engines=MemoryEngineCatalog([]))
    assert bare.takes_pictures(row) is False


class Mannered(PlainDriver):
    """One that chats and does nothing else, under names of its own."""

    manners = Manners(
        name="odd", tasks=frozenset({Task.CHAT}), asked_as="default", listed_as="{folder}", routes=frozenset()
    )


def test_a_launch_says_how_its_child_is_asked():
    """And what it must list to be ours; of llama.cpp both are the model's name."""
    row = a_model("m", folder="/models/m")
    odd = a_planner(FakeCensus(), {"m": {}}, drivers={EngineKind.LLAMACPP: Mannered()}).plan(row)
    assert (odd.called, odd.plan.listed, odd.manners) == ("default", "/models/m", Mannered.manners)
    plain = a_planner(FakeCensus(), {"m": {}}).plan(row)
    assert (plain.called, plain.plan.listed, plain.manners) == ("m", "m", LLAMACPP.manners)


def test_a_kind_without_the_task_is_not_even_planned():
    """Its server would answer every request with a 404."""
    planner = a_planner(FakeCensus(), {"m": {"embeddings": True}}, drivers={EngineKind.LLAMACPP: Mannered()})
    with pytest.raises(Malformed) as caught:
        planner.plan(a_model("m"))
    assert str(caught.value) == teaching.kind_makes_no_embeddings("m", "odd")


def test_a_diffusion_set_draws_whatever_is_said_of_it():
    """`embeddings` on such a model makes no embedder of it."""
    row = a_model("m", weights=Weights.DIFFUSION)
    assert a_planner(FakeCensus(), {"m": {"embeddings": True}}).task(row) is Task.IMAGE


def test_a_build_that_cannot_run_is_not_started():
    """The refusal says why, which other build is whole, and how this one is brought back; none takes over by itself."""
    wheel = an_engine("embedded-1", provenance=Provenance.EMBEDDED)  # may not be chosen beside them
    engines = MemoryEngineCatalog([an_engine(active=True), an_engine("b2"), an_engine("b1"), wheel])
    flaws = {"b11434": "its program is gone", "b2": "its program is gone"}
    planner = a_planner(FakeCensus(), {}, engines=engines, flaw=lambda engine: flaws.get(engine.tag, ""))
    with pytest.raises(EngineBroken) as refused:
        planner.plan(a_model("m", ctx_train=512))
    assert str(refused.value) == teaching.engine_broken("b11434", "llamacpp", "its program is gone", ["b1"])
    assert "blazar engine use b1" in str(refused.value)
    pinned = a_planner(FakeCensus(), {"m": {"engine": "b11434"}}, engines=engines, flaw=planner.flaw)
    with pytest.raises(EngineBroken) as refused:
        pinned.plan(a_model("m", ctx_train=512))
    assert str(refused.value) == teaching.engine_broken("b11434", "llamacpp", "its program is gone")
