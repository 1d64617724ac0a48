"""The toy kind's server: it refuses any other command line than its own and every request that names another model or no bound."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stubs"))

from openai_stub import Handler, ThreadingHTTPServer, value

HELP = """usage: toy-server [options]

options:
  --weights FILE        the model
  --window N            tokens
  --quiet WORD          keep still
  --at ADDRESS          where to listen
  --door N              port
"""


class Toy(Handler):
    """Its model is `it`."""

    names = ("it",)

    def get(self):
        """Ready, and the list."""
        if self.path == "/ready":
            self.send(200, b"READY", "text/plain")
        elif self.path == "/list":
            self.send(200, {"data": [{"id": "toy-one"}]})
        else:
            self.send(404, b"", "text/plain")

    def unknown(self, model):
        """Any other name."""
        self.send(404, {"error": f"no {model}"})

    def chat(self, body, said):
        """An answer, to who says how long it may be."""
        del said
        if "max_tokens" not in body or "response_format" in body:
            self.send(400, {"error": "badly asked"})
        elif body.get("stream"):
            self.stream(body)
        else:
            self.whole(body)


if __name__ == "__main__":
    if "--help" in sys.argv:
        sys.stdout.write(HELP)
        sys.exit(0)
    assert set(sys.argv[1::2]) == {"--weights", "--window", "--quiet", "--at", "--door"}, sys.argv
    server = ThreadingHTTPServer((value("--at"), int(value("--door"))), Toy)
    server.daemon_threads = True
    server.serve_forever()
