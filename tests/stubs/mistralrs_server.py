"""A stand-in for `mistralrs serve`, because no package ships the server: 0.9.2's behaviour as its sources have it.

Paths below are of EricLBuehler/mistral.rs at 9e922623f24b32d41f3892b74f0eed18707f4e6c, under mistralrs-server-core/src. Standard library only.
In a prompt: `stub:empty` is a step that failed as 0.9.3 reports it, `stub:failed` one whose error is told. STUB_LOAD_SECS is how long it loads.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120

from openai_stub import Handler, help_and_leave, record, serve, value


class MistralRs(Handler):
    """It knows no alias: `default`, and what --model-id says (handlers.rs:45, `models`)."""

    names = ("default", value("-m", "--model-id"))

    def get(self):
        """`/health` is a word in plain text (handlers.rs:125)."""
        if self.path == "/health":
            self.send(200, b"OK", "text/plain; charset=utf-8")
        elif self.path == "/v1/models":
            self.send(200, self.listing())
        else:
            self.send(404, b"", "text/plain")

    def unknown(self, model):
        """A name that is not loaded is a validation error, 422 with a bare message (chat_completion.rs:1194 and 515)."""
        self.send(422, {"message": f"Model {model} not found"})

    def chat(self, body, said):
        """What a body with a grammar in text would be is serde's: 422 in plain text (openai.rs, `Grammar` is an object)."""
        if isinstance(body.get("grammar"), str):
            self.send(422, b"Failed to deserialize the JSON body into the target type: grammar", "text/plain")
        elif "stub:empty" in said and body.get("stream"):
            # A chunk without choices counts as the last one (chat_completion.rs:437).
            self.begin()
            self.event(self.shell("chat.completion.chunk", body, []))
            self.end()
        elif "stub:empty" in said:
            # A prompt longer than --max-num-batched-tokens came back so from 0.9.3 (the contract's known limits).
            self.send(200, self.shell("chat.completion", body, []) | {"usage": self.usage(0)})
        elif "stub:failed" in said and body.get("stream"):
            # streaming.rs:106, `openai_error_event`; [DONE] follows it (chat_completion.rs:419).
            self.begin()
            self.event({"error": {"message": "out of cache", "type": "server_error", "param": None, "code": None}})
            self.end()
        elif "stub:failed" in said:
            # handler_core.rs, `BaseJsonModelError` under 500 (chat_completion.rs:528).
            empty = self.shell("chat.completion", body, [])
            self.send(500, {"message": "out of cache", "partial_response": empty})
        elif body.get("stream"):
            self.stream(body)
        else:
            self.whole(body)


if __name__ == "__main__":
    help_and_leave("mistralrs-0.9.2.txt")
    record(event="start", argv=sys.argv[1:])
    assert sys.argv[1] == "serve", "the server is a subcommand"
    time.sleep(float(os.environ.get("STUB_LOAD_SECS", "0")))  # it listens only after the model is in
    serve(MistralRs)
