"""What a spawn looks like at log level debug."""

import pytest

from blazar.adapters.engines.launch_lines import HIDDEN, launch_lines, shown
from blazar.application.ports.children import LaunchPlan
from blazar.domain.argv import Decision
from blazar.domain.kinds import EngineKind


def test_a_spawn_is_told_with_its_reasons() -> None:
    """The whole command line, the names of variables without their values, each choice, each note."""
    plan = LaunchPlan(
        key="m#1",
        model="m",
        kind=EngineKind.LLAMACPP,
        tag="b1",
        words=("llama-server",),
        env=(("HF_TOKEN", "hush"),),
        notes=("a note",),
        ctx=4096,
        slots=2,
        weights=1,
        decisions=(Decision(("-c", "8192"), "ctx", "two slots"), Decision((), "threads", "left to the engine")),
    )
    assert list(launch_lines(["llama-server", "-m", "a b.gguf", "--api-key-file", "/run/m.key"], plan)) == [
        "m#1: llamacpp b1, context 4096, slots 2: llama-server -m 'a b.gguf' --api-key-file /run/m.key",
        "m#1: variables HF_TOKEN",
        "m#1: -c 8192: two slots",
        "m#1: no threads: left to the engine",
        "m#1: a note",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--api-key", "hush", "-c", "1"], ["--api-key", HIDDEN, "-c", "1"]),
        (["--hf-token=hush"], [f"--hf-token={HIDDEN}"]),
        (["--api_key", "-hush"], ["--api_key", HIDDEN]),
        (["--mcp-servers-json", '{"a": "hush"}'], ["--mcp-servers-json", HIDDEN]),
        (["--keep", "1", "--override-kv", "tokenizer.x=str:a"], ["--keep", "1", "--override-kv", "tokenizer.x=str:a"]),
    ],
)
def test_no_secret_of_a_person_s_own_words_is_told(words: list[str], told: list[str]) -> None:
    """Beside its flag or joined to it; what only looks a little like one stays readable."""
    assert shown(words) == told
