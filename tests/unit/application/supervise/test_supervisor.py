"""Leases and explicit wishes, through the whole of supervision."""

import asyncio
from dataclasses import replace

import pytest

from blazar.application.supervise.leasing import Ask
from blazar.application.supervise.surroundings import Limits
from blazar.domain import teaching
from blazar.domain.errors import (
    Busy,
    DoesNotFit,
    Forbidden,
    Malformed,
    ModelNotFound,
    NotFound,
    OverQuota,
    SpawnFailed,
    Unauthorized,
    Unserved,
)
from blazar.domain.kinds import EngineKind, Task, Weights
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.fakes.engines import an_engine
from tests.fakes.hardware import a_machine
from tests.fakes.weights import some_facts
from tests.support.supervision import story

MIB = 2**20


# Loading


@story()
async def test_a_first_request_loads_and_the_next_finds_it(world):
    """Cold to serving; then the fast path answers without awaiting."""
    assert world.supervisor.try_lease("a") is None
    lease = await world.lease("a")
    assert lease.model.name == "a"
    assert lease.ctx == 4096
    assert lease.upstream is world.children.of("a").upstream
    assert world.supervisor.try_lease("a") is None  # its only slot is taken
    lease.release()
    again = world.supervisor.try_lease("a")
    assert (again.load_seconds, again.queue_seconds) == (0.0, 0.0)
    again.release()
    assert len(world.children.spawned) == 1
    assert world.meter.spawns == [("a", 0.0)]


@story(a={"slots": 50})
async def test_fifty_first_requests_make_one_child(world):
    """Single flight: nobody starts a second one."""
    asks = [world.ask("a") for _ in range(50)]
    await world.clock.advance(5.0)
    leases = [await ask for ask in asks]
    assert len(world.children.attempts) == 1
    assert world.view().in_flight == 50
    for lease in leases:
        lease.release()
    assert world.view().in_flight == 0


@story()
async def test_a_load_is_measured_apart_from_the_queue(world):
    """The load counts for whoever waited for it, the wait for the slot is queueing."""
    world.children.next("a", Script(ready_after=10))
    first, second = world.ask("a"), world.ask("a")
    await world.clock.advance(5.0)
    lease = await first
    assert lease.load_seconds > 0.1
    assert lease.queue_seconds == 0.0
    await world.clock.advance(2.0)
    lease.release()
    queued = await second
    assert queued.load_seconds == lease.load_seconds
    assert queued.queue_seconds > 2.0
    queued.release()


@story()
async def test_names_are_resolved_as_callers_write_them(world):
    """`:latest` and case variants mean the row; the fast path remembers each spelling."""
    for name in ("a", "a:latest", "A"):
        (await world.lease(name)).release()
        lease = world.supervisor.try_lease(name)
        assert lease.model.name == "a"
        lease.release()
    assert len(world.children.spawned) == 1


@story(models=[a_model("chat"), a_model("embed", pooling=1), a_model("sd", weights=Weights.DIFFUSION)])
async def test_text_and_pictures_do_not_mix(world):
    """The contract's gate in both directions: each refusal names the endpoint that serves, and nothing is started for it."""
    for name, task, say in (
        ("sd", Task.CHAT, teaching.draws_pictures),
        ("sd", Task.EMBED, teaching.draws_pictures),
        ("chat", Task.IMAGE, teaching.text_draws_nothing),
        ("embed", Task.IMAGE, teaching.embedder_draws_nothing),
    ):
        with pytest.raises(Malformed) as caught:
            await world.supervisor.lease(Ask(name, task))
        able = {Task.CHAT: ["chat"], Task.EMBED: ["embed"], Task.IMAGE: ["sd"]}[task]
        assert str(caught.value) == teaching.others_can(say(name), able)
    assert not world.children.attempts


