"""`mmproj_policy = lazy`: a model's child is replaced by one with its projector when the first picture comes, and text never suffers."""

import asyncio

import pytest

from blazar.application.supervise.leasing import Ask
from blazar.domain import teaching
from blazar.domain.errors import Busy, DoesNotFit, Malformed, SpawnFailed
from blazar.domain.fit.shape import Projector
from blazar.domain.instance.sight import AGAIN_AFTER
from tests.fakes.catalog import a_model
from tests.fakes.children import Script
from tests.support.supervision import story

PICTURE = {"vision": True}
FILE = "/models/a-mmproj.gguf"


def seeing(world):
    """For every child so far, whether it was told of the projector."""
    return ["--mmproj" in child.plan.words for child in world.children.spawned]


async def evicted(world, ref, **more):
    """What an eviction answers."""
    evicting = asyncio.create_task(world.supervisor.evict(ref, **more))
    await world.clock.advance(1.0)
    return await evicting


@story()
async def test_the_first_picture_has_the_child_replaced(world):
    """It serves pictures and text from then on; the memory of the projector is part of its plan."""
    world.give_projector("a")
    plain = await world.lease("a")
    assert plain.blind
    plain.release()
    picture = await world.lease("a", **PICTURE)
    assert (picture.blind, seeing(world)) == ("", [False, True])
    picture.release()
    for more in ({}, PICTURE):
        (await world.lease("a", **more)).release()
    assert FILE in world.children.spawned[-1].plan.words
    assert len(world.children.spawned) == 2
    assert world.told("evicted")[0]["cause"] == "vision"
    assert teaching.projector_attached(FILE) in world.view().notes
    launch = world.supervisor.tenants()[0].launch
    assert launch.verdict.memory.projector_bytes == 7


@story()
async def test_a_picture_that_comes_first_loads_once(world):
    """No child without a projector is started for it."""
    world.give_projector("a")
    (await world.lease("a", **PICTURE)).release()
    assert seeing(world) == [True]


@story()
async def test_once_it_is_gone_the_next_text_gets_a_plain_child(world):
    """The wish lives as long as the child: memory that nobody needs is not taken again."""
    world.give_projector("a")
    (await world.lease("a", **PICTURE)).release()
    assert await evicted(world, "a") == ["a"]
    (await world.lease("a")).release()
    await world.clock.advance(2000.0)  # idle
    (await world.lease("a")).release()
    (await world.lease("a", **PICTURE)).release()
    assert seeing(world) == [True, False, False, True]


@story(a={"slots": 2})
async def test_a_picture_while_the_plain_child_streams(world):
    """What runs ends by itself; the picture never gets the free slot, and text that comes meanwhile is served by the successor."""
    world.give_projector("a")
    stream = await world.lease("a")
    picture = world.ask("a", **PICTURE)
    await world.clock.advance(0.1)
    text = world.ask("a")
    assert world.supervisor.try_lease("a") is None
    await world.clock.advance(300.0)
    assert (world.state(), picture.done(), text.done()) == ("draining", False, False)
    stream.release()
    await world.clock.advance(2.0)
    first, second = await picture, await text
    assert (first.blind, second.blind, seeing(world)) == ("", "", [False, True])
    first.release()
    second.release()


@story(a={"slots": 2})
async def test_two_pictures_at_once_need_one_child(world):
    """Whoever comes second waits for the same one."""
    world.give_projector("a")
    (await world.lease("a")).release()
    pictures = [world.ask("a", **PICTURE) for _ in range(2)]
    await world.clock.advance(2.0)
    for picture in pictures:
        (await picture).release()
    assert seeing(world) == [False, True]


@story()
async def test_a_picture_at_any_moment_of_a_load_is_granted(world):
    """Also when the child becomes ready in the very turn in which it comes; the text that began the load is served too."""
    world.give_projector("a")
    for turns in range(30):
        await evicted(world, "a")
        text = world.ask("a")
        for _ in range(turns):
            await asyncio.sleep(0)
        picture = world.ask("a", **PICTURE)
        for _ in range(20):
            await world.clock.advance(0.1)
            for task in (text, picture):
                if task.done():
                    task.result().release()
        assert picture.result().blind == ""
        assert text.done()


