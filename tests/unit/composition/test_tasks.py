"""Background tasks."""

import asyncio
import logging

import pytest

from blazar.composition.tasks import BackgroundTask
from blazar.domain.errors import ModelNotFound


def outcome(error: Exception, caplog: pytest.LogCaptureFixture) -> str:
    """What the log says of a task that fails with `error`."""

    async def work() -> None:
        raise error

    async def scenario() -> None:
        task = BackgroundTask("preload", work)
        await task.start()
        await asyncio.sleep(0)
        await task.aclose()

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    return caplog.text


def test_a_refusal_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A model that is not there does not take the daemon with it, and needs no traceback."""
    text = outcome(ModelNotFound("m"), caplog)
    assert "preload: model 'm' not found" in text
    assert "Traceback" not in text


def test_a_bug_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Unexpected errors keep their details, in the log only."""
    assert "Traceback" in outcome(ZeroDivisionError(), caplog)


def test_closing_cancels_a_task_that_still_works() -> None:
    """Nothing outlives the daemon."""
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def scenario() -> None:
        task = BackgroundTask("loop", work)
        await task.start()
        await asyncio.sleep(0)
        await task.aclose()

    asyncio.run(scenario())
    assert ended == [True]
