"""A stand-in for llama-server: its HTTP surface and its command line, with misbehaviour on demand. Standard library only.

Run it as `python tests/stubs/llama_server.py --port N …`; unknown flags exit 1 with the flag's name, as the real one does.

Switches come from three places, later ones win:
  environment       STUB_LOAD_SECS=2 STUB_IGNORE_TERM=1        (upper case, STUB_ in front)
  the model file    STUB{load_secs=2,ignore_term=1}            anywhere in its first 256 KiB (also inside a GGUF string)
  the request body  stub:silent  stub:tokens=50                anywhere in the body, e.g. in the user's message

At start
  load_secs=S       /health answers 503 for S seconds       load_quiet=1     … without printing anything meanwhile
  oom=1             prints "CUDA error: out of memory", exit 1 while loading
  load_exit=N       exit N while loading                     exit_at_start=N  exit N before anything else
  spam_mb=N         prints N MiB to its log while loading
  ignore_term=1     SIGTERM does nothing                     ignore_key=1     any API key is accepted
  wrong_alias=NAME  /v1/models lists NAME                    record=PATH      JSON lines about requests and closings
  slots=N           number of slots shown (default: -np)
  slots_say=WORD    /slots: idle (all at rest), stuck (busy, the same counts for ever), moving (other counts each time), mute

Per request (generation and embedding routes only)
  silent            reads the request and never answers      silent_once      (with record) only the first process does that
  tokens=N          length of the answer (default 5; "long" in the last message: until max_tokens, or without end)
  interval_ms=M     pause between tokens                     prefill_ms=M     pause before the first one
  pad=N             bytes added to each token
  half_header       sends half a header, then keeps the connection open; half_header=close closes it
  garbage           answers something that is not HTTP
  endless_body      answers 200 with a text that never ends; endless_body=STATUS with that status
  garbage_event=N   after N tokens an event that is not JSON garbage_chunk=N  after N tokens a broken chunk length
  error_event=N     after N tokens an error event, then the end of the stream
  reset_after=N     after N tokens resets the connection     cut_after=N      closes without the final chunk
  die_after=N       exits with status 9 after N tokens (0: before any byte); die_signal=K kills itself by signal K instead
  fail=STATUS       answers with that status and an error body; fail_text=WORD changes its message
  close_each        closes the connection after the answer
  think             reasoning_content first                  tool             calls the first tool of the request
  finish=REASON     finish_reason                           null_timings     timings whose members are all null
  old_grammar       schemas with regex classes, huge bounds or references are refused, as builds of 2024 did
  no_grammar        every schema that says more than its type is refused

A prompt or an input of more words than the window is refused in llama-server's words (--ctx-size, divided by its slots).
"""

# ruff: noqa: PTH110, PTH119, PTH123, PLR0911, RET503
# pathlib would add to the start; each misbehaviour is one early return

import asyncio
import json
import os
import re
import signal
import socket
import struct
import sys
import time

STARTED = time.monotonic()

