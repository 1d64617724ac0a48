"""A reply that stands before another one, for who wants to see or to hold what is written. Decides nothing."""

from collections.abc import Callable

from blazar.adapters.http.lane.reply import Reply
from blazar.application.ports.upstream import Headers


class PassingReply(Reply):
    """As it is, it changes nothing."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.shares = reply.shares

    def start(self, status: int, headers: Headers) -> None:
        self._reply.start(status, headers)

    def write(self, data: bytes) -> None:
        self._reply.write(data)

    def finish(self) -> None:
        self._reply.finish()

    def abort(self) -> None:
        self._reply.abort()

    async def carry(self) -> None:
        await self._reply.carry()

    def release(self) -> None:
        self._reply.release()

    @property
    def gone(self) -> bool:  # type: ignore[override] # the port's is a variable, and the door behind sets its own
        return self._reply.gone

    @property
    def on_gone(self) -> Callable[[], None] | None:
        return self._reply.on_gone

    @on_gone.setter
    def on_gone(self, call: Callable[[], None] | None) -> None:
        self._reply.on_gone = call

    @property
    def on_pause(self) -> Callable[[], None] | None:
        return self._reply.on_pause

    @on_pause.setter
    def on_pause(self, call: Callable[[], None] | None) -> None:
        self._reply.on_pause = call

    @property
    def on_resume(self) -> Callable[[], None] | None:
        return self._reply.on_resume

    @on_resume.setter
    def on_resume(self, call: Callable[[], None] | None) -> None:
        self._reply.on_resume = call
