"""Small models that guess tokens ahead for larger ones: which goes with which, whether two vocabularies are one, what a file is for.

Facts only; looks nothing up and opens nothing.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

SIMPLE: Final = "simple"
FAMILIES: Final[Mapping[str, str]] = {"eagle3": "eagle3", "dflash": "dflash", "gemma4-assistant": "mtp"}
"""Architectures that are heads for one model and no models (llama.cpp b11434, src/llama-arch.cpp); all others are `simple` drafts."""

WIDEST_GAP: Final = 128
"""Tokens by which two vocabularies may differ in size: they are padded unequally (common/speculative.cpp, b11434)."""

_PAIRS: Final = (
    # llama.cpp's own pairing for 7B and 14B (common/arg.cpp, --fim-qwen-7b-spec and --fim-qwen-14b-spec).
    (re.compile(r"qwen-?2\.5-coder"), "hf:ggml-org/Qwen2.5-Coder-0.5B-Q8_0-GGUF"),
    # One vocabulary of 151,936 tokens, padded to 152,064 from 7B on (config.json of both).
    (re.compile(r"qwen-?2\.5(?!-(?:vl|omni|math|1m))"), "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q8_0"),
    # 151,936 tokens at every size, experts or not (config.json); the publisher's repository has this quantisation only.
    (
        re.compile(r"qwen-?3(?![.\d]|-(?:vl|omni|coder|next|embedding|reranker|asr|tts))"),
        "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0",
    ),
    # 3.2's text models were pruned from 3.1 and kept its 128,256 tokens (their model card).
    (re.compile(r"llama-?3\.[123](?!.*vision)"), "hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0"),
    # 262,144 tokens, 64 more where it sees pictures (config.json).
    (re.compile(r"gemma-?3(?![n.\d])"), "hf:ggml-org/gemma-3-1b-it-GGUF:Q8_0"),
)
_SEPARATED: Final = re.compile(r"[_ :/]+")
_LINK: Final = re.compile(r"%40draft-(?P<family>[a-z0-9]+)-(?P<mark>[0-9a-f]*)\.gguf$")


def draft_for(repo: str) -> str:
    """The reference of the draft that is known to go with a repository's model; "" where none is."""
    name = _SEPARATED.sub("-", repo.rpartition("/")[2].lower())
    return next((reference for family, reference in _PAIRS if family.search(name)), "")


def family_of(arch: str) -> str:
    """What a draft of that architecture is for, as `Beside.draft_family` has it."""
    return FAMILIES.get(arch, SIMPLE)


def link_name(model: str, family: str, mark: str) -> str:
    """What a draft's link is made from: its own for each model, so that each can go by itself. `@` is in no model's name."""
    plain = re.sub(r"[^0-9a-f]", "", mark.lower())[:12]
    return f"{model}@draft-{family}-{plain}"


def told_by(path: str) -> tuple[str, str]:
    """Family and mark that a draft's link was made with; those of a plain draft for any other file."""
    found = _LINK.search(path)
    return (found["family"], found["mark"]) if found else (SIMPLE, "")


def at_odds(model: Mapping[str, Any], draft: Mapping[str, Any], tokens: tuple[int, int]) -> str:
    """In which word of their headers two vocabularies differ so that the one cannot guess for the other; "" where they may.

    As llama.cpp judges it, but for the tokens themselves, which headers do not tell without being read whole. `tokens` is how many
    each of the two has (0: unknown).
    """
    if model.get("tokenizer.ggml.model") != draft.get("tokenizer.ggml.model"):
        return "tokenizer.ggml.model"
    for edge in ("bos", "eos"):
        added, number = f"tokenizer.ggml.add_{edge}_token", f"tokenizer.ggml.{edge}_token_id"
        if added in model and added in draft and model[added] != draft[added]:
            return added
        if model.get(added) and draft.get(added) and model.get(number) != draft.get(number):
            return number
    if all(tokens) and abs(tokens[0] - tokens[1]) > WIDEST_GAP:
        return "tokenizer.ggml.tokens"
    return ""