@story()
async def test_a_picture_whose_client_left_leaves_nothing_behind(world):
    """At any moment: text is served as before, by whichever child."""
    world.give_projector("a")
    for turns in range(30):
        (await world.lease("a")).release()
        picture = world.ask("a", **PICTURE)
        for _ in range(turns):
            await asyncio.sleep(0)
        picture.cancel()
        (await world.lease("a")).release()
        await evicted(world, "a")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"mmproj_policy": "skip"}, teaching.projector_skipped("a")),
        ({"mmproj": "skip"}, teaching.projector_skipped("a")),
        ({"mmproj_auto": False}, teaching.projector_ignored("a", "/models/a-mmproj.gguf")),
        (
            {"mmproj": "/p/none.gguf"},
            teaching.projector_unreadable("a", teaching.told_path_missing("/p/none.gguf", "--mmproj", "mmproj", "")),
        ),
    ],
)
def test_without_a_projector_a_picture_is_refused(said, sentence):
    """By its sentence, and the child that serves text stays."""

    @story(a=said)
    async def scenario(world):
        world.give_projector("a")
        (await world.lease("a")).release()
        for load in (world.lease("a", **PICTURE), world.supervisor.load("a@vision")):
            with pytest.raises(Malformed) as refused:
                await load
            assert (str(refused.value), refused.value.field) == (sentence, "model")
        (await world.lease("a")).release()
        assert seeing(world) == [False]

    scenario()


@story()
async def test_a_model_without_a_projector_beside_it(world):
    """Nothing is started to find that out."""
    with pytest.raises(Malformed, match="'a' takes no pictures: it has no projector"):
        await world.lease("a", **PICTURE)
    assert world.children.attempts == []


@pytest.mark.parametrize(
    "said",
    [
        {"mmproj_policy": "attach"},
        {"extra_args": ["--mmproj", FILE]},
        {"engine_env": {"LLAMA_ARG_MMPROJ": FILE}},
    ],
)
def test_a_child_that_has_it_from_the_start_is_kept(said):
    """Under `attach`, and where a person's own words name a projector."""

    @story(a=said)
    async def scenario(world):
        world.give_projector("a")
        (await world.lease("a")).release()
        (await world.lease("a", **PICTURE)).release()
        assert len(world.children.spawned) == 1

    scenario()


@story(a={"mmproj": FILE, "mmproj_auto": False})
async def test_an_override_s_own_projector_waits_as_well(world):
    """A file changes which one, not when."""
    world.files.content[FILE] = "own"
    (await world.lease("a")).release()
    (await world.lease("a", **PICTURE)).release()
    assert seeing(world) == [False, True]


@story()
async def test_a_projector_that_does_not_fit_is_refused_before_text_suffers(world):
    """The child without it serves on."""
    world.give_projector("a")
    (await world.lease("a")).release()
    for path in ("/models/a.gguf", FILE):
        world.files.projectors[path] = Projector("clip", 2**50, 0)
    with pytest.raises(DoesNotFit):
        await world.lease("a", **PICTURE)
    (await world.lease("a")).release()
    assert seeing(world) == [False]


@story()
async def test_a_projector_that_the_engine_does_not_take(world):
    """Only who brought a picture hears of it; it isn't tried again at once, and text is served all the time."""
    world.give_projector("a")
    world.children.next("a", Script(), Script(dies_after=1, says=("wrong width",)))
    stream = await world.lease("a")
    picture = world.ask("a", **PICTURE)
    await world.clock.advance(0.1)
    text = world.ask("a")
    stream.release()
    await world.clock.advance(5.0)
    with pytest.raises(SpawnFailed, match=r"could not be loaded with its projector .* wrong width"):
        await picture
    (await text).release()
    assert seeing(world) == [False, True, False]
    with pytest.raises(SpawnFailed, match="could not be loaded with its projector"):
        await world.lease("a", **PICTURE)
    assert len(world.children.spawned) == 3
    await world.clock.advance(AGAIN_AFTER)
    (await world.lease("a", **PICTURE)).release()
    assert seeing(world) == [False, True, False, True]