@story(models=[a_model("chat"), a_model("embed", pooling=1), a_model("rank", pooling=4)])
async def test_a_model_that_ranks_does_nothing_else(world):
    """And nothing else ranks: each refusal names the endpoint, and a model that could (M7)."""
    for name, task, say, able in (
        ("rank", Task.CHAT, teaching.reranker_only_ranks, "chat"),
        ("rank", Task.EMBED, teaching.reranker_only_ranks, "embed"),
        ("rank", Task.IMAGE, teaching.reranker_only_ranks, ""),
        ("chat", Task.RERANK, teaching.not_a_reranker, "rank"),
        ("embed", Task.RERANK, teaching.not_a_reranker, "rank"),
    ):
        with pytest.raises(Malformed) as caught:
            await world.supervisor.lease(Ask(name, task))
        assert str(caught.value) == (teaching.others_can(say(name), [able]) if able else say(name))
    assert not world.children.attempts
    (await world.lease("rank", task=Task.RERANK)).release()
    assert "rank" in world.children.spawned[0].plan.words


@story(models=[a_model("chat"), a_model("embed", pooling=1), a_model("sd", weights=Weights.DIFFUSION)])
async def test_every_model_that_reads_text_cuts_it_into_tokens(world):
    """Whatever it was started for; a model that draws says so."""
    for name in ("chat", "embed"):
        (await world.lease(name, task=Task.TEXT)).release()
        world.supervisor.try_lease(name, Task.TEXT).release()
    with pytest.raises(Malformed, match="draws pictures"):
        await world.supervisor.lease(Ask("sd", Task.TEXT))


@story(models=[a_model("a", template=True), a_model("b"), a_model("c", pooling=1)], b={"chat_template": "{{ tools }}"})
async def test_tools_for_a_template_without_a_place_for_them_are_refused(world):
    """Before anything is loaded, with a model that could take them, of those that the key may use; without tools it serves."""
    with pytest.raises(Malformed) as caught:
        await world.supervisor.lease(Ask("a", tools=True))
    assert str(caught.value) == teaching.others_can(teaching.template_has_no_tools("a"), ["b"])
    with pytest.raises(Malformed) as caught:
        await world.supervisor.lease(Ask("a", tools=True, allowed=frozenset({"a"})))
    assert str(caught.value) == teaching.template_has_no_tools("a")
    assert not world.children.attempts
    (await world.lease("b", tools=True)).release()
    lease = await world.lease("a")
    assert lease.toolless
    lease.release()


@story(
    models=[a_model("a", template=True), a_model("e", pooling=1), a_model("m", weights=Weights.MLX_QUANT)],
    a={"ollama_compat": True},
    e={"ollama_compat": True},
    m={"ollama_compat": True},
)
async def test_tools_are_written_into_the_conversations_of_a_model_that_is_marked_so(world):
    """Then its template needs no place for them; not for what does not chat, nor where the kind has no route for it."""
    lease = await world.lease("a", tools=True)
    assert not lease.toolless
    lease.release()
    words = world.supervisor.planner.words_tools
    assert {model.name: words(model) for model in world.supervisor.catalog.list_models()} == {
        "a": True,
        "e": False,
        "m": False,
    }


@story(models=[a_model("m", weights=Weights.MLX_QUANT)])
async def test_a_kind_without_embeddings_says_so_at_once(world):
    """The hint to set `embeddings` would lead nowhere."""
    with pytest.raises(Malformed) as caught:
        await world.supervisor.lease(Ask("m", Task.EMBED))
    assert str(caught.value) == teaching.kind_makes_no_embeddings("m", "mlx-lm")


@story()
async def test_an_unknown_model_is_a_404_with_near_matches(world):
    """Nothing is spawned for it, and it is not remembered."""
    with pytest.raises(ModelNotFound) as caught:
        await world.supervisor.lease(Ask("aa"))
    assert str(caught.value) == teaching.model_not_found("aa", ["a"])
    assert not world.children.attempts
    assert world.supervisor.try_lease("aa") is None


