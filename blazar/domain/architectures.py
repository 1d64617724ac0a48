"""What an engine says when it does not know a model's architecture, read from the last lines of a dead one.

Decides nothing about who serves the model instead. No kind of engine is named: a phrase is looked for in every log, and one that
nobody recognises is an ordinary death.
"""

import re

LONGEST_ARCH = 64
"""Characters of a name that is shown to people; the longest that engines know have half of that."""
_ARCHITECTURE = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST_ARCH - 1}}}")

_QUOTED = r"['\"`](?P<name>[^'\"`\n]{1,200})['\"`]"
_PHRASES = tuple(
    re.compile(phrase)
    for phrase in (
        # llama.cpp, src/llama-model.cpp: unknown where the name is new, unsupported where only its tools know it.
        rf"\b(?:unknown|unsupported) model architecture: {_QUOTED}",
        # mistral.rs, gguf/mod.rs and the loaders of folders; the second one was spelled "Huggging" up to 2025.
        rf"\bUnknown GGUF architecture {_QUOTED}",
        rf"\bUnsupported Hugg+ing Face Transformers -CausalLM model class {_QUOTED}",
        # SGLang, srt/models/registry.py, now and in 2024.
        r"\bModel architectures \[['\"](?P<name>[^'\"\n]{1,200})['\"].{0,200}?\] are not supported",
        r"\bUnsupported architectures: (?P<name>[^\s,]{1,200}?)\. Supported list",
        # transformers, which SGLang asks first.
        rf"\bhas model type {_QUOTED} but Transformers does not recognize",
        # mlx-lm, utils.py.
        r"\bModel type (?P<name>\S{1,200}) not supported",
    )
)
_CLASS_ENDS = re.compile(r"(?:forcausallm|forconditionalgeneration|lmheadmodel|model)$")


def is_architecture(name: str) -> bool:
    """Whether a file may call its architecture so: that becomes part of rules, sentences and what people copy."""
    return _ARCHITECTURE.fullmatch(name) is not None


def classify_unknown_arch(stderr: bytes | str) -> str:
    """The architecture that a dead engine named as unknown, "" when it died of something else.

    `stderr` may begin in the middle of a character and be in any language: what is no UTF-8 is replaced, and nothing is searched
    for but the phrases above. Of several the last one counts: what was tried last is what it died over.
    """
    text = stderr if isinstance(stderr, str) else stderr.decode("utf-8", "replace")
    found = [match for phrase in _PHRASES for match in phrase.finditer(text)]
    if not found:
        return ""
    said = max(found, key=lambda match: match.start())["name"]
    return "".join(char if char.isprintable() else "\ufffd" for char in said.strip())[:LONGEST_ARCH]


def same_architecture(said: str, known: str) -> bool:
    """Whether an engine's word for an architecture means the catalog's. A draft may be what an engine does not know.

    GGUF has one spelling; of folders one engine says the class (`Qwen3ForCausalLM`) and another the type (`qwen3`).
    """
    return not known or _plain(said) == _plain(known[:LONGEST_ARCH])


def _plain(name: str) -> str:
    # mistral.rs cuts long names and says so with dots.
    letters = "".join(char for char in name.removesuffix("...").casefold() if char.isalnum())
    return _CLASS_ENDS.sub("", letters) or letters