VALUED = [
    "-m",
    "--model",
    "-a",
    "--alias",
    "-mm",
    "--mmproj",
    "--lora",
    "-c",
    "--ctx-size",
    "-np",
    "--parallel",
    "--kv-unified-per-slot",
    "-fa",
    "--flash-attn",
    "-fit",
    "--fit",
    "-ctk",
    "--cache-type-k",
    "-ctv",
    "--cache-type-v",
    "-ctxcp",
    "--ctx-checkpoints",
    "-cram",
    "--cache-ram",
    "-sps",
    "--slot-prompt-similarity",
    "--slot-save-path",
    "--keep",
    "-n",
    "--predict",
    "--n-predict",
    "-b",
    "--batch-size",
    "-ub",
    "--ubatch-size",
    "-t",
    "--threads",
    "-tb",
    "--threads-batch",
    "-Cr",
    "--cpu-range",
    "--cpu-strict",
    "--prio",
    "--prio-batch",
    "--poll",
    "--poll-batch",
    "--numa",
    "-ngl",
    "--gpu-layers",
    "--n-gpu-layers",
    "-mg",
    "--main-gpu",
    "-sm",
    "--split-mode",
    "-ts",
    "--tensor-split",
    "-dev",
    "--device",
    "-ncmoe",
    "--n-cpu-moe",
    "-ncffn",
    "--n-cpu-ffn",
    "-ot",
    "--override-tensor",
    "--rpc",
    "-ngld",
    "--gpu-layers-draft",
    "--n-gpu-layers-draft",
    "--spec-draft-ngl",
    "-devd",
    "--device-draft",
    "--spec-draft-device",
    "-lm",
    "--load-mode",
    "-lzm",
    "--lazy-mode",
    "--sleep-idle-seconds",
    "--chat-template",
    "--chat-template-file",
    "--chat-template-kwargs",
    "-rea",
    "--reasoning",
    "--reasoning-format",
    "--reasoning-budget",
    "--reasoning-budget-message",
    "--samplers",
    "--pooling",
    "--embd-normalize",
    "-mmdev",
    "--mmproj-device",
    "--image-min-tokens",
    "--image-max-tokens",
    "--mtmd-batch-max-tokens",
    "--video-ffmpeg-dir",
    "--video-fps",
    "--video-timestamp-interval",
    "--rope-scaling",
    "--rope-scale",
    "--yarn-orig-ctx",
    "--yarn-ext-factor",
    "--yarn-attn-factor",
    "--yarn-beta-fast",
    "--yarn-beta-slow",
    "--spec-draft-model",
    "--spec-type",
    "--spec-draft-n-max",
    "--spec-draft-n-min",
    "--spec-draft-p-min",
    "--cors-origins",
    "--host",
    "--port",
    "--api-key",
    "--api-key-file",
    "--threads-http",
    "-to",
    "--timeout",
    "--sse-ping-interval",
    "-lv",
    "--verbosity",
    "-s",
    "--seed",
    "--model-draft",
    "--cache-type-k-draft",
    "--cache-type-v-draft",
    "--override-tensor-draft",
    "--n-cpu-moe-draft",
    "--threads-draft",
    "--threads-batch-draft",
    "--cpu-range-draft",
    "--cpu-strict-draft",
    "--cpu-strict-batch-draft",
    "--prio-draft",
    "--prio-batch-draft",
    "--poll-draft",
    "--poll-batch-draft",
    "--draft-p-min",
    "--draft-p-split",
    "--spec-ngram-simple-size-n",
    "--spec-ngram-simple-size-m",
    "--spec-ngram-simple-min-hits",
    "--spec-ngram-mod-n-match",
    "--spec-ngram-mod-n-min",
    "--spec-ngram-mod-n-max",
    "--lookup-cache-static",
    "--lookup-cache-dynamic",
    "--adaptive-target",
    "--adaptive-decay",
    "--tools",
    "--tools-runtime",
    "--mcp-servers-config",
    "--lora-scaled",
    "--spec-ngram-map-k-size-n",
    "--spec-ngram-map-k-size-m",
    "--spec-ngram-map-k-min-hits",
    "--spec-ngram-map-k4v-size-n",
    "--spec-ngram-map-k4v-size-m",
    "--spec-ngram-map-k4v-min-hits",
]
SWITCHES = [
    "--lora-init-without-apply",
    "-kvu",
    "--kv-unified",
    "-no-kvu",
    "--no-kv-unified",
    "--swa-full",
    "--cache-idle-slots",
    "--no-cache-idle-slots",
    "--context-shift",
    "--no-context-shift",
    "-cb",
    "--cont-batching",
    "-nocb",
    "--no-cont-batching",
    "--op-offload",
    "--no-op-offload",
    "--kv-offload",
    "--no-kv-offload",
    "--no-host",
    "--repack",
    "--no-repack",
    "--check-tensors",
    "--warmup",
    "--no-warmup",
    "--spm-infill",
    "--embedding",
    "--embeddings",
    "--mmproj-offload",
    "--no-mmproj-offload",
    "--ui",
    "--no-ui",
    "--metrics",
    "--props",
    "--slots",
    "--no-slots",
    "--reuse-port",
    "--offline",
    "--jinja",
    "--no-jinja",
    "--cpu-moe",
    "--cpu-moe-draft",
    "--no-spec-draft-backend-sampling",
    "--agent",
]
NAMED = {"-m": "--model", "-a": "--alias", "-c": "--ctx-size", "-np": "--parallel", "--embedding": "--embeddings"}

