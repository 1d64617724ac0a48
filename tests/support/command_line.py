"""A daemon made of canned answers, and a root made of fakes, for tests of the command line."""

import argparse
import io
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from blazar.adapters.cli.client import DaemonClient
from blazar.adapters.cli.locate import Note, Target
from blazar.adapters.cli.root import Changed, Pruning
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.engines.install_lane import Offers, Wish
from blazar.application.engines.remove_engine import Removed
from blazar.application.engines.update_venv import VenvUpdate
from blazar.application.models.pulling import Pulled, Step
from blazar.domain.errors import BadConfig, BlazarError, EngineNotFound, ModelNotFound
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.overlay import Overlay
from blazar.domain.records import Engine, Model
from blazar.domain.search import Hit


class Asked(NamedTuple):
    """One request as the stub saw it."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]


class StubDaemon:
    """Answers each (method, path) with (status, body). A list body is streamed as NDJSON lines, bytes go out as they are."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {
            ("GET", "/health"): (200, {"status": "ok", "version": "9.9", "uptime_secs": 75})
        }
        self.asked: list[Asked] = []
        self.gone = threading.Event()  # a streamed answer noticed that its reader left
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                stub.handle(self)

            do_GET = do_POST = do_DELETE = handle_any  # noqa: N815 - http.server names them so

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # A client that leaves with unread bytes resets the connection: for the stub that is no news.
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("content-length") or 0)
        raw = request.rfile.read(length)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append(Asked(request.command, request.path, json.loads(raw) if raw else None, headers))
        missing = (404, {"error": f"no canned answer for {request.path}"})
        status, body = self.answers.get((request.command, request.path), missing)
        if isinstance(body, list):
            self._stream(request, status, body)
            return
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _stream(self, request: BaseHTTPRequestHandler, status: int, lines: list[Any]) -> None:
        request.send_response(status)
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        try:
            for line in lines:
                if callable(line):
                    line()
                    continue
                data = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
                request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                request.wfile.flush()
            request.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.gone.set()
            request.close_connection = True

    def bodies(self, path: str) -> list[Any]:
        """What was sent to a path."""
        return [asked.body for asked in self.asked if asked.path == path]

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


def model(name: str = "tiny", **more: Any) -> Model:
    """A catalog row."""
    facts: dict[str, Any] = {
        "name": name,
        "files": (f"/models/{name}.gguf",),
        "sizes": (3 * 2**29,),
        "weights": Weights.GGUF,
        "arch": "llama",
        "quant": "Q4_0",
        "parameters": 135_000_000,
        "ctx_train": 2048,
        "embedding_length": 576,
        "pooling": None,
        "template": True,
        "owned": True,
        "digest": "d" * 64,
        "imported_at": 1.0,
    }
    return Model(**{**facts, **more})


def engine(tag: str = "b1", *, active: bool = True) -> Engine:
    """An engine row."""
    return Engine(tag, EngineKind.LLAMACPP, Provenance.ARCHIVE, f"/engines/{tag}/llama-server", "1", active, 1.0)


