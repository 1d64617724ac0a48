"""A child's HTTP door that a test answers by hand."""

from typing import TYPE_CHECKING

from blazar.application.ports.upstream import ChildAnswer, ChildCall, Exchange, Headers, Sink, Upstream
from blazar.domain import teaching
from blazar.domain.errors import ChildDied, Fault

if TYPE_CHECKING:
    from collections.abc import Callable


class FakeExchange(Exchange):
    """One request under way: say `head`, `body`, `end` or `fault` to its sink. Nothing is heard after an abort."""

    def __init__(self, call: ChildCall, sink: Sink) -> None:
        self.call, self.sink = call, sink
        self.paused = self.aborted = self.finished = False

    def head(self, status: int = 200, headers: Headers = ()) -> None:
        if not self.aborted:
            self.sink.on_head(status, headers)

    def body(self, data: bytes) -> None:
        if not self.aborted:
            self.sink.on_body(data)

    def end(self) -> None:
        if not self.aborted and not self.finished:
            self.finished = True
            self.sink.on_end()

    def fault(self, fault: Fault) -> None:
        if not self.aborted and not self.finished:
            self.finished = True
            self.sink.on_fault(fault)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def abort(self) -> None:
        self.aborted = True


class FakeUpstream(Upstream):
    """Keeps every exchange; `on_send` may answer at once, `answers` are what `fetch` returns by path, `turns` what it returns before that."""

    def __init__(self, model: str = "tiny") -> None:
        self.model = model
        self.exchanges: list[FakeExchange] = []
        self.answers: dict[bytes, ChildAnswer] = {}
        self.turns: dict[bytes, list[ChildAnswer]] = {}
        self.fetched: list[ChildCall] = []
        self.on_send: Callable[[FakeExchange], None] | None = None
        self.closed = False

    def send(self, call: ChildCall, sink: Sink) -> FakeExchange:
        exchange = FakeExchange(call, sink)
        self.exchanges.append(exchange)
        if self.closed:
            exchange.fault(ChildDied(teaching.child_unreachable(self.model)))
        elif self.on_send is not None:
            self.on_send(exchange)
        return exchange

    async def fetch(self, call: ChildCall, within: float) -> ChildAnswer:
        if self.closed:
            raise ChildDied(teaching.child_unreachable(self.model))
        self.fetched.append(call)
        if turns := self.turns.get(call.path):
            return turns.pop(0)
        return self.answers.get(call.path, ChildAnswer(404, (), b""))

    async def aclose(self) -> None:
        self.closed = True
        for exchange in self.exchanges:
            exchange.fault(ChildDied(teaching.child_unreachable(self.model)))
