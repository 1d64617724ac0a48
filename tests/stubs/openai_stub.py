"""What the stand-ins for mistral.rs and SGLang share: their help, a recording of requests, and OpenAI's answers. Standard library only.

The servers themselves cannot be had here (one is not packaged, the other needs a GPU): see the two modules beside this one.
"""

# ruff: noqa: PTH123 - pathlib would add to the start

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "help")  # noqa: PTH100, PTH118, PTH120
RUNNING = threading.Lock()


def value(*flags, default=""):
    """What a flag was told, the last time; in two words or as `--flag=value`."""
    found = default
    for at, word in enumerate(sys.argv):
        flag, joined, rest = word.partition("=")
        if flag in flags:
            found = rest if joined else (sys.argv[at + 1] if at + 1 < len(sys.argv) else "")
    return found


def help_and_leave(name):
    """The recorded help text, where that is what was asked for."""
    if "--help" in sys.argv:
        sys.stdout.write(open(os.path.join(FIXTURES, name), encoding="utf-8").read())  # noqa: PTH118, SIM115
        sys.exit(0)


def record(**facts):
    """A line for the test, if it wants any (STUB_RECORD)."""
    if path := os.environ.get("STUB_RECORD"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")


class Handler(BaseHTTPRequestHandler):
    """Answers a fixed text of five tokens. A subclass knows the model's names and the engine's ways."""

    protocol_version = "HTTP/1.1"
    names = ()
    words = ("Hello", " from", " the", " stub", ".")

    def log_message(self, *_):
        """Nothing: its log is read for last words."""

    def send(self, status, body, kind="application/json"):
        """One whole answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def event(self, data):
        """One event of a chunked stream."""
        text = data if isinstance(data, str) else json.dumps(data)
        part = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.flush()

    def begin(self):
        """The head of a stream."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def end(self):
        """Its end."""
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def listing(self):
        """GET /v1/models."""
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "local"} for name in self.names]
        return {"object": "list", "data": rows}

    def do_GET(self):
        """What a kind answers."""
        self.get()

    def do_POST(self):
        """Chat alone; how a request that is not understood is answered is the engine's."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        record(event="request", path=self.path, body=body)
        if self.path != "/v1/chat/completions":
            self.send(404, b"", "text/plain")
        elif body.get("model") not in self.names:
            self.unknown(body.get("model"))
        else:
            self.chat(body, json.dumps(body.get("messages")))

    def usage(self, count):
        """Counts of an answer."""
        return {"prompt_tokens": 7, "completion_tokens": count, "total_tokens": 7 + count}

    def whole(self, body):
        """A buffered answer."""
        message = {"role": "assistant", "content": "".join(self.words), "tool_calls": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        self.send(200, self.shell("chat.completion", body, [choice]) | {"usage": self.usage(len(self.words))})

    def shell(self, kind, body, choices):
        """Everything of an object but its counts."""
        return {"id": "stub-1", "object": kind, "created": int(time.time()), "model": body["model"], "choices": choices}

    def stream(self, body):
        """The same as events; the counts come where they are asked for."""
        self.begin()
        kind, words = "chat.completion.chunk", self.words
        for at, word in enumerate(words):
            delta = {"role": "assistant", "content": word}
            finish = "stop" if at == len(words) - 1 else None
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            self.event(self.shell(kind, body, [choice]))
        if (body.get("stream_options") or {}).get("include_usage"):
            self.event(self.shell(kind, body, []) | {"usage": self.usage(len(words))})
        self.end()


def serve(handler):
    """Listen where the flags say, for ever."""
    server = ThreadingHTTPServer((value("--host"), int(value("--port", "-p"))), handler)
    server.daemon_threads = True
    server.serve_forever()