@story(models=[a_model("chat"), a_model("embed", pooling=1), a_model("both")], both={"embeddings": True})
async def test_each_model_does_its_task_only(world):
    """Chat to an embedder and embeddings from a chat model are taught (D38)."""
    with pytest.raises(Malformed) as caught:
        await world.supervisor.lease(Ask("chat", Task.EMBED))
    assert str(caught.value) == teaching.others_can(teaching.not_an_embedder("chat"), ["both", "embed"])
    with pytest.raises(Malformed) as caught:
        await world.supervisor.lease(Ask("embed"))
    assert str(caught.value) == teaching.others_can(teaching.embedder_cannot_chat("embed"), ["chat"])
    assert not world.children.attempts
    (await world.lease("both", task=Task.EMBED)).release()
    assert world.supervisor.try_lease("both") is None
    world.supervisor.try_lease("both", Task.EMBED).release()


@story(models=[a_model("a"), a_model("b-1")])
async def test_a_scoped_key_gets_its_models_under_any_spelling(world):
    """What the key's list and the request mean is compared, and nothing is loaded for a refusal."""
    scope = frozenset({"A:latest", "b:1"})
    for asked in ("a", "A", "a:latest", "b-1", "b:1"):
        (await world.lease(asked, allowed=scope)).release()
    attempts = len(world.children.attempts)
    with pytest.raises(Forbidden) as caught:
        await world.supervisor.lease(Ask("b-1", allowed=frozenset({"a"}), key="guest"))
    assert str(caught.value) == teaching.key_not_for_model("guest", "b-1", {"a"})
    with pytest.raises(ModelNotFound) as missing:
        await world.supervisor.lease(Ask("b-2", allowed=frozenset({"a"}), key="guest"))
    assert "b-1" not in str(missing.value)
    assert len(world.children.attempts) == attempts


@story(models=[a_model("a"), a_model("b")])
async def test_a_quota_is_asked_after_the_scope_and_before_anything_is_loaded(world):
    """What a key may not use is told first; what is used up loads nothing."""
    heard = []

    def used_up():
        heard.append("asked")
        raise OverQuota("rpm", "used up", 1.0)

    with pytest.raises(Forbidden):
        await world.supervisor.lease(Ask("b", allowed=frozenset({"a"}), charge=used_up))
    assert heard == []
    with pytest.raises(OverQuota):
        await world.supervisor.lease(Ask("a", allowed=frozenset({"a"}), charge=used_up))
    assert heard == ["asked"]
    assert not world.children.attempts


@story(models=[a_model("a"), a_model("b")])
async def test_who_waits_is_judged_again_when_its_turn_comes(world):
    """Its key may have gone or changed meanwhile: it hears what a request would hear that comes now, and holds no slot (B5)."""

    def gone():
        raise Unauthorized

    for scope, refusal in ((gone, Unauthorized), (lambda: ("b",), Forbidden), (lambda: (), None)):
        first = await world.lease("a")
        ask = Ask("a", allowed=frozenset({"a"}), key="guest", scope=scope)
        waiting = asyncio.create_task(world.supervisor.lease(ask))
        await world.clock.settle()
        assert not waiting.done()
        first.release()
        if refusal is None:
            (await waiting).release()
        else:
            with pytest.raises(refusal):
                await waiting
        (await world.lease("a")).release()


@story(models=[a_model("a"), a_model("b", pooling=1)])
async def test_names_are_judged_without_loading(world):
    """No such model, not its key's, not what it does: as `lease` would say it."""
    world.supervisor.check(Ask("a"))
    with pytest.raises(ModelNotFound):
        world.supervisor.check(Ask("nope"))
    with pytest.raises(Forbidden):
        world.supervisor.check(Ask("a", allowed=frozenset({"b"})))
    with pytest.raises(Malformed):
        world.supervisor.check(Ask("a", Task.EMBED))
    assert not world.children.attempts