class FakeModels:
    """A catalog in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, Model] = {}
        self.projectors: dict[str, str] = {}
        self.overlay: dict[str, Any] = {}
        self.unserved_because = ""
        self.judged: dict[str, tuple[str, str]] = {}
        self.created: list[tuple[str, Overlay, bool]] = []
        self.pulls: list[tuple[Any, ...]] = []
        self.steps: list[Step] = []
        self.pulled: Pulled | BaseException = Pulled(model(), fresh=True)
        self.facts: dict[str, Any] = {}
        """What an imported row is, where that is not what its path says."""

    def list(self) -> "list[Model]":
        return sorted(self.rows.values(), key=lambda row: row.name)

    def survey(self) -> "list[tuple[Model, str, str]]":
        return [(row, *self.judged.get(row.name, ("", ""))) for row in self.list()]

    def add(self, path: str, name: str | None, parts: Sequence[tuple[str, str]] = ()) -> tuple[Model, bool]:
        weights = Weights.DIFFUSION if parts else Weights.GGUF
        row = model(
            name or Path(path).stem,
            files=(path, *(part for _, part in parts)),
            components=tuple(parts),
            **{"weights": weights, **self.facts},
        )
        already = row.name in self.rows
        self.rows[row.name] = row
        return row, already

    def show(self, name: str, *, verbose: bool) -> dict[str, Any]:
        row = self._get(name)
        laid = {"overlay": self.overlay} if self.overlay else {}
        return {"name": row.name, "size": row.size, **laid, **({"metadata": {"a.b": 1}} if verbose else {})}

    def projector(self, model: Model) -> str:
        return self.projectors.get(model.name, "")

    def unserved(self, model: Model) -> str:
        return self.unserved_because

    def remove(self, name: str) -> str:
        return self.rows.pop(self._get(name).name).name

    def copy(self, source: str, target: str) -> Model:
        self.rows[target] = model(target, files=self._get(source).files)
        return self.rows[target]

    def pull(self, reference: str, name: str, parts: Any, draft: str, *, told: Any) -> Pulled:
        self.pulls.append((reference, name, tuple(parts), draft))
        for step in self.steps:
            told(step)
        if isinstance(self.pulled, BaseException):
            raise self.pulled
        return self.pulled

    def create(self, name: str, overlay: Overlay, *, fresh: bool) -> None:
        self.rows[name] = model(name, files=self._get(overlay.base).files)
        self.created.append((name, overlay, fresh))

    def _get(self, name: str) -> Model:
        if name not in self.rows:
            raise ModelNotFound(name, sorted(self.rows))
        return self.rows[name]


class FakeLanes:
    """Python packages and forks that install what a test set as `row`; `asked` is what was wanted."""

    def __init__(self) -> None:
        self.row = engine("mlx-lm-0.32.2")
        self.before = self.row
        self.offers = Offers((), ())
        self.asked: list[tuple[Any, ...]] = []

    def available(self) -> Offers:
        return self.offers

    def lane(self, name: str, wish: Wish, told: Any) -> Engine:
        self.asked.append((name, wish))
        for done in range(0, 101, 5):
            told("owner/fork@01234567", done, 100)
        told("novel-01234567", 1, 0)
        return self.row

    def fork(self, text: str, architectures: Sequence[str], wish: Wish, told: Any) -> Engine:
        self.asked.append((text, list(architectures), wish))
        return self.row

    def venv(self, kind: EngineKind, tag: str | None, backend: str | None, say: Any) -> Engine:
        self.asked.append((kind, tag, backend))
        say("Collecting mlx-lm\x1b[2J")
        return self.row

    def update_venv(self, kind: EngineKind, say: Any) -> VenvUpdate:
        self.asked.append((kind,))
        return VenvUpdate(self.row, self.before)


class FakeEngines:
    """Builds in memory."""

    def __init__(self) -> None:
        self.single = ""
        self.trouble = ""
        self.lanes = FakeLanes()
        self.rows: dict[str, Engine] = {}
        self.installed: list[tuple[str, str | None, str | None]] = []
        self.kinds: list[EngineKind] = []
        self.flaws: dict[str, str] = {}
        self.pruning = Pruning()
        self.after = Removed()
        self.asked: list[tuple[Any, ...]] = []
        self.answer: Any = None
        """What fetching, updating or checking comes to."""

    def list(self) -> "list[Engine]":
        return list(self.rows.values())

    def flaw(self, engine: Engine) -> str:
        return self.flaws.get(engine.tag, "")

    def install(self, file: str, sha256: str | None, tag: str | None, kind: EngineKind) -> Engine:
        self.installed.append((file, sha256, tag))
        self.kinds.append(kind)
        self.rows["b2"] = engine("b2", active=not self.rows)
        return self.rows["b2"]

    def fetch(self, kind: EngineKind, tag: str | None, asset: str | None, sha256: str | None, told: Any) -> Any:
        self.asked.append((kind, tag, asset, sha256))
        told("llama-b2.tar.gz", 5 << 20, 10 << 20)
        told("llama-b2.tar.gz", 10 << 20, 10 << 20)
        return self.answer

    def update(self, kind: EngineKind, told: Any, say: Any, *, gate: bool) -> Any:
        self.asked.append((kind, gate))
        say("comparing")
        return self.answer

    def check(self) -> Any:
        return self.answer

    def build(self, order: Any, told: Any) -> Engine:
        self.asked.append(tuple(order))
        for done in range(0, 301, 10):
            told(done, 300)
        self.rows[f"{order.release}-{order.backend}"] = built = engine(f"{order.release}-{order.backend}")
        return built

    def build_release(self, wish: Any, fetched: Any, told: Any) -> Engine:
        self.asked.append(tuple(wish))
        release = wish.release or "b11500"
        fetched(f"ggml-org/llama.cpp@{release}", 5 << 20, 0)
        for done in range(0, 301, 10):
            told(f"{release}-{wish.backend}", done, 300)
        return engine(f"{release}-{wish.backend}")

    def release_in(self, name: str) -> str | None:
        return "b11434" if "b11434" in name else None

    def prune(self, fresh: Engine) -> Pruning:
        return self.pruning

    def use(self, tag: str) -> Engine:
        if tag not in self.rows:
            raise EngineNotFound(tag, sorted(self.rows))
        return engine(tag)

    def rollback(self, kind: EngineKind) -> Engine:
        self.kinds.append(kind)
        return self.use("b0")

    def pin(self, tag: str, *, pinned: bool) -> Engine:
        self.rows[tag] = replace(self.use(tag), pinned=pinned)
        return self.rows[tag]

    def remove(self, tag: str) -> Removed:
        if self.rows.pop(tag, None) is None:
            raise EngineNotFound(tag, sorted(self.rows))
        return self.after


class FakeSettings:
    """A configuration in memory; with `problems` it cannot be read."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.warned: list[str] = []
        self.more: dict[str, Any] = {}
        self.said: dict[str, str] = {}
        self.shadow = ""
        self.restarting: set[str] = {"port"}
        self.legacy: Sequence[str] | None = None
        self.data = b"port = 1\n"
        self.meanwhile: bytes | None = None

    def get(self, key: str) -> tuple[Any, str]:
        return {"port": (11435, "11435"), "host": ("127.0.0.1", '"127.0.0.1"'), "unset": (None, "")}[key]

    def rows(self) -> Sequence[tuple[str, str, str]]:
        return [("host", '"127.0.0.1"', "default"), ("port", "1", "file line 2")]

    def plain(self) -> dict[str, Any]:
        if self.problems:
            raise BadConfig(self.problems)
        return {"host": "127.0.0.1", "port": 1, **self.more}

    def warnings(self) -> Sequence[str]:
        return self.warned

    def defaults(self) -> str:
        return 'host = "127.0.0.1"\n'

    def keys(self) -> Sequence[str]:
        return ("host", "port")

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def change(self, wishes: Sequence[tuple[str, Sequence[str]]]) -> Sequence[Changed]:
        return [self._set(key, words) for key, words in wishes]

    def unset(self, keys: Sequence[str]) -> Sequence[Changed]:
        return [self._changed(key, self.said.pop(key, "0")) for key in keys]

    def _set(self, key: str, words: Sequence[str]) -> Changed:
        before, self.said[key] = self.said.get(key, "0"), " ".join(words)
        return self._changed(key, before)

    def _changed(self, key: str, before: str) -> Changed:
        now = self.said.get(key, "0")
        changed = before != now
        return Changed(key, now, before, now, before, changed, self.shadow, changed and key in self.restarting)

    def migrate(self) -> Sequence[str] | None:
        return self.legacy

    def source(self) -> bytes:
        return self.data

    def check(self, data: bytes, path: str) -> None:
        if b"wrong" in data:
            raise BadConfig([f"{path} line 1: wrong", f"{path} line 2: worse"])

    def replace(self, before: bytes, after: bytes) -> bool:
        if self.meanwhile is not None:
            self.data = self.meanwhile
        if self.data != before:
            return False
        self.data = after
        return True


