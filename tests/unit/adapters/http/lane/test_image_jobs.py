"""`/v1/images/generations` through the lane."""

import base64
import json
import struct
from typing import Any

import pytest

from blazar.adapters.http.lane.image_jobs import generations
from blazar.adapters.http.lane.job import Occasion
from blazar.adapters.http.lane.relay import Limits
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.kinds import Task
from blazar.domain.manners import Manners
from tests.support.lane_rig import Rig, run

PATH = "/v1/images/generations"
ASKED = {"model": "tiny", "prompt": "a cat", "size": "64x64"}
SD = Manners(
    name="sd-server", tasks=frozenset({Task.IMAGE}), asked_as="sd-cpp-local", draws=True, tagged="sd_cpp_extra_args"
)
FRONT = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 64, 64)
PNG = base64.b64encode(FRONT).decode()
PICTURE = b'{"created":1,"data":[{"b64_json":"%b"}],"output_format":"png"}' % PNG.encode()


def drawing(rig: Rig) -> None:
    """Its child is an sd-server."""
    rig.leasing.called, rig.leasing.manners = "sd-cpp-local", SD


def test_a_picture_passes_as_it_came() -> None:
    """The same bytes, with the lease back; the child is asked by its own name, with a seed behind its tag."""

    async def test(rig: Rig) -> None:
        drawing(rig)
        reply = await rig.post(PATH, {**ASKED, "quality": "hd"})
        asked = rig.asked
        assert (asked["model"], asked["size"]) == ("sd-cpp-local", "64x64")
        assert asked["prompt"].startswith('a cat<sd_cpp_extra_args>{"seed":')
        await rig.answer(PICTURE)
        assert (reply.status, reply.body) == (200, PICTURE)
        assert reply.header(b"x-blazar-warning") == [b"ignored; 'quality' has no effect here"]

    run(test)


def test_odd_without_a_seed_sd_server_draws_the_same_picture_for_ever() -> None:
    """So that it is always told one, another each time; the caller's own is kept."""

    def seed(**more: Any) -> int:
        body = json.loads(generations(json.dumps({**ASKED, **more}).encode()).call("m").body)
        told: int = body["seed"]
        return told

    assert len({seed() for _ in range(20)}) > 1
    assert seed(seed=7) == 7


def test_a_url_holds_the_picture() -> None:
    """Of the type that it really has: another one than was asked for is said."""

    async def test(rig: Rig) -> None:
        drawing(rig)
        reply = await rig.post(PATH, {**ASKED, "response_format": "url", "output_format": "jpeg", "seed": 3})
        assert '{"seed":3}' in rig.asked["prompt"]
        await rig.answer(PICTURE)
        assert reply.json()["data"] == [{"url": f"data:image/png;base64,{PNG}"}]
        (said,) = reply.header(b"x-blazar-warning")
        assert said.startswith(b"rewritten; 'output_format' jpeg became png")

    run(test)


def test_another_size_than_asked_is_a_warning() -> None:
    """It is known when the picture is there; the picture passes as it came."""

    async def test(rig: Rig) -> None:
        drawing(rig)
        reply = await rig.post(PATH, {**ASKED, "size": "63x65"})
        front = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 64, 72)).decode()
        await rig.answer(json.dumps({"data": [{"b64_json": front}]}).encode())
        assert reply.json()["data"][0]["b64_json"] == front
        (said,) = reply.header(b"x-blazar-warning")
        assert said.startswith(b"rewritten; 'size' 63x65 became 64x72")

    run(test)


def test_a_picture_may_take_longer_than_text() -> None:
    """Time to headers is drawing time: its own key counts, and is named when it is over."""

    async def test(rig: Rig) -> None:
        drawing(rig)
        reply = await rig.post(PATH, ASKED)
        await rig.clock.advance(6.0)
        assert reply.status == 0
        await rig.clock.advance(30.0)
        assert reply.status == 504
        assert "sdcpp_child_header_timeout_secs" in reply.json()["error"]["message"]
        assert rig.lease.released == [(None, True)]

    run(test, Limits(header_timeout=5.0, picture_timeout=20.0))


def test_the_engines_refusal_is_told_in_its_words() -> None:
    """It says errors as bare texts."""

    async def test(rig: Rig) -> None:
        drawing(rig)
        reply = await rig.post(PATH, ASKED)
        await rig.answer(b'{"error":"invalid params"}', 400)
        assert (reply.status, reply.json()["error"]["message"]) == (400, "invalid params")

    run(test)


@pytest.mark.parametrize("answer", [b'{"data":[{"b64_json":"QQ=="}]}', PICTURE])
def test_what_is_not_what_was_asked_for_is_a_502(answer: bytes) -> None:
    """No picture, or one where two were asked for: nothing of it reaches the caller, and the engine is at fault."""

    async def test(rig: Rig) -> None:
        drawing(rig)
        reply = await rig.post(PATH, {**ASKED, "n": 2 if answer is PICTURE else 1})
        await rig.answer(answer)
        assert reply.status == 502
        assert b"b64_json" not in reply.body
        assert rig.lease.released == [(None, True)]

    run(test)


@pytest.mark.parametrize("raw", [b"{}", b'{"data":[]}', b"not json", b"[" * 100_000])
def test_an_answer_without_a_picture_is_a_502(raw: bytes) -> None:
    """However good its status was."""
    with pytest.raises(EngineSaid) as failed:
        generations(json.dumps(ASKED).encode()).whole(Occasion("m", "t", 0.0, 0.0, lambda: 0.0), raw)
    assert failed.value.status == 502


@pytest.mark.parametrize("more", [{"stream": True}, {"model": None}, {"n": 0}])
def test_what_is_wrong_is_refused_before_anything_is_leased(more: dict[str, Any]) -> None:
    """A picture comes whole or not at all."""
    with pytest.raises(Malformed):
        generations(json.dumps({**ASKED, **more}).encode())


def test_the_half_of_a_job_that_it_never_needs() -> None:
    """There is no stream, no second question, and no request without a prompt."""
    job = generations(json.dumps({**ASKED, "stream": False}).encode())
    occasion = Occasion("m", "t", 0.0, 0.0, lambda: 0.0)
    assert job.again(500, b"") is None
    with pytest.raises(AssertionError):
        job.open_stream(occasion)
    with pytest.raises(AssertionError):
        job.loaded(occasion, "load")