GENERATING = (
    "/v1/chat/completions",
    "/chat/completions",
    "/v1/completions",
    "/completion",
    "/completions",
    "/v1/messages",
)
EMBEDDING = ("/v1/embeddings", "/embeddings", "/embedding")
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 500: "Internal Server Error"}
WORDS = ("Hello", " from", " the", " stub", ".")


def help_text():
    lines = ["----- common params -----", ""]
    lines += [f"{flag} N".ljust(40) + "takes a value" for flag in VALUED]
    lines += [flag.ljust(40) + "a switch" for flag in SWITCHES]
    return "\n".join(lines)


def read_command_line(words):
    given, rest = {}, iter(words)
    for word in rest:
        if word in VALUED:
            value = next(rest, None)
            if value is None:
                sys.exit(f'error while handling argument "{word}": expected value for argument')
            given[NAMED.get(word, word)] = value
        elif word in SWITCHES:
            given[NAMED.get(word, word)] = True
        else:
            sys.exit(f"error: invalid argument: {word}")
    return given


def switches_in(text, pattern=r"stub:(\w+)(?:=([\w.+-]*\w))?"):
    return {name: value or "1" for name, value in re.findall(pattern, text)}


def switches_of_file(path):
    try:
        with open(path, "rb") as file:
            found = re.search(rb"STUB\{([^}]*)\}", file.read(256 * 1024))
    except OSError:
        return {}
    return switches_in(found[1].decode(), r"(\w+)(?:=([^,]*))?") if found else {}


class Stub:
    """One server: its settings, its counters, its slots."""

    def __init__(self, given):
        self.given = given
        model = given.get("--model", "")
        environment = {k[5:].lower(): v for k, v in os.environ.items() if k.startswith("STUB_") and v}
        self.switches = environment | switches_of_file(model)
        self.alias = str(given.get("--alias") or os.path.basename(model) or "stub").split(",")[0]
        self.keys = []
        if "--api-key-file" in given:
            with open(given["--api-key-file"]) as file:
                self.keys = [line.strip() for line in file if line.strip() and not line.startswith("#")]
        self.slots = int(self.switches.get("slots", given.get("--parallel", 1)))
        self.ctx = int(given.get("--ctx-size", 4096)) or 4096
        self.ready = False
        self.active = 0
        self.served = self.prompted = self.predicted = self.looked = 0
        self.connections = 0
        self.connected = set()

    def log(self, line):
        print(f"{time.monotonic() - STARTED:.3f} I {line}", file=sys.stderr, flush=True)

    def record(self, event, **facts):
        if path := self.switches.get("record"):
            line = json.dumps({"event": event, "t": time.monotonic(), "pid": os.getpid(), **facts})
            with open(path, "a") as file:
                file.write(line + "\n")

    async def load(self):
        """What happens between opening the port and being ready."""
        switches = self.switches
        self.log(f"load_model: loading model '{self.given.get('--model', '')}'")
        line = "x" * 1023 + "\n"
        for _ in range(int(switches.get("spam_mb", 0))):
            sys.stdout.write(line * 1024)
        sys.stdout.flush()
        end = time.monotonic() + float(switches.get("load_secs", 0))
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(0.05, left))
            if "load_quiet" not in switches:
                self.log("load_model: .")
        if "oom" in switches:
            print(
                "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9.00 MiB on device 0: cudaMalloc failed",
                file=sys.stderr,
            )
            print("CUDA error: out of memory", file=sys.stderr, flush=True)
            os._exit(1)
        if "load_exit" in switches:
            os._exit(int(switches["load_exit"]))
        self.ready = True
        self.log("llama_server: model loaded")