@story(models=[a_model("a"), a_model("big", sizes=(4096 * MIB,))])
async def test_a_load_beyond_the_memory_is_refused(world):
    """The guard names both numbers; the model loads once there is room (spawn_mem_guard)."""
    world.census.machine = a_machine(available=2048 * MIB)
    with pytest.raises(DoesNotFit) as caught:
        await world.lease("big")
    assert str(caught.value) == teaching.not_enough_memory("big", (2048 + 512) * MIB, 2048 * MIB)
    assert not world.children.attempts
    world.census.machine = a_machine(available=2560 * MIB)
    (await world.lease("big")).release()


@story(models=[a_model("big", sizes=(4096 * MIB,))], limits=Limits(spawn_mem_guard=False))
async def test_the_guard_can_be_switched_off(world):
    """spawn_mem_guard = false tries everything."""
    world.census.machine = a_machine(available=MIB)
    (await world.lease("big")).release()


@story()
async def test_a_missing_file_or_engine_is_told_and_counts_for_nothing(world):
    """Refusals before there is a process never open the breaker."""
    world.files.content.clear()
    for _ in range(5):
        with pytest.raises(NotFound) as caught:
            await world.lease("a")
        assert str(caught.value) == teaching.model_file_gone("a", "/models/a.gguf")
    world.planner.engines.remove_engine("b11434")
    world.files.content["/models/a.gguf"] = "x"
    with pytest.raises(Unserved):
        await world.lease("a")
    assert not world.children.attempts
    assert world.supervisor.reset() == []


# Explicit wishes


@story()
async def test_eviction_waits_for_those_in_flight(world):
    """No new request meanwhile; the one that arrives gets the next child (D4)."""
    running = await world.lease("a")
    evicting = asyncio.create_task(world.supervisor.evict("a:latest"))
    await world.clock.advance(10.0)
    assert world.state() == "draining"
    assert world.supervisor.try_lease("a") is None
    arriving = world.ask("a")
    await world.clock.advance(10.0)
    assert not arriving.done()
    running.release()
    await world.clock.advance(1.0)
    assert await evicting == ["a"]
    (await arriving).release()
    assert len(world.children.spawned) == 2
    assert world.meter.crashes == []


@story()
async def test_a_drain_ends_after_30_seconds(world):
    """Whoever still runs is cut off by the ladder (D4)."""
    running = await world.lease("a")
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(29.9)
    assert world.state() == "draining"
    await world.clock.advance(0.2)
    assert await evicting == ["a"]
    running.release()
    assert world.view() is None


@story()
async def test_a_second_wish_does_not_lengthen_the_drain(world):
    """Each eviction asked for while it drains ends with the first one."""
    running = await world.lease("a")
    first = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(20.0)
    second = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(11.0)
    assert await first == await second == ["a"]
    running.release()


@story()
async def test_force_skips_the_drain(world):
    """Connections are closed before the first signal; those in line are told (D31)."""
    running = await world.lease("a")
    waiting = world.ask("a")
    await world.clock.settle()
    child = world.children.of("a")
    evicting = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(0.1)
    assert child.upstream.closed
    assert await evicting == ["a"]
    with pytest.raises(Busy) as caught:
        await waiting
    assert str(caught.value) == teaching.evicted_while_waiting("a")
    running.release()


@story()
async def test_force_cuts_a_drain_short(world):
    """A patient eviction can be followed by an impatient one."""
    running = await world.lease("a")
    patient = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(5.0)
    impatient = asyncio.create_task(world.supervisor.evict("a", force=True))
    await world.clock.advance(0.1)
    assert await patient == await impatient == ["a"]
    running.release()


@story()
async def test_eviction_during_a_load_stops_it(world):
    """The child goes at once; whoever waited gets another one."""
    world.children.next("a", Script(ready_after=None))
    waiting = world.ask("a")
    await world.clock.advance(1.0)
    evicting = asyncio.create_task(world.supervisor.evict("a"))
    await world.clock.advance(1.0)
    assert await evicting == ["a"]
    (await waiting).release()
    assert world.meter.crashes == []