@story()
async def test_a_projector_that_was_mended_is_tried_at_once(world):
    """After a reset, and after a change of the configuration."""
    world.give_projector("a")
    for mend in (world.supervisor.reset, world.configure):
        world.children.next("a", Script(dies_after=1))
        with pytest.raises(SpawnFailed):
            await world.lease("a", **PICTURE)
        if (done := mend()) and asyncio.iscoroutine(done):
            await done
        (await world.lease("a", **PICTURE)).release()
        await evicted(world, "a")


@story()
async def test_a_load_that_stalls_with_its_projector_spares_text(world):
    """It is given up; who waits for text gets another child, who brought a picture is told."""
    world.give_projector("a")
    world.children.next("a", Script(ready_after=None, moves=False))
    picture = world.ask("a", **PICTURE)
    await world.clock.advance(1.0)
    text = world.ask("a")
    for _ in range(60):
        await world.clock.advance(1.0)
    with pytest.raises(SpawnFailed):
        await picture
    (await text).release()
    assert seeing(world) == [True, False]


@story()
async def test_a_child_with_a_projector_that_crashes_is_followed_by_what_is_wanted(world):
    """Text alone brings a plain one."""
    world.give_projector("a")
    lease = await world.lease("a", **PICTURE)
    world.children.spawned[-1].die()
    await world.clock.advance(0.1)
    lease.release(failed=True)
    await world.clock.advance(5.0)
    (await world.lease("a")).release()
    assert seeing(world) == [True, False]


@story()
async def test_load_and_evict_by_the_mark(world):
    """`model@vision` is the child with a projector, whoever asked for it; a plain one is another."""
    world.give_projector("a")
    await world.lease("a")  # its answer never ends
    assert await evicted(world, "a@vision") == []
    assert await evicted(world, "a@vision", force=True) == []
    assert await evicted(world, "a", force=True) == ["a"]
    loading = asyncio.create_task(world.supervisor.load("a@vision"))
    await world.clock.advance(1.0)
    assert (await loading).key == "a"
    assert (await world.supervisor.load("a")).pid == world.view().pid
    assert seeing(world) == [False, True]
    assert await evicted(world, "a@vision") == ["a"]
    assert await evicted(world, "a@vision") == []


@story()
async def test_a_load_with_its_projector_replaces_a_plain_child(world):
    """As a picture does."""
    world.give_projector("a")
    (await world.lease("a")).release()
    loading = asyncio.create_task(world.supervisor.load("a@vision"))
    await world.clock.advance(2.0)
    await loading
    assert seeing(world) == [False, True]


@story()
async def test_a_picture_during_shutdown_is_turned_away(world):
    """As any other request."""
    world.give_projector("a")
    (await world.lease("a")).release()
    picture = world.ask("a", **PICTURE)
    closing = asyncio.create_task(world.supervisor.aclose())
    await world.clock.advance(5.0)
    await closing
    with pytest.raises(Busy):
        await picture


@story()
async def test_a_policy_that_changed_replaces_the_child(world):
    """What the configuration says now is compared with pictures in mind: the same again is no change."""
    world.give_projector("a")
    (await world.lease("a", **PICTURE)).release()
    await world.configure(a={"mmproj_policy": "lazy"})
    await world.clock.advance(1.0)
    assert world.state() == "serving"
    await world.configure(a={"mmproj_policy": "skip"})
    await world.clock.advance(1.0)
    assert world.view() is None


@story(models=[a_model("a"), a_model("b"), a_model("c")])
async def test_a_model_that_takes_pictures_is_named(world):
    """Of those that the key may use."""
    world.give_projector("b")
    world.give_projector("c")
    sentence = teaching.projector_missing("a")
    for allowed, named in ((None, ["b", "c"]), (frozenset({"a", "c"}), ["c"])):
        with pytest.raises(Malformed) as refused:
            await world.supervisor.lease(Ask("a", allowed=allowed, **PICTURE))
        assert str(refused.value) == teaching.others_can(sentence, named)
    with pytest.raises(Malformed) as refused:
        await world.supervisor.lease(Ask("a", allowed=frozenset({"a"}), **PICTURE))
    assert str(refused.value) == sentence
    assert not world.children.attempts
