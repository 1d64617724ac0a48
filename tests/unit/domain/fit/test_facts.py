"""The table of what the engine hard-codes: complete, and of one mind with itself."""

import re
from pathlib import Path

from blazar.domain.fit import facts
from blazar.domain.fit.facts import DEFAULT, FACTS, Keeps, Recurs
from blazar.domain.fit.layout import _CLASSES
from tests.support.fit_rows import models

# LLM_ARCH_NAMES of llama.cpp b11434 (src/llama-arch.cpp), without the dummy `clip`.
KNOWN = """
afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bert bitnet bloom chameleon chatglm clef codeshell
cogvlm cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr deepseek32 deepseek4 dflash dots1 dots3note dream
eagle3 ernie4_5 ernie4_5-moe eurobert exaone exaone-moe exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n
gemma4 gemma4-assistant glm-dsa glm4 glm4moe glm5-next gpt-oss gpt2 gptj gptneox granite granite_swa granitehybrid granitemoe
graniteswitch grok grovemoe hrm_text hunyuan-dense hunyuan-moe hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba jina-bert-v2
jina-bert-v3 kimi-k3 kimi-linear laguna lfm2 lfm2moe llada llada-moe llama llama-embed llama4 maincoder mamba mamba2 maple mellum
mimo2 minicpm minicpm3 minimax-01 minimax-m2 minimax-m3 mistral3 mistral4 modern-bert mpt muse-glimmer nanbeige nemotron
nemotron_h nemotron_h_moe neo-bert nomic-bert nomic-bert-moe olmo olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3
phimoe plamo plamo2 plamo3 plm pockettts qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe qwen3next qwen3tts qwen3vl
qwen3vlmoe qwen4exp refact rnd1 rwkv6 rwkv6qwen2 rwkv7 seed_oss smallthinker smollm3 spark2_5 stablelm starcoder starcoder2
step35 t5 t5encoder talkie wavtokenizer-dec xverse
"""


def test_every_architecture_of_the_engine_has_a_row() -> None:
    """The table names what llama.cpp b11434 names, no more and no less."""
    assert sorted(FACTS) == sorted(KNOWN.split())


def test_every_measured_architecture_has_a_row() -> None:
    """What the fixture measured is not charged as unknown."""
    assert {model["metadata"]["general.architecture"] for model in models().values()} <= set(FACTS)


def test_rows_are_of_one_mind() -> None:
    """State goes with a rule that tells recurrent blocks, and only with one; every memory class has its layout."""
    stateful = {Keeps.STATE, Keeps.BOTH, Keeps.INDEXED_STATE}
    for arch, row in FACTS.items():
        if row.keeps is not Keeps.NOTHING:
            assert (row.keeps in stateful) == (row.recurs is not Recurs.NEVER), arch
        assert not row.upper, arch
    assert set(_CLASSES) == set(Keeps)


def test_a_row_that_differs_says_where_the_engine_says_so() -> None:
    """Each row of its own, or the group that it stands in, names its source."""
    source = Path(facts.__file__).read_text(encoding="utf-8")
    rows = source[source.index("_ROWS:") : source.index("_PLAIN")]
    groups = re.split(r"\n    # ", rows)[1:]
    assert len(groups) > 5
    for group in groups:
        title, *lines = group.splitlines()
        entries = re.split(r'\n(?=    "[\w-]+": )', "\n".join(lines))
        bare = [
            entry for entry in entries if "#" not in entry and not re.search(r"\(llama-model\.cpp|\(llm_arch", title)
        ]
        assert [entry for entry in bare if entry.strip(" }\n")] == []
    assert DEFAULT.window is None
