"""Drafts over a real daemon: asked for by the verb and by clients, shown, used by the engine, renewed, and gone with their model."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from blazar.domain import teaching
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.engine import recorded, stub_server
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry

MODEL, DRAFT = "hf:me/Large-GGUF:F16", "hf:me/Small-GGUF:F16"
KNOWN, ITS_DRAFT = "hf:Qwen/Qwen3-4B-GGUF:Q8_0", "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"
HELLO = [{"role": "user", "content": "hi"}]


class Rig:
    """A hub with models and smaller ones, and a daemon whose engine is the stub."""

    def __init__(self, home: Path) -> None:
        self.registry = ModelRegistry()
        self.record = home / "record.jsonl"
        engine = stub_server(home / "bin", record=str(self.record))
        env = {"BLAZAR_REGISTRY_BASE": self.registry.url, "BLAZAR_ENGINE_PATH": str(engine)}
        self.daemon = Daemon(home, f"spawn_mem_guard = false\n{ONE_THREAD}", env)
        for repo, file in (("me/Large-GGUF", "Large-F16.gguf"), ("Qwen/Qwen3-4B-GGUF", "Qwen3-4B-Q8_0.gguf")):
            self.registry.publish_hub(repo, {file: tiny(blocks=8).build()})
        for repo, file in (("me/Small-GGUF", "Small-F16.gguf"), ("Qwen/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf")):
            self.registry.publish_hub(repo, {file: tiny(blocks=1).build()})

    def close(self) -> None:
        self.daemon.stop()
        self.registry.close()

    def pull(self, **more: Any) -> dict[str, Any]:
        answer = self.daemon.ask("POST", "/api/pull", {"model": MODEL, "as": "large", "stream": False, **more})
        assert answer.status == 200, answer.body
        return dict(answer.json())

    def drafts(self) -> list[Path]:
        """All that lie among the models."""
        return sorted((self.daemon.data / "models").glob("*draft*"))

    def shown(self, name: str = "large") -> Path | None:
        """The draft that `show` tells of."""
        said = json.loads(self.daemon.must("show", name, "--json")).get("draft")
        return Path(said) if said else None

    def used(self, name: str = "large") -> str:
        """The draft that the engine of a first chat is started with."""
        assert self.daemon.ask("POST", "/api/chat", {"model": name, "messages": HELLO, "stream": False}).status == 200
        argv = recorded(self.record, "start")[-1]["argv"]
        return str(argv[argv.index("--model-draft") + 1]) if "--model-draft" in argv else ""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with closing(Rig(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("running", [True, False], ids=["daemon", "alone"])
@pytest.mark.parametrize(
    ("reference", "word", "draft"),
    [(MODEL, f"--draft={DRAFT}", DRAFT), (KNOWN, "--draft", ITS_DRAFT)],
    ids=["named", "known"],
)
def test_the_verb_brings_a_draft(rig: Rig, running: bool, reference: str, word: str, draft: str) -> None:
    """Whoever does it: both files come, `show` tells of the smaller one, the engine guesses by it, and it goes with its model."""
    if running:
        rig.daemon.start()
    rig.daemon.must("pull", reference, "--name", "large", word)
    link = rig.shown()
    assert link is not None
    assert rig.drafts() == [link]
    assert link.read_bytes() == tiny(blocks=1).build()
    if not running:
        rig.daemon.start()
    assert rig.used() == str(link)
    rig.daemon.must("rm", "large")
    assert rig.drafts() == []


@pytest.mark.parametrize(("reference", "draft"), [(MODEL, DRAFT), (KNOWN, True)], ids=["named", "known"])
def test_a_client_brings_a_draft(rig: Rig, reference: str, draft: str | bool) -> None:
    """By `draft` of `/api/pull`; a later pull without it brings it up to date."""
    with rig.daemon:
        assert rig.pull(model=reference, draft=draft)["status"] == "success"
        first = rig.shown()
        assert first is not None
        assert rig.used() == str(first)
        repo, file = (
            ("me/Small-GGUF", "Small-F16.gguf")
            if draft is not True
            else ("Qwen/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf")
        )
        rig.registry.publish_hub(repo, {file: tiny(blocks=2).build()})
        assert rig.pull(model=reference)["fresh"]
        second = rig.shown()
        assert second is not None
        assert rig.drafts() == [second]
        assert second.read_bytes() == tiny(blocks=2).build()
        assert rig.used() == str(second)


def test_a_draft_that_cannot_guess_is_left_out_and_the_model_comes(rig: Rig) -> None:
    """Of another vocabulary or no smaller: a sentence on the way, and a model that is served without."""
    odd = tiny(blocks=1, extra={"tokenizer.ggml.model": "gpt2"}).build()
    rig.registry.publish_hub("me/Odd-GGUF", {"Odd-F16.gguf": odd})
    with rig.daemon:
        for reference, sentence in (
            (
                "hf:me/Odd-GGUF:F16",
                teaching.pull_draft_at_odds("large", "hf:me/Odd-GGUF:F16", "tokenizer.ggml.model"),
            ),
            ("hf:Qwen/Qwen3-4B-GGUF:Q8_0", teaching.pull_draft_no_smaller("large", "hf:Qwen/Qwen3-4B-GGUF:Q8_0")),
        ):
            assert sentence in rig.pull(draft=reference)["notes"]
            assert rig.shown() is None
            assert rig.drafts() == []
            assert rig.used() == ""
            rig.daemon.must("rm", "large")


def test_a_draft_that_is_named_and_not_there_keeps_the_model_from_coming(rig: Rig) -> None:
    """Nothing is downloaded before that is known; one that was only looked up is told of and left out."""
    with rig.daemon:
        said = rig.daemon.cli("pull", MODEL, "--name", "large", "--draft=hf:me/Nowhere-GGUF:F16")
        assert (said.returncode, "me/Nowhere-GGUF" in said.stderr) == (1, True)
        assert rig.registry.network.asked == []
        del rig.registry.hub["Qwen/Qwen3-0.6B-GGUF"]
        said = rig.daemon.cli("pull", KNOWN, "--name", "large", "--draft")
        assert (said.returncode, "large is without its draft" in said.stderr) == (0, True)
        assert rig.shown() is None