class Door(asyncio.Protocol):
    """One connection: requests one after the other, the next read only when the last is answered."""

    def __init__(self, stub):
        self.stub = stub
        self.buffer = b""
        self.task = None
        self.gone = False
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport):
        self.transport = transport
        self.stub.connections += 1
        self.number = self.stub.connections
        self.stub.connected.add(self)
        self.request = None

    def pause_writing(self):
        self.writable.clear()

    def resume_writing(self):
        self.writable.set()

    def connection_lost(self, error):
        self.gone = True
        self.writable.set()
        self.stub.connected.discard(self)
        if self.task is not None and not self.task.done():
            self.stub.record("closed", path=self.request["path"], connection=self.number, unfinished=True)
            self.task.cancel()

    def data_received(self, data):
        self.buffer += data
        self.next_request()

    def next_request(self):
        if self.task is not None and not self.task.done():
            return
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        method, target, _ = first.split(" ", 2)
        text = rest[:length].decode("utf-8", "replace")
        self.request = {"method": method, "path": target.partition("?")[0], "headers": headers, "text": text}
        self.task = asyncio.get_running_loop().create_task(self.answer(self.request))

    async def answer(self, request):
        stub = self.stub
        facts = {"method": request["method"], "path": request["path"], "connection": self.number}
        stub.record("request", **facts, active=stub.active, headers=request["headers"], body=request["text"])
        stub.active += 1
        try:
            answer = Answer(self, request)
            try:
                await answer.run()
            except (LookupError, TypeError, ValueError, AttributeError) as error:  # as the real one: what is no request
                await answer.fail(500, f"Failed to parse messages: {type(error).__name__}: {error}", "server_error")
            stub.record("answered", **facts)
        finally:
            stub.active -= 1
        asyncio.get_running_loop().call_soon(self.next_request)

    async def write(self, data):
        await self.writable.wait()
        if not self.gone:
            self.transport.write(data)


