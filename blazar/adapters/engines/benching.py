"""How fast a build decodes: its llama-bench where it brings one, else its server by timed completions. Judges no figure.

One process at a time, started and ended by its pid, on a port of its own choosing; a daemon's children are left alone.
"""

import http.client
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blazar.adapters.engines.asking import ask
from blazar.adapters.engines.children import LOOPBACK, free_port
from blazar.adapters.engines.environment import engine_env
from blazar.application.ports.benches import BenchFailed, DecodeBench, Run, Way
from blazar.domain import teaching
from blazar.domain.records import Engine

_ROOM = 512
"""Tokens of context: more than a run ever decodes, little enough for any card."""
_PROMPT = "Once upon a time"
_END_SECS = 10.0
_POLL_SECS = 0.05
_LONGEST_SAID = 300


class EngineBench(DecodeBench):
    """`scrubbed` and `extra` make the environment that the build's children would have."""

    def __init__(self, scrubbed: tuple[str, ...], extra: Mapping[str, str] | None = None) -> None:
        self._scrubbed, self._extra = scrubbed, extra if extra is not None else {}

    def has_tool(self, engine: Engine) -> bool:
        tool = _tool_of(engine)
        return tool is not None and os.access(tool, os.X_OK)

    def measure(self, engine: Engine, run: Run) -> Sequence[float]:
        figures = self._by_tool(engine, run) if run.way is Way.TOOL else self._by_server(engine, run)
        if not figures or min(figures) < 0 or not max(figures) > 0:
            raise BenchFailed(teaching.bench_told_nothing())
        return figures

    def _by_tool(self, engine: Engine, run: Run) -> list[float]:
        words = [str(_tool_of(engine)), "-m", run.model, "-p", "0", "-n", str(run.tokens), "-r", str(run.samples)]
        words += ["-t", str(run.threads)] if run.threads else []
        try:
            said = ask((*words, "-o", "json"), self._env(), run.seconds, both=False)
        except subprocess.TimeoutExpired:
            raise BenchFailed(teaching.no_answer_within(run.seconds), slow=True) from None
        except OSError as error:
            raise BenchFailed(error.strerror or str(error)) from error
        if said.code != 0:
            raise BenchFailed(teaching.ended_with(said.code))
        return _samples(said.text)

    def _by_server(self, engine: Engine, run: Run) -> list[float]:
        end = time.monotonic() + run.seconds
        with tempfile.TemporaryFile() as log, self._serving(engine, run, log) as (process, port):
            try:
                _await_ready(process, port, end, log)
                return [_completion(port, run.tokens, end) for _ in range(run.samples)]
            except TimeoutError:
                raise BenchFailed(teaching.no_answer_within(run.seconds), slow=True) from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise BenchFailed(_last_line(log) or str(error)) from error

    @contextmanager
    def _serving(self, engine: Engine, run: Run, log: Any) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        port = free_port()
        words = [*engine.words, "-m", run.model, "--host", LOOPBACK, "--port", str(port), "-c", str(_ROOM), "-np", "1"]
        words += ["--threads", str(run.threads)] if run.threads else []
        try:
            process = subprocess.Popen(
                words, env=self._env(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise BenchFailed(error.strerror or str(error)) from error
        try:
            yield process, port
        finally:
            _end(process)

    def _env(self) -> dict[str, str]:
        return engine_env(self._scrubbed, self._extra.items())


def _tool_of(engine: Engine) -> Path | None:
    """Beside the server; a command of several words (a wheel) has no folder of its own."""
    if len(engine.words) != 1:
        return None
    server = Path(engine.server_path)
    return server.with_name(Way.TOOL.value + server.suffix * (server.suffix == ".exe"))


def _samples(text: str) -> list[float]:
    """`samples_ts` of the one row that llama-bench prints; anything else is no measurement."""
    try:
        rows = json.loads(text)
        return [float(figure) for row in rows for figure in row["samples_ts"] if row["n_gen"]]
    except (ValueError, TypeError, KeyError):
        raise BenchFailed(teaching.bench_told_nothing()) from None


def _await_ready(process: subprocess.Popen[bytes], port: int, end: float, log: Any) -> None:
    while True:
        if process.poll() is not None:
            raise BenchFailed(_last_line(log) or teaching.ended_with(process.returncode))
        if time.monotonic() > end:
            raise TimeoutError
        try:
            if _ask(port, "GET", "/health", None, end)[0] == 200:
                return
        except (ConnectionError, http.client.HTTPException):
            pass  # it does not listen yet
        time.sleep(_POLL_SECS)


def _completion(port: int, tokens: int, end: float) -> float:
    """One timed completion; the speed is the engine's own figure, which counts decoding alone."""
    question = {"prompt": _PROMPT, "n_predict": tokens, "ignore_eos": True, "cache_prompt": False, "temperature": 0}
    status, answer = _ask(port, "POST", "/completion", question, end)
    timings = answer.get("timings") if isinstance(answer, dict) else None
    if status != 200 or not isinstance(timings, dict):
        raise BenchFailed(teaching.bench_told_nothing())
    return float(timings.get("predicted_per_second") or 0.0)


def _ask(port: int, method: str, path: str, body: Any, end: float) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=max(end - time.monotonic(), _POLL_SECS))
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Content-Type": "application/json"} if sent else {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def _last_line(log: Any) -> str:
    log.seek(0)
    lines: Iterable[str] = log.read().decode("utf-8", "replace").splitlines()
    return next((line.strip()[:_LONGEST_SAID] for line in reversed([*lines]) if line.strip()), "")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