@story()
async def test_evicting_what_is_not_there(world):
    """A known model without a child: nothing happened. An unknown one is refused."""
    assert await world.supervisor.evict("a") == []
    (await world.lease("b")).release()
    assert await world.supervisor.evict("b#1") == []
    assert world.state("b") == "serving"
    with pytest.raises(ModelNotFound):
        await world.supervisor.evict("nobody")


@story()
async def test_load_returns_when_it_serves_and_takes_no_slot(world):
    """Also beside a running request; keep_alive is taken along."""
    loading = asyncio.create_task(world.supervisor.load("a", keep_alive=60.0))
    await world.clock.advance(1.0)
    view = await loading
    assert (view.state, view.in_flight) == ("serving", 0)
    assert view.expires_at == pytest.approx(world.clock.wall() + 60.0, abs=1.0)
    running = await world.lease("a")
    assert (await world.supervisor.load("a")).in_flight == 1
    running.release()
    await world.clock.advance(59.0)
    assert world.state() == "serving"
    await world.clock.advance(2.0)
    assert world.view() is None


@story()
async def test_a_replica_cannot_be_loaded_by_itself(world):
    """The model is there, so it is not "not found": the sentence says what to load."""
    for ref in ("a#1", "a#0@vision"):
        with pytest.raises(Malformed, match="runs as one child: load 'a'") as refused:
            await world.supervisor.load(ref)
        assert refused.value.field == "model"
    with pytest.raises(ModelNotFound, match="'nobody' not found"):
        await world.supervisor.load("nobody#1")
    assert not world.children.attempts


@story()
async def test_who_gets_in_line_hears_how_many_were_there(world):
    """For the audit line: those who wait already, without oneself, also when the wait is in vain."""
    depths = []
    first = await world.lease("a", tell_depth=depths.append)
    late = [world.ask("a", tell_depth=depths.append, wait=1.0) for _ in range(3)]
    await world.clock.advance(2.0)
    assert depths == [0, 0, 1, 2]
    for one in late:
        with pytest.raises(Busy):
            await one
    first.release()


@story()
async def test_a_load_that_fails_raises(world):
    """`blazar load` says what went wrong, like a request would."""
    world.children.next("a", Script(fails_to_start="no such file"))
    with pytest.raises(SpawnFailed):
        await world.supervisor.load("a")
    with pytest.raises(ModelNotFound):
        await world.supervisor.load("nobody")


@story()
async def test_a_cancelled_load_leaves_no_waiter(world):
    """Whoever asked for it may leave; the child is there."""
    loading = asyncio.create_task(world.supervisor.load("a"))
    await world.clock.settle()
    loading.cancel()
    await world.clock.advance(1.0)
    assert world.state() == "serving"


@story()
async def test_views_show_what_runs(world):
    """Everything `ps` needs, from the plan and the process."""
    lease = await world.lease("a")
    view = world.view()
    child = world.children.of("a")
    assert (view.key, view.model, view.engine, view.provenance) == ("a", "a", "b11434", "archive")
    assert (view.pid, view.port, view.rss) == (child.pid, child.port, 1_000_000)
    assert (view.ctx, view.slots, view.in_flight, view.waiting) == (4096, 1, 1, 0)
    assert view.size == 240_128
    assert view.argv[0] == "/engines/b11434/llama-server"
    assert view.expires_at == pytest.approx(world.clock.wall() + 1800.0)
    lease.release(keep_alive=-1.0)
    assert world.view().expires_at == 0.0


# The catalog changes


@story()
async def test_a_removed_row_takes_its_child_along(world):
    """Within a second, drained; nobody gets it any more, by any spelling."""
    (await world.lease("A")).release()
    world.catalog.remove_model("a")
    await world.clock.advance(2.0)
    assert world.view() is None
    assert world.supervisor.try_lease("A") is None
    assert world.meter.evictions == [("a", "removed")]
    with pytest.raises(ModelNotFound):
        await world.supervisor.lease(Ask("a"))


