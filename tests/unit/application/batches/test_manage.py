"""What clients may do with batches."""

import pytest

from blazar.domain.batches import State
from blazar.domain.errors import Malformed, NotFound
from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic_batches import KEPT
from blazar.domain.wire.paging import Page
from tests.fakes.clock import FakeClock
from tests.support.batching import CHAT, Batches, line, run


async def advance(batches: Batches, seconds: float) -> None:
    assert isinstance(batches.clock, FakeClock)
    await batches.clock.advance(seconds)


def test_a_batch_of_a_file_that_goes_is_answered_all_the_same() -> None:
    """Its requests are its own from the moment it was made."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(line("a"))
        batches.shelf.remove(batch.input_file_id, "")
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.COMPLETED

    run(test)


def test_somebody_elses_file_is_none() -> None:
    """Nor can a batch be made of it (A29)."""

    async def test(batches: Batches) -> None:
        note = batches.upload(b"{}", "other")
        order = {"input_file_id": note.id, "endpoint": CHAT, "completion_window": "24h"}
        with pytest.raises(NotFound):
            await batches.manage.make("me", order)
        batches.kept.files.clear()
        with pytest.raises(NotFound):
            await batches.manage.make("other", order)

    run(test)


def test_a_file_for_something_else_is_refused() -> None:
    """With the purpose that it should have."""

    async def test(batches: Batches) -> None:
        note = batches.upload(b"{}", purpose="vision")
        with pytest.raises(Malformed) as refused:
            await batches.manage.make("", {"input_file_id": note.id, "endpoint": CHAT, "completion_window": "24h"})
        assert refused.value.field == "input_file_id"

    run(test)


@pytest.mark.parametrize("dialect", [Dialect.OPENAI, Dialect.ANTHROPIC])
def test_somebody_elses_batch_is_none(dialect: Dialect) -> None:
    """It is not described, not listed and not stopped (A29)."""

    async def test(batches: Batches) -> None:
        made = (
            batches.make(line("a"), owner="a") if dialect is Dialect.OPENAI else batches.make_messages("a", owner="a")
        )
        batch = await made
        for wish in (batches.manage.find, batches.manage.cancel):
            with pytest.raises(NotFound):
                await wish(dialect, batch.id, "b")
        assert (await batches.manage.page(dialect, "b", Page())).batches == ()
        assert [one.id for one in (await batches.manage.page(dialect, "a", Page())).batches] == [batch.id]
        with pytest.raises(NotFound):
            await batches.manage.find(dialect, "nope", "a")

    run(test)


def test_a_listing_says_whether_there_is_more() -> None:
    """Newest first, from behind the one that is named."""

    async def test(batches: Batches) -> None:
        ids = [(await batches.make(line("a"))).id for _ in range(3)]
        first = await batches.manage.page(Dialect.OPENAI, "", Page(2))
        assert ([one.id for one in first.batches], first.more) == ([ids[2], ids[1]], True)
        rest = await batches.manage.page(Dialect.OPENAI, "", Page(2, ids[1]))
        assert ([one.id for one in rest.batches], rest.more) == ([ids[0]], False)

    run(test)


def test_a_message_batch_is_removed_when_it_has_ended() -> None:
    """With its results; before that it is refused."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"a"}
        batch = await batches.make_messages("a")
        await advance(batches, 0)
        with pytest.raises(Malformed):
            await batches.manage.remove(batch.id, "")
        with pytest.raises(Malformed):
            await batches.manage.results(batch.id, "")
        batches.answering.let_go()
        await advance(batches, 0)
        assert b'"custom_id":"a"' in (await batches.manage.results(batch.id, "")).read(1000)
        await batches.manage.remove(batch.id, "")
        assert batch.id not in batches.kept.files
        for wish in (batches.manage.remove, batches.manage.results):
            with pytest.raises(NotFound):
                await wish(batch.id, "")

    run(test)


def test_results_whose_file_is_gone_are_a_404() -> None:
    """Somebody has tidied the folder."""

    async def test(batches: Batches) -> None:
        batch = await batches.make_messages("a")
        await advance(batches, 0)
        batches.kept.files.clear()
        with pytest.raises(NotFound):
            await batches.manage.results(batch.id, "")

    run(test)


def test_a_message_batch_is_forgotten_in_time() -> None:
    """Whether anybody has looked for what expired or not."""

    async def test(batches: Batches) -> None:
        batch = await batches.make_messages("a")
        await advance(batches, KEPT)
        with pytest.raises(NotFound):
            await batches.now(batch)

    run(test)


def test_what_has_no_effect_is_named() -> None:
    """In both dialects."""

    async def test(batches: Batches) -> None:
        note = batches.upload(b"{}")
        order = {"input_file_id": note.id, "endpoint": CHAT, "completion_window": "24h", "x": 1}
        assert len((await batches.manage.make("", order)).warnings) == 1
        requests = [{"custom_id": "a", "params": {}}]
        assert len((await batches.manage.make_messages("", {"requests": requests, "x": 1})).warnings) == 1

    run(test)