class Answer:
    """One answer, with whatever misbehaviour was asked for."""

    def __init__(self, door, request):
        self.door, self.stub, self.request = door, door.stub, request
        self.path = request["path"]
        self.heavy = self.path in GENERATING + EMBEDDING
        self.switches = self.stub.switches | (switches_in(request["text"]) if self.heavy else {})

    async def send(self, status, body, kind="application/json; charset=utf-8"):
        data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        close = self.heavy and "close_each" in self.switches
        last = "Connection: close" if close else "Keep-Alive: timeout=5, max=100"
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\nServer: llama.cpp\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{last}\r\n\r\n"
        await self.door.write(head.encode() + (b"" if self.request["method"] == "HEAD" else data))
        if close:
            self.door.transport.close()

    async def fail(self, status, message, kind="invalid_request_error"):
        await self.send(status, {"error": {"code": status, "message": message, "type": kind}})

    async def run(self):
        stub = self.stub
        if self.path in ("/health", "/v1/health"):
            if stub.ready:
                return await self.send(200, {"status": "ok"})
            return await self.fail(503, "Loading model", "unavailable_error")
        if not self.key_is_right():
            return await self.fail(401, "Invalid API Key", "authentication_error")
        if not stub.ready and self.path not in ("/v1/models", "/models"):
            return await self.fail(503, "Loading model", "unavailable_error")
        if self.heavy and await self.misbehaves():
            return None
        if self.path in GENERATING:
            return await self.generate()
        handler = ROUTES.get(self.path)
        if handler is None:
            return await self.fail(404, "File Not Found", "not_found_error")
        return await handler(self)

    def key_is_right(self):
        headers = self.request["headers"]
        given = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")
        return not self.stub.keys or "ignore_key" in self.stub.switches or given in self.stub.keys

    async def misbehaves(self):
        """True when there is no proper answer."""
        switches = self.switches
        if "silent" in switches or ("silent_once" in switches and self.stub.first):
            await asyncio.Event().wait()
        if switches.get("die_after") == "0":
            self.die()
        if "garbage" in switches:
            await self.door.write(b"\x00\x01this is not HTTP\r\n\r\n")
            return True
        if "endless_body" in switches:
            await self.never_end(switches["endless_body"])
            return True
        if "half_header" in switches:
            await self.door.write(b"HTTP/1.1 200 OK\r\nContent-Ty")
            if switches["half_header"] == "close":
                self.door.transport.close()
            else:
                await asyncio.Event().wait()
            return True
        if "fail" in switches:
            await self.fail(
                int(switches["fail"]), switches.get("fail_text", "the stub was told to fail"), "server_error"
            )
            return True
        return False

    async def never_end(self, status):
        status = "200" if status == "1" else status
        await self.door.write(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n\r\n{{".encode())
        while not self.door.gone:
            await self.door.write(b'"a": 1,\n' * 2**17)

    def die(self):
        if "die_signal" in self.switches:
            os.kill(os.getpid(), int(self.switches["die_signal"]))
            time.sleep(10)
        print("stub: dying as told", file=sys.stderr, flush=True)
        os._exit(9)

    def reset(self):
        tcp = self.door.transport.get_extra_info("socket")
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.door.transport.abort()

    async def generate(self):
        try:
            body = json.loads(self.request["text"] or "{}")
        except ValueError as error:
            return await self.fail(400, f"[json.exception.parse_error] {error}")
        if "--embeddings" in self.stub.given:
            return await self.fail(501, "This server does not support completions.", "not_supported_error")
        chat = "messages" in body
        if not chat and "prompt" not in body:
            return await self.fail(400, '"prompt" is required')
        if (refusal := self.grammar_refusal(body)) is not None:
            return await self.fail(400, refusal)
        plan = Plan(self, body, chat)
        if await self.too_long(plan.prompt):
            return None
        await asyncio.sleep(float(self.switches.get("prefill_ms", 0)) / 1000)
        if body.get("stream"):
            return await Stream(self, plan).run()
        return await self.buffered(plan)

    def grammar_refusal(self, body):
        """What a build says whose grammar cannot hold a schema of the request."""
        wanted = body.get("response_format") or {}
        tools = [tool.get("function", {}).get("parameters") for tool in body.get("tools") or []]
        schemas = [*tools, (wanted.get("json_schema") or wanted).get("schema"), body.get("json_schema")]
        text = json.dumps([schema for schema in schemas if schema and schema != {"type": "object"}])
        if "no_grammar" in self.switches and text != "[]":
            return "Failed to initialize samplers: failed to parse grammar"
        if "old_grammar" in self.switches and re.search(
            r'"pattern": "[^"]*\\\\[dws]|"max(Length|Items)": \d{5}|"\$ref"', text
        ):
            return "Failed to initialize samplers: failed to parse grammar"
        return None

    async def too_long(self, tokens):
        window = self.stub.ctx // self.stub.slots
        if tokens <= window:
            return False
        message = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
        error = {"code": 400, "message": message, "type": "exceed_context_size_error"}
        await self.send(400, {"error": error | {"n_prompt_tokens": tokens, "n_ctx": window}})
        return True

    async def buffered(self, plan):
        pause = float(self.switches.get("interval_ms", 0)) / 1000
        for index in range(plan.count):
            if pause:
                await asyncio.sleep(pause)
            if str(index + 1) == self.switches.get("die_after"):
                self.die()
        text = "".join(plan.words())
        self.stub.predicted += plan.count
        self.stub.prompted += plan.prompt
        choice = {"index": 0, "finish_reason": plan.reason}
        if plan.chat:
            message = {"role": "assistant", "content": text}
            if plan.tool:
                message |= {
                    "content": None,
                    "tool_calls": [
                        {"type": "function", "id": "call_stub", "function": {"name": plan.tool, "arguments": '{"a":1}'}}
                    ],
                }
            if "think" in self.switches:
                message["reasoning_content"] = "The stub thinks."
            choice["message"] = message
        else:
            choice |= {"text": text, "logprobs": None}
        await self.send(
            200,
            {
                **plan.envelope("chat.completion" if plan.chat else "text_completion"),
                "choices": [choice],
                "usage": plan.usage(),
                "timings": plan.timings(),
            },
        )


class Plan:
    """What is to be said."""

    def __init__(self, answer, body, chat):
        self.switches, self.alias, self.chat = answer.switches, answer.stub.alias, chat
        said = json.dumps(body["messages"][-1].get("content")) if chat and body["messages"] else str(body.get("prompt"))
        self.prompt = max(1, len(said.split()))
        bound = int(body.get("max_tokens") or body.get("max_completion_tokens") or body.get("n_predict") or 0)
        wanted = int(self.switches.get("tokens", 10**9 if "long" in said and "stub:" not in said else len(WORDS)))
        self.count = min(wanted, bound) if bound > 0 else wanted
        self.endless = wanted >= 10**9
        last = body["messages"][-1] if chat and body["messages"] else {}
        tools = body.get("tools") or []
        wants_tool = (
            "tool" in self.switches and tools and last.get("role") == "user" and body.get("tool_choice") != "none"
        )
        self.tool = tools[0]["function"]["name"] if wants_tool else None
        cut = "length" if self.count < wanted or self.endless else "stop"
        self.reason = self.switches.get("finish", "tool_calls" if self.tool else cut)
        self.usage_wanted = bool((body.get("stream_options") or {}).get("include_usage"))
        self.id = f"chatcmpl-stub{time.monotonic_ns()}"

    def word(self, index):
        text = "tick " if self.endless else WORDS[index % len(WORDS)]
        return text + "." * int(self.switches.get("pad", 0))

    def words(self):
        return [self.word(index) for index in range(min(self.count, 100_000))]

    def envelope(self, kind):
        return {
            "created": int(time.time()),
            "id": self.id,
            "model": self.alias,
            "system_fingerprint": "b0-stub",
            "object": kind,
        }

    def usage(self):
        total = self.prompt + self.count
        return {
            "completion_tokens": self.count,
            "prompt_tokens": self.prompt,
            "total_tokens": total,
            "prompt_tokens_details": {"cached_tokens": 0},
        }

    def timings(self):
        if "null_timings" in self.switches:
            return dict.fromkeys(("cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms"))
        return {"cache_n": 0, "prompt_n": self.prompt, "prompt_ms": 1.5, "predicted_n": self.count, "predicted_ms": 2.5}


class Stream:
    """A streamed answer."""

    def __init__(self, answer, plan):
        self.answer, self.plan, self.switches = answer, plan, answer.switches
        self.at = {
            name: int(self.switches[name])
            for name in ("die_after", "reset_after", "cut_after", "garbage_event", "garbage_chunk", "error_event")
            if name in self.switches
        }
        self.kind = "chat.completion.chunk" if plan.chat else "text_completion"

    async def chunk(self, data):
        await self.answer.door.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, choices, **more):
        await self.chunk(
            b"data: "
            + json.dumps({"choices": choices, **self.plan.envelope(self.kind), **more}, separators=(",", ":")).encode()
            + b"\n\n"
        )

    async def say(self, delta, reason=None):
        choice = {"finish_reason": reason, "index": 0}
        await self.event(
            [choice | ({"delta": delta} if self.plan.chat else {"text": delta.get("content", ""), "logprobs": None})]
        )

    async def run(self):
        plan, door = self.plan, self.answer.door
        await door.write(
            b"HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5, max=100\r\n\r\n"
        )
        if plan.chat:
            await self.say({"role": "assistant", "content": None})
        if "think" in self.switches:
            for piece in ("The stub", " thinks."):
                await self.say({"reasoning_content": piece})
        if plan.tool:
            await self.tool_call()
        elif not await self.tokens():
            return
        await self.say({}, plan.reason)
        if plan.usage_wanted:
            await self.event([], usage=plan.usage(), timings=plan.timings())
        await self.chunk(b"data: [DONE]\n\n")
        await door.write(b"0\r\n\r\n")
        if "close_each" in self.switches:
            door.transport.close()
        self.answer.stub.predicted += plan.count
        self.answer.stub.prompted += plan.prompt

    async def tool_call(self):
        head = {
            "index": 0,
            "id": "call_stub",
            "type": "function",
            "function": {"name": self.plan.tool, "arguments": ""},
        }
        await self.say({"tool_calls": [head]})
        for piece in ('{"a"', ":1", "}"):
            await self.say({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})

    async def tokens(self):
        """False when the stream ended in the middle."""
        pause = float(self.switches.get("interval_ms", 0)) / 1000
        for index in range(self.plan.count + 1):
            if await self.breaks(index):
                return False
            if index < self.plan.count:
                if pause and index:
                    await asyncio.sleep(pause)
                await self.say({"content": self.plan.word(index)})
                if not pause and index % 64 == 63:
                    await asyncio.sleep(0)
        return True

    async def breaks(self, index):
        due = [name for name, when in self.at.items() if when == index]
        if not due:
            return False
        door = self.answer.door
        await asyncio.sleep(0.01)  # let what was written leave
        if "die_after" in due:
            self.answer.die()
        elif "reset_after" in due:
            self.answer.reset()
        elif "cut_after" in due:
            door.transport.close()
        elif "garbage_event" in due:
            await self.chunk(b"data: {this is not JSON\n\n")
            return False
        elif "garbage_chunk" in due:
            await door.write(b"zz\r\nnot a chunk\r\n")
        else:
            await self.chunk(
                b'data: {"error":{"code":500,"message":"the stub was told to fail","type":"server_error"}}\n\n'
            )
            await door.write(b"0\r\n\r\n")
        return True


async def models(answer):
    stub = answer.stub
    name = stub.switches.get("wrong_alias", stub.alias)
    meta = {"n_vocab": 384, "n_ctx": stub.ctx, "n_ctx_train": 131072, "n_embd": 8, "n_params": 1, "size": 1}
    row = {
        "id": name,
        "aliases": [name],
        "object": "model",
        "created": int(time.time()),
        "owned_by": "llamacpp",
        "meta": meta if stub.ready else None,
    }
    await answer.send(200, {"object": "list", "data": [row], "models": [{"name": name, "model": name}]})


async def props(answer):
    stub = answer.stub
    await answer.send(
        200,
        {
            "default_generation_settings": {"n_ctx": stub.ctx // stub.slots},
            "total_slots": stub.slots,
            "model_alias": stub.alias,
            "model_path": stub.given.get("--model", ""),
            "modalities": {"vision": False, "audio": False},
            "chat_template": "{{ messages }}",
            "is_sleeping": False,
        },
    )


async def slots(answer):
    stub = answer.stub
    busy, say = stub.active - 1, stub.switches.get("slots_say", "")
    if say == "mute":
        await asyncio.Event().wait()
    stub.looked += 1
    counts = {"stuck": 7, "moving": 7 + stub.looked}
    told = {"id_task": 1, "n_prompt_tokens_processed": 5, "next_token": [{"n_decoded": counts.get(say, 0)}]}
    await answer.send(
        200,
        [
            {
                "id": n,
                "n_ctx": stub.ctx // stub.slots,
                "speculative": False,
                "is_processing": say in counts or (say != "idle" and n < busy),
                **(told if say in counts else {}),
            }
            for n in range(stub.slots)
        ],
    )


async def metrics(answer):
    stub = answer.stub
    values = {
        "prompt_tokens_total": stub.prompted,
        "tokens_predicted_total": stub.predicted,
        "requests_processing": stub.active - 1,
        "requests_deferred": 0,
    }
    text = "".join(f"# TYPE llamacpp:{name} gauge\nllamacpp:{name} {value}\n" for name, value in values.items())
    await answer.send(200, text.encode(), "text/plain; version=0.0.4")


def words_of(content):
    if isinstance(content, list) and all(isinstance(item, int) for item in content):
        return content
    return re.findall(r"\S+\s*", content if isinstance(content, str) else json.dumps(content))


async def tokenize(answer):
    body = json.loads(answer.request["text"])
    await answer.send(200, {"tokens": [1000 + len(word) for word in words_of(body.get("content", ""))]})


async def detokenize(answer):
    body = json.loads(answer.request["text"])
    await answer.send(200, {"content": " ".join("x" * (token - 1000) for token in body.get("tokens", []))})


async def apply_template(answer):
    body = json.loads(answer.request["text"])
    lines = [f"<|{m['role']}|>{m.get('content') or ''}\n" for m in body["messages"]]
    await answer.send(200, {"prompt": "".join(lines) + "<|assistant|>"})


async def embed(answer):
    if "--embeddings" not in answer.stub.given:
        return await answer.fail(
            501, "This server does not support embeddings. Start it with `--embeddings`", "not_supported_error"
        )
    body = json.loads(answer.request["text"])
    given = body.get("input", body.get("content", ""))
    texts = given if isinstance(given, list) and given and isinstance(given[0], (str, list)) else [given]
    rows = []
    for text in texts:
        if (count := len(words_of(text))) > answer.stub.ctx:
            message = f"input ({count} tokens) is too large to process. increase the physical batch size (current batch size: {answer.stub.ctx})"
            return await answer.fail(500, message, "server_error")
    for index, text in enumerate(texts):
        seed = sum(json.dumps(text).encode())
        rows.append(
            {"object": "embedding", "index": index, "embedding": [((seed * (n + 3)) % 17) / 17 for n in range(8)]}
        )
    count = sum(len(words_of(text)) for text in texts)
    await answer.send(
        200,
        {
            "object": "list",
            "model": answer.stub.alias,
            "data": rows,
            "usage": {"prompt_tokens": count, "total_tokens": count},
        },
    )


async def rerank(answer):
    body = json.loads(answer.request["text"])
    texts = body["documents"]
    rows = [{"index": at, "relevance_score": len(text) / 10 - 1} for at, text in enumerate(texts)]
    count = sum(len(words_of(text)) for text in texts)
    usage = {"prompt_tokens": count, "total_tokens": count}
    await answer.send(200, {"model": answer.stub.alias, "object": "list", "usage": usage, "results": rows})


async def count_tokens(answer):
    await answer.send(200, {"input_tokens": len(words_of(answer.request["text"]))})


async def count_chat(answer):
    body = json.loads(answer.request["text"])
    await answer.send(200, {"input_tokens": Plan(answer, body, True).prompt})


ROUTES = {
    "/v1/models": models,
    "/models": models,
    "/props": props,
    "/slots": slots,
    "/metrics": metrics,
    "/tokenize": tokenize,
    "/detokenize": detokenize,
    "/apply-template": apply_template,
    "/v1/rerank": rerank,
    "/v1/messages/count_tokens": count_tokens,
    "/v1/chat/completions/input_tokens": count_chat,
} | dict.fromkeys(EMBEDDING, embed)


async def main(given):
    stub = Stub(given)
    if "exit_at_start" in stub.switches:
        sys.exit(int(stub.switches["exit_at_start"]))
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def on_term():
        stub.record("term")
        if "ignore_term" not in stub.switches:
            stop.set()

    loop.add_signal_handler(signal.SIGTERM, on_term)
    loop.add_signal_handler(signal.SIGINT, on_term)
    host, port = str(given.get("--host", "127.0.0.1")), int(given.get("--port", 8080))
    try:
        if host.endswith(".sock"):
            server = await loop.create_unix_server(lambda: Door(stub), host)
        else:
            server = await loop.create_server(lambda: Door(stub), host, port)
    except OSError:
        print(f"E srv start: couldn't bind HTTP server socket, hostname: {host}, port: {port}", file=sys.stderr)
        sys.exit(1)
    where = host if host.endswith(".sock") else f"http://{host}:{server.sockets[0].getsockname()[1]}"
    stub.first = not os.path.exists(stub.switches.get("record", ""))
    stub.record("start", argv=sys.argv[1:])
    loading = loop.create_task(stub.load())
    stub.log(f"llama_server: listening on {where}")
    await stop.wait()
    stub.log("operator(): cleaning up before exit...")
    loading.cancel()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if "--help" in sys.argv or "-h" in sys.argv:
        print(help_text())
    elif "--version" in sys.argv:
        print("version: 0.0.0-stub (build 0, commit unknown)\nbuilt with Python for tests", file=sys.stderr)
    else:
        asyncio.run(main(read_command_line(sys.argv[1:])))
