"""A stand-in for `python -m sglang.launch_server`, because SGLang needs a GPU: 0.5.23's behaviour as its sources have it.

Paths below are of sgl-project/sglang, under python/sglang/srt. Standard library only. STUB_LOAD_SECS is how long its first request takes to warm up.

The model runs in processes of its own, which ask the kernel to be ended with their parent (utils/common.py, `kill_itself_when_parent_died`, called
first by managers/scheduler.py and managers/detokenizer_manager.py): so does the worker here.
"""

import ctypes
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120

from openai_stub import Handler, help_and_leave, record, serve, value

STARTED = time.monotonic()
LOAD_SECS = float(os.environ.get("STUB_LOAD_SECS", "0"))
PR_SET_PDEATHSIG = 1


class SgLang(Handler):
    """It serves one name, --served-model-name (entrypoints/http_server.py, `available_models`)."""

    names = (value("--served-model-name"),)

    def get(self):
        """`/health` is 503 with an empty body while the status is Starting, until the warming request is answered (`health_generate`)."""
        if self.path == "/health":
            self.send(503 if time.monotonic() - STARTED < LOAD_SECS else 200, b"", "text/plain")
        elif self.path == "/v1/models":
            self.send(200, self.listing())
        else:
            self.send(404, {"detail": "Not Found"})

    def unknown(self, model):
        """Stricter than the engine, which answers whatever it is called: a wrong name must be seen by a test."""
        self.send(404, {"object": "error", "message": f"no {model}", "code": 404})

    def chat(self, body, said):
        """A bad field is a 400 in OpenAI's older envelope (entrypoints/openai/serving_base.py, `create_error_response`)."""
        if "stub:bad" in said:
            error = {"object": "error", "message": "temperature must be non-negative", "type": "BadRequestError"}
            self.send(400, error | {"param": None, "code": 400})
        elif body.get("stream"):
            self.stream(body)
        else:
            self.whole(body)


def work():
    """A scheduler: it does nothing until it is ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    help_and_leave("sglang-0.5.23.txt")
    if (worker := os.fork()) == 0:
        work()
    record(event="start", argv=sys.argv[1:], worker=worker)
    serve(SgLang)
