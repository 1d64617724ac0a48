"""A stand-in for `python -m mlx_lm server` 0.32.2 where its package is not installed: what the gateway must not do to it, made visible.

Behaviour as in mlx_lm/server.py of that version; the real one is asked in tests/contract/live/test_mlx_live.py. Standard library only. Each request records how
many others ran at its side. STUB_FAIL_LOAD=1: the load fails. STUB_SLOW_SECS: how long an answer to "slowly" takes.
"""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120

from openai_stub import Handler, help_and_leave, record, serve, value

FAILED = bool(os.environ.get("STUB_FAIL_LOAD"))
SLOW_SECS = float(os.environ.get("STUB_SLOW_SECS", "2"))
COUNT = threading.Lock()
RUNNING: list[int] = []


class Mlx(Handler):
    """`default_model` is what --model says (`ModelProvider`); any other name would be looked for on a hub."""

    names = ("default_model",)

    def get(self):
        """200 while it loads, 503 for good where that failed (`handle_health_check`); the list has the resolved folder (`handle_models_request`)."""
        if self.path == "/health":
            status = "unavailable" if FAILED else "ok"
            self.send(503 if FAILED else 200, {"status": status})
        elif self.path == "/v1/models":
            folder = os.path.realpath(value("--model"))
            self.send(200, {"object": "list", "data": [{"id": folder, "object": "model", "created": 1}]})
        else:
            self.send(404, b"Not Found")

    def unknown(self, model):
        """`generate` raises what the hub's client says: 404 with the error as a text."""
        self.send(404, {"error": f"Repository Not Found for {model}"})

    def chat(self, body, said):
        """Without a bound it stops at 512 tokens (`--max-tokens`); here such a request is an error, so that a test sees it."""
        with COUNT:
            record(event="chat", beside=len(RUNNING))
            RUNNING.append(1)
        # Long enough for another one to arrive. Whoever leaves meanwhile is not missed: `generate` is asked for tokens to the end.
        time.sleep(SLOW_SECS if '"slowly"' in said else 0.05)
        if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
            self.send(400, {"error": "max_tokens must be at least 1"})
        elif body.get("stream"):
            self.stream(body)
        else:
            self.whole(body)
        with COUNT:
            RUNNING.pop()


if __name__ == "__main__":
    help_and_leave("mlx-lm-0.32.2.txt")
    record(event="start", argv=sys.argv[1:])
    serve(Mlx)
