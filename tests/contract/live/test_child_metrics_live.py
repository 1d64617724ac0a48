"""What a real engine counts about itself, read from the child that the daemon started and by the names of its kind."""

import urllib.request
from pathlib import Path

from blazar.adapters.engines.drivers import SPECS
from blazar.domain.child_metrics import Readings, read_metrics
from blazar.domain.instance.hints import CacheHints
from blazar.domain.kinds import EngineKind
from tests.support.daemon import ONE_THREAD, Answer, Daemon
from tests.support.shared import shared

METRICS = SPECS[EngineKind.LLAMACPP].metrics


def ask(daemon: Daemon) -> Answer:
    prompt = "Once upon a time there was"
    return daemon.ask("POST", "/v1/completions", {"model": "m", "prompt": prompt, "max_tokens": 12, "ignore_eos": True})


def read(daemon: Daemon) -> Readings:
    """At the child's own port, as the daemon's command line makes it answer there."""
    (row,) = daemon.ask("GET", "/api/ps").json()["models"]
    with urllib.request.urlopen(f"http://127.0.0.1:{row['port']}{METRICS.path.decode()}", timeout=60) as answer:
        return read_metrics(answer.read(), METRICS)


def test_a_supervised_llama_server_tells_its_counts(tmp_path: Path) -> None:
    """Every figure that its kind has a name for is there, and they are those of the answers that it gave."""
    daemon = Daemon(tmp_path, f"{ONE_THREAD}child_auth = false\n")  # its key is the daemon's alone
    daemon.must("import", str(shared("models/tiny-llama.gguf")), "--name", "m")
    with daemon:
        usage = ask(daemon).json()["usage"]
        first = read(daemon)
        ask(daemon)
        second = read(daemon)
    told = {field for field, measure in zip(Readings._fields, METRICS[1:], strict=True) if measure.names}
    assert {field for field, value in first._asdict().items() if value is not None} == told
    assert (first.prompt_tokens, first.generated_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert (second.prompt_tokens, second.generated_tokens) == (
        2 * usage["prompt_tokens"],
        2 * usage["completion_tokens"],
    )
    assert (first.cached_tokens, first.running, first.waiting) == (0, 0, 0)
    assert second.cached_tokens > 0
    assert CacheHints().after(first).after(second).cache_hint > 0
    assert second.generated_rate > 0
