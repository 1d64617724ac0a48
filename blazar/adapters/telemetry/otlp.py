"""Traces and metrics for a collector, in batches every ten seconds. One thread sends; nobody waits for it, and what it cannot send is counted.

A collector that is slow or gone costs a bounded number of spans in memory, and no request a moment.
"""

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from blazar.adapters.telemetry.metrics import Family, Histogram
from blazar.application.ports.clock import Clock
from blazar.application.ports.recollection import Kept
from blazar.application.ports.telemetry import Served
from blazar.domain import teaching
from blazar.domain.tracing import Coin

if TYPE_CHECKING:
    import httpx

    from blazar.adapters.telemetry.otlp_encoding import Sender

EVERY_SECS: Final = 10.0
"""Architecture document: batches every 10 s."""
BOUND: Final = 2048
"""Requests that may wait to be sent: two hundred a second."""
BATCH: Final = 512
"""Requests in one message: half a megabyte, below what collectors take."""
WAITING: Final = 2
"""Batches that may wait for the thread; a collector that hangs longer loses the rest."""
PATIENCE_SECS: Final = 5.0
"""For one message from its first byte to the head of its answer, however that comes."""
LAST_SECS: Final = 2.0
"""For what is left when the daemon ends."""
TRACES: Final = "/v1/traces"
METRICS: Final = "/v1/metrics"
_PROTOBUF: Final = {"content-type": "application/x-protobuf"}

_LOG: Final = logging.getLogger("blazar.otlp")


class _Bundle(NamedTuple):
    requests: Sequence[Kept]
    families: Sequence[Family]
    now: float


class OtlpExport:
    """`families()` is asked on the loop. `sender` is made in the thread: it loads the library."""

    def __init__(
        self, endpoint: str, sender: Callable[[], "Sender"], families: Callable[[], Sequence[Family]], clock: Clock
    ) -> None:
        self._endpoint = endpoint.removesuffix(TRACES).rstrip("/")
        self._sender, self._families, self._clock = sender, families, clock
        self._coin = Coin()
        self._gathered: deque[Kept] = deque()
        self._bundles: queue.Queue[_Bundle | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._send_all, name="otlp", daemon=True)
        self._task: asyncio.Task[None] | None = None
        self._failing = False
        self.dropped = 0
        """Requests that were to be traced and were not."""
        self.failures = 0
        """Messages that the collector did not take."""

    def on_served(self, served: Served) -> None:
        """On the hot path: a coin, and perhaps a place in a queue."""
        if not self._coin.takes(served.parent, self._clock.now()):
            return
        if len(self._gathered) >= BOUND:
            self.dropped += 1
        else:
            self._gathered.append(Kept(served.ended or self._clock.wall(), served))

    async def start(self) -> None:
        """Begin to send."""
        self._thread.start()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="otlp")

    async def aclose(self) -> None:
        """Send what is there, within a moment."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.tick()
        try:
            self._bundles.put_nowait(None)
        except queue.Full:
            return  # it hangs; the thread ends with the process
        await asyncio.to_thread(self._thread.join, LAST_SECS)

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(EVERY_SECS)
            self.tick()

    def tick(self) -> None:
        """Hand over what was gathered, and the counters as they are now."""
        gathered, self._gathered = self._gathered, deque()
        bundle = _Bundle(tuple(gathered), [_still(family) for family in self._families()], self._clock.wall())
        try:
            self._bundles.put_nowait(bundle)
        except queue.Full:
            self.dropped += len(gathered)

    # The thread

    def _send_all(self) -> None:
        import httpx

        # A loop of its own: only there an export can be ended that goes on and on, a line of a head at a time.
        with asyncio.Runner() as runner:
            # Not the environment's proxies: this goes to the address that was configured, and nowhere else.
            client = httpx.AsyncClient(timeout=PATIENCE_SECS, trust_env=False)
            while (bundle := self._bundles.get()) is not None:
                runner.run(self._send(client, bundle))
            runner.run(client.aclose())

    async def _send(self, client: "httpx.AsyncClient", bundle: _Bundle) -> None:
        from blazar.adapters.telemetry.otlp_encoding import metric_bytes, span_bytes

        sender, requests = self._sender(), bundle.requests
        for at in range(0, len(requests), BATCH):
            batch = requests[at : at + BATCH]
            if not await self._post(client, TRACES, partial(span_bytes, sender, batch)):
                self.dropped += len(batch)
        await self._post(client, METRICS, partial(metric_bytes, sender, bundle.families, bundle.now))

    async def _post(self, client: "httpx.AsyncClient", path: str, encoded: Callable[[], bytes]) -> bool:
        """Whether it was taken. Not tried again: the next batch is on its way, and counters are told as sums."""
        import httpx

        try:
            content = encoded()
            async with (
                asyncio.timeout(PATIENCE_SECS),
                client.stream("POST", self._endpoint + path, content=content, headers=_PROTOBUF) as answer,
            ):
                why = "" if answer.is_success else str(answer.status_code)
        # What cannot be put into the protocol's numbers is lost, and not the thread with it.
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, TypeError) as error:
            why = type(error).__name__
        if why:
            self.failures += 1
        if bool(why) != self._failing:  # once when it begins and once when it is over, not every ten seconds
            self._failing = bool(why)
            at = urlsplit(self._endpoint).hostname or ""
            _LOG.warning("%s", teaching.otlp_failing(at, why) if why else teaching.otlp_again(at))
        return not why


def _still(family: Family) -> Family:
    """A family whose histograms are counted on with no more."""
    if family.kind != "histogram":
        return family
    return family._replace(points=[point._replace(value=_copied(point.value)) for point in family.points])


def _copied(value: float | Histogram) -> float | Histogram:
    return value.copy() if isinstance(value, Histogram) else value
