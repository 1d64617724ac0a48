"""Chat completions that are kept beside their bytes."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.openai_jobs import chat, completion
from blazar.application.kept.completions import Filters
from blazar.domain.errors import Malformed
from blazar.domain.wire.paging import Page
from tests.support.kept_rig import CHAT, KeptRig, run_kept
from tests.support.lane_rig import DONE, chunk, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]


def body(**more: Any) -> bytes:
    return json.dumps({"model": "tiny", "messages": USER, **more}).encode()


def test_only_a_request_that_asks_for_it_has_to_do_with_it() -> None:
    """The flag is peeked; raw completions are never kept."""
    assert chat(body()).keeps is None
    assert chat(body(store=False, metadata={"a": 1})).keeps is None
    assert chat(body(store=None)).keeps is None
    assert chat(body(store=True)).keeps is not None
    assert completion(b'{"model":"tiny","prompt":"x","store":true}').keeps is None


@pytest.mark.parametrize("more", [{"store": "yes"}, {"store": 1}, {"store": True, "metadata": {"a": 1}}])
def test_what_cannot_be_kept_so_is_refused(more: dict[str, Any]) -> None:
    """Before anything is leased."""
    with pytest.raises(Malformed):
        chat(body(**more))


@pytest.mark.parametrize("model", ["tiny", "tiny:latest"])
def test_the_answer_passes_byte_by_byte(model: str) -> None:
    """What is kept is the same answer, with what was attached."""

    async def test(rig: KeptRig) -> None:
        sent = whole_chat(model=model)
        reply = await rig.ask(CHAT, model=model, messages=USER, store=True, metadata={"a": "b"})
        await rig.answered(sent)
        assert reply.body == sent
        kept = rig.completions.find("c1", "")
        assert kept.completion["choices"] == reply.json()["choices"]
        assert kept.completion["metadata"] == {"a": "b"}
        assert kept.messages == USER

    run_kept(test)


def test_a_stream_passes_too_and_is_put_together() -> None:
    """Without the counts, which its caller did not ask for; they are kept."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(CHAT, messages=USER, store=True, stream=True)
        rig.begin()
        pieces = [chunk("Hel"), chunk("lo"), chunk(finish="stop")]
        rig.exchange.body(b"".join(pieces))
        rig.exchange.body(usage_chunk() + DONE)
        rig.exchange.end()
        await rig.until(rig.tasks[-1].done)
        assert reply.body == b"".join(pieces) + DONE
        kept = rig.completions.find("c1", "").completion
        assert kept["choices"][0]["message"]["content"] == "Hello"
        assert (kept["usage"]["prompt_tokens"], kept["usage"]["completion_tokens"]) == (11, 7)

    run_kept(test)


def test_a_stream_that_breaks_is_not_kept() -> None:
    """It is no answer."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(CHAT, messages=USER, store=True, stream=True)
        rig.begin()
        rig.say("Hel")
        rig.exchange.end()
        await rig.until(rig.tasks[-1].done)
        assert reply.finished
        assert b'"error"' in reply.body
        assert rig.completions.page("", Page(), Filters())[0] == []

    run_kept(test)


def test_another_owner_does_not_see_it() -> None:
    """Owners are keys (A29)."""

    async def test(rig: KeptRig) -> None:
        await rig.ask(CHAT, key="ada", messages=USER, store=True)
        await rig.answered(whole_chat())
        assert rig.completions.find("c1", "ada").completion["id"] == "c1"
        with pytest.raises(Exception, match="no chat completion"):
            rig.completions.find("c1", "eve")

    run_kept(test)