@story()
async def test_waiters_of_a_removed_row_are_told(world):
    """Removed while they waited for the new child: 404, not a child of a ghost."""
    running = await world.lease("a")
    waiting = world.ask("a")
    await world.clock.settle()
    world.catalog.remove_model("a")
    await world.clock.advance(2.0)
    running.release()
    await world.clock.advance(1.0)
    with pytest.raises(ModelNotFound):
        await waiting
    assert len(world.children.spawned) == 1


@story()
async def test_a_replaced_row_replaces_its_child(world):
    """The same name with other weights: the next request gets those."""
    (await world.lease("a")).release()
    world.catalog.remove_model("a")
    world.catalog.add_model(a_model("a", digest="cd" * 32))
    lease = await world.lease("a")
    assert lease.model.digest == "cd" * 32
    lease.release()
    assert world.meter.evictions == [("a", "replaced")]


@story()
async def test_a_replaced_row_cuts_no_answer_off(world):
    """However long it takes: who comes meanwhile waits, from the moment at which it is noticed, and gets the new weights."""
    running = await world.lease("a")
    world.catalog.replace_model(a_model("a", digest="cd" * 32))
    world.supervisor.look_at_catalog()
    assert world.supervisor.try_lease("a") is None
    waiting = world.ask("a")
    await world.clock.advance(10 * world.supervisor.limits.drain_secs)
    assert not waiting.done()
    assert world.meter.evictions == []
    running.release()
    await world.clock.advance(5.0)
    lease = await waiting
    assert lease.model.digest == "cd" * 32
    lease.release()
    assert world.meter.evictions == [("a", "replaced")]


@story()
async def test_a_draft_that_came_later_replaces_its_child(world):
    """The weights are the same: what guesses for them is not."""
    (await world.lease("a")).release()
    world.catalog.replace_model(a_model("a", draft="/models/a@draft.gguf"))
    (await world.lease("a")).release()
    assert world.meter.evictions == [("a", "replaced")]


@story(a={"extra_args": ["--lora", "/l/a.gguf"]}, b={"ctx": 512})
async def test_an_adapter_that_was_pulled_anew_replaces_the_children_that_read_it(world):
    """Its path stays, and so do row and configuration: what runs goes on to its end, and nobody new gets the old one."""
    content = world.planner.sizing.files.content
    content["/l/a.gguf"] = some_facts("/l/a.gguf")
    running = await world.lease("a")
    (await world.lease("b")).release()
    await world.supervisor.look_at_files()
    assert world.state() == "serving"
    content["/l/a.gguf"] = some_facts("/l/a.gguf", digest="cd" * 32)
    await world.supervisor.look_at_files()
    waiting = world.ask("a")
    await world.clock.advance(2 * world.supervisor.limits.drain_secs)
    assert not waiting.done()
    running.release()
    await world.clock.advance(5.0)
    (await waiting).release()
    await world.supervisor.look_at_files()
    await world.clock.advance(5.0)
    assert world.meter.evictions == [("a", "replaced")]


@story(a={"extra_args": ["--lora", "/l/a.gguf"]})
async def test_who_waits_for_a_child_that_reads_the_old_adapter_gets_the_next(world):
    """It is pulled anew while the model loads: nobody is refused for it, and nobody gets the old one."""
    content = world.planner.sizing.files.content
    content["/l/a.gguf"] = some_facts("/l/a.gguf")
    world.children.next("a", Script(ready_after=100))
    waiting = world.ask("a")
    await world.clock.advance(0.2)
    assert world.state() == "loading"
    content["/l/a.gguf"] = some_facts("/l/a.gguf", digest="cd" * 32)
    for _ in range(2):  # several pulls may end at the same time
        await world.supervisor.look_at_files()
    await world.clock.advance(30.0)
    (await waiting).release()
    assert len(world.children.spawned) == 2
    assert world.meter.evictions == [("a", "replaced")]


