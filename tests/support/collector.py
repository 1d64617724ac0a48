"""A collector on loopback that takes OTLP over HTTP, reads it with the protocol's own types, and can be told to fail."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

WATCHDOG = 60.0


class Collector:
    """`spans` and `metrics` are what came; `status` is what it answers; `held` keeps it from answering while it is clear."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.types: set[str] = set()
        self.status = 200
        self.held = threading.Event()
        self.held.set()
        self._came = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.take(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def take(self, request: BaseHTTPRequestHandler) -> None:
        data = request.rfile.read(int(request.headers["content-length"]))
        self.held.wait(WATCHDOG)
        with self._came:
            self.types.add(request.headers["content-type"])
            if self.status == 200 and request.path == "/v1/traces":
                message = ExportTraceServiceRequest.FromString(data)
                self.spans += [
                    span for one in message.resource_spans for part in one.scope_spans for span in part.spans
                ]
            elif self.status == 200 and request.path == "/v1/metrics":
                told = ExportMetricsServiceRequest.FromString(data)
                self.metrics += [
                    metric for one in told.resource_metrics for part in one.scope_metrics for metric in part.metrics
                ]
            self._came.notify_all()
        request.send_response(self.status)
        request.send_header("content-length", "0")
        request.end_headers()

    def until(self, holds: Callable[[], bool]) -> bool:
        """Wait for something that comes makes it true."""
        with self._came:
            return self._came.wait_for(holds, WATCHDOG)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.held.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
