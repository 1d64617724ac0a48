"""A stand-in for llama-server that plays recorded streams of real engines, for what no small model can be made to say. Standard library only.

Every surface but generation is that of `llama_server.py` beside it. The last user message chooses: "play NAME" plays tests/contract/wire/recorded/NAME.sse,
under the name that this server has; "play refused/NAME" answers with that error body. Without such words, and behind a tool's result, it plays `text`. A request
that is not streamed gets what the stream adds up to. "play NAME slowly" pauses between the events. Settings are ignored: a recording stays what it is.
"""

# ruff: noqa: PTH118, PTH120, PTH123, RET503 - as in llama_server.py

import asyncio
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100
RECORDED = os.path.join(HERE, "..", "contract", "wire", "recorded")
sys.path.insert(0, HERE)

import llama_server as stub  # noqa: E402 - its folder had to be told first

PLAY = re.compile(r"\bplay ((?:refused/)?\w+)( slowly)?")
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n\r\n"
)


def wish(body):
    """What is to be played, and whether slowly."""
    messages = body.get("messages") or [{"role": "user", "content": str(body.get("prompt"))}]
    last = messages[-1] if isinstance(messages[-1], dict) else {}
    found = PLAY.search(json.dumps(last.get("content"))) if last.get("role") == "user" else None
    return (found[1], bool(found[2])) if found else ("text" if "messages" in body else "completion", False)


def recording(name, ending):
    """The bytes of one, or None where there is none of that name."""
    try:
        with open(os.path.join(RECORDED, name + ending), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def chunks_of(stream):
    """The objects of a stream's events."""
    return [json.loads(event[6:]) for event in stream.split(b"\n\n") if event.startswith(b"data: {")]


def add_up(chunks):
    """The answer that a stream would have been, had it been whole; an error object where it is one."""
    whole, choices = {}, {}
    for chunk in chunks:
        if "error" in chunk:
            return chunk
        for choice in chunk["choices"]:
            add(choices.setdefault(choice["index"], {"index": choice["index"]}), choice)
        whole |= {key: value for key, value in chunk.items() if key != "choices"}
    kind = whole["object"].replace(".chunk", "")
    return {**whole, "object": kind, "choices": [choices[at] for at in sorted(choices)]}


def add(held, choice):
    """One piece of one answer."""
    if choice.get("finish_reason"):
        held["finish_reason"] = choice["finish_reason"]
    if odds := (choice.get("logprobs") or {}).get("content"):
        held.setdefault("logprobs", {"content": []})["content"] += odds
    if "text" in choice:
        held["text"] = held.get("text", "") + choice["text"]
        return
    message = held.setdefault("message", {"role": "assistant", "content": ""})
    delta = choice["delta"]
    for name in ("content", "reasoning_content"):
        if delta.get(name):
            message[name] = message.get(name, "") + delta[name]
    for piece in delta.get("tool_calls") or ():
        calls = message.setdefault("tool_calls", [])
        if piece["index"] == len(calls):
            function = {"name": piece["function"]["name"], "arguments": ""}
            calls.append({"type": "function", "function": function, "id": piece["id"]})
        calls[piece["index"]]["function"]["arguments"] += piece["function"].get("arguments", "")


class Player(stub.Answer):
    """Answers generation requests from the recordings."""

    async def generate(self):
        """One recording, as events or added up."""
        body = json.loads(self.request["text"] or "{}")
        name, slowly = wish(body)
        if (refusal := recording(name, ".json") if name.startswith("refused/") else None) is not None:
            return await self.send(json.loads(refusal)["error"]["code"], refusal)
        stream = recording(name, ".sse")
        if stream is None:
            return await self.fail(400, f"there is no recording {name}")
        stream = stream.replace(b'"model":"scripted"', b'"model":' + json.dumps(self.stub.alias).encode())
        if body.get("stream"):
            await self.play(stream, 0.2 if slowly else 0)
        else:
            told = add_up(chunks_of(stream))
            await self.send(told["error"]["code"] if "error" in told else 200, told)

    async def play(self, stream, pause):
        """Every event a chunk, as the engine writes it."""
        await self.door.write(HEAD)
        for event in stream.split(b"\n\n"):
            if event:
                part = event + b"\n\n"
                await self.door.write(b"%x\r\n%b\r\n" % (len(part), part))
                await asyncio.sleep(pause)
        await self.door.write(b"0\r\n\r\n")


if __name__ == "__main__":
    stub.Answer = Player
    if "--help" in sys.argv:
        print(stub.help_text())
    elif "--version" in sys.argv:
        print("version: 0.0.0-player (build 0, commit unknown)", file=sys.stderr)
    else:
        asyncio.run(stub.main(stub.read_command_line(sys.argv[1:])))