@story()
async def test_other_changes_of_the_catalog_touch_no_child(world):
    """A new row clears the remembered names and nothing else."""
    (await world.lease("a")).release()
    world.catalog.add_model(a_model("d"))
    await world.clock.advance(2.0)
    assert world.state() == "serving"
    assert world.supervisor.try_lease("a") is None
    (await world.lease("a")).release()
    world.supervisor.try_lease("a").release()
    assert len(world.children.spawned) == 1


# Shutdown


@story()
async def test_another_active_build_is_news(world):
    """It is the next children's; who installs without using it changes nothing."""
    world.planner.engines.add_engine(an_engine("b20000"))
    world.catalog.add_model(a_model("d"))
    await world.clock.advance(1)
    assert world.told("engine_changed") == []
    world.planner.engines.set_active(EngineKind.LLAMACPP, "b20000")
    world.catalog.add_model(a_model("e"))
    await world.clock.advance(1)
    assert world.told("engine_changed") == [{"lane": "llamacpp", "engine": "b20000", "was": "b11434"}]


@story()
async def test_what_is_there_at_the_first_look_is_no_news(world):
    """Whoever looks first, also before the supervisor has begun to watch: a pull's leftovers may be mended by then."""
    early = replace(world.supervisor)
    world.catalog.add_model(a_model("d"))
    early.look_at_catalog()
    assert world.told("engine_changed") == []
    world.planner.engines.add_engine(an_engine("b20000"))
    world.planner.engines.set_active(EngineKind.LLAMACPP, "b20000")
    world.catalog.add_model(a_model("e"))
    early.look_at_catalog()
    assert world.told("engine_changed") == [{"lane": "llamacpp", "engine": "b20000", "was": "b11434"}]


@story(a={"slots": 1})
async def test_shutdown_drains_and_refuses(world):
    """Those in line are told, the one in flight may end, new ones are refused, all at the same time (case G4)."""
    running = await world.lease("a")
    (await world.lease("b")).release()
    waiting = world.ask("a")
    await world.clock.settle()
    closing = asyncio.create_task(world.supervisor.aclose(5.0))
    await world.clock.advance(1.0)
    with pytest.raises(Busy) as caught:
        await waiting
    assert str(caught.value) == teaching.shutting_down()
    with pytest.raises(Busy):
        await world.supervisor.lease(Ask("a"))
    assert world.supervisor.try_lease("a") is None
    assert (world.state("a"), world.state("b")) == ("draining", None)
    running.release()
    await world.clock.advance(1.0)
    await closing


@story()
async def test_shutdown_does_not_wait_for_ever(world):
    """After the drain the ladder, also for what ignores it and for a load under way."""
    world.children.next("a", Script(terms_needed=None))
    world.children.next("b", Script(ready_after=None))
    running, loading = await world.lease("a"), world.ask("b")
    await world.clock.settle()
    closing = asyncio.create_task(world.supervisor.aclose(5.0))
    await world.clock.advance(16.9)
    assert not closing.done()
    await world.clock.advance(0.2)
    await closing
    with pytest.raises(Busy):
        await loading
    running.release()


@story()
async def test_who_serves_is_told_with_since_when_it_is_idle(world):
    """For whoever asks children what they count; one that loads is none yet."""
    assert world.supervisor.residents() == []
    lease = await world.lease("a")
    (busy,) = world.supervisor.residents()
    assert (busy.tenure.key, busy.idle_since) == ("a", None)
    lease.release()
    (idle,) = world.supervisor.residents()
    assert idle.idle_since == world.clock.now()
    assert (lease.key, lease.engine) == ("a", busy.tenure.launch.engine.tag)


@story()
async def test_a_child_that_begins_to_serve_is_told_with_its_reasons(world):
    """Which lane and why, and how large it was planned: the story of a request needs it later."""
    await world.lease("a")
    (facts,) = [facts for kind, facts in world.events.emitted if kind == "serving"]
    assert {"model", "engine", "seconds", "lane", "ctx", "slots", "planned", "why"} == set(facts)
    assert (facts["lane"], facts["ctx"], bool(facts["why"])) == ("llamacpp", 4096, True)