class FakeKeys:
    """Keys in memory."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.asked: list[tuple[Any, ...]] = []
        self.days: list[dict[str, Any]] = []

    def rows(self) -> list[dict[str, Any]]:
        return [{"name": name, "key": "plm_…0001", "models": [], "weight": 1.0} for name in self.names]

    def add(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((name, dict(settings)))
        self.names.append(name)
        return {"name": name, "key": "plm_secret", "models": []}

    def rotate(self, name: str) -> dict[str, Any]:
        self.asked.append((name,))
        return {"name": name, "key": "plm_other", "models": []}

    def remove(self, name: str) -> str:
        self.names.remove(name)
        return name

    def usage(self, name: str, days: int) -> list[dict[str, Any]]:
        self.asked.append((name, days))
        return self.days


class FakePlaces(NamedTuple):
    """Folders below a temporary one."""

    config_file: Path
    data: Path
    run: Path


class FakeRoot:
    """Everything a verb may use, in memory; the daemon is whatever `url` names."""

    def __init__(self, base: Path) -> None:
        self.env: dict[str, str] = {}
        self.places = FakePlaces(base / "config.toml", base, base / "run")
        self.places.run.mkdir(exist_ok=True)
        self.warns_at_start = False
        self.program: Sequence[str] = ("false",)
        self.processes = SystemProcesses()
        self.models = FakeModels()
        self.engines = FakeEngines()
        self.settings = FakeSettings()
        self.keys = FakeKeys()
        self.url = "http://127.0.0.1:9"  # discard: nothing answers there
        self.explicit = False
        self.note: Note | None = None
        self.serving: Callable[[argparse.Namespace], int] = lambda _: 0
        self.found: dict[str, Any] = {"sections": []}
        self.fitting: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
        self.searching: Callable[[str, int], Sequence[Hit]] = lambda *_: ()
        self.remarked: dict[str, list[dict[str, Any]]] = {}
        self.checked: list[str | None] = []
        self.unstartable: BlazarError | None = None
        self.closed = 0

    def target(self) -> Target:
        return Target(self.url, self.explicit, self.note)

    def client(self) -> DaemonClient:
        return DaemonClient(self.target().url)

    def serve(self, args: argparse.Namespace) -> int:
        return self.serving(args)

    def fit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return self.fitting(question)

    def search(self, word: str, limit: int) -> Sequence[Hit]:
        return self.searching(word, limit)

    def diagnose(self) -> dict[str, Any]:
        return self.found

    def remarks(self) -> dict[str, list[dict[str, Any]]]:
        return self.remarked

    def check_start(self, config: str | None) -> None:
        self.checked.append(config)
        if self.unstartable is not None:
            raise self.unstartable

    def start_warnings(self, host: str | None, config: str | None) -> Sequence[str]:
        return [f"{host} {config}"] if self.warns_at_start else []

    def close(self) -> None:
        self.closed += 1

    def use(self, stub: StubDaemon, *, explicit: bool = False) -> None:
        """Talk to a stub, as the live daemon of this folder or as a named one."""
        self.url, self.explicit = stub.url, explicit
        self.note = None if explicit else Note(stub.url, 1, "0")


class Said(NamedTuple):
    """What one run of the command line came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Said]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def chat_lines(*pieces: str, thinking: str = "") -> list[dict[str, Any]]:
    """An answer of /api/chat as it is streamed; the last line carries the counts."""
    lines: list[dict[str, Any]] = [{"message": {"role": "assistant", "thinking": thinking}}] if thinking else []
    lines += [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces]
    last = {"model": "tiny", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return [*lines, {**last, "prompt_eval_count": 3, "eval_count": len(pieces), "eval_duration": 10**9}]
