"""What a word means that names a model elsewhere: `hf:owner/repo[:QUANT]`, an ollama reference, or their web addresses.

Says which registry is meant and asks none. A word that is neither is None: a name of the catalog, or a path.
"""

import re
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed

HF = "hf"
OLLAMA = "ollama"
DEFAULT_TAG = "latest"

_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_HF = re.compile(rf"(?P<repo>{_PART}/{_PART})(?::(?P<tag>[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}))?")
_OLLAMA = re.compile(rf"(?P<repo>(?:{_PART}/)?{_PART})(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}))?")

# Longest first: what people paste. The rest of the word is judged by the registry's own grammar.
_PREFIXES = (
    ("https://huggingface.co/", HF),
    ("https://hf.co/", HF),
    ("huggingface.co/", HF),
    ("hf.co/", HF),
    ("hf://", HF),
    ("hf:", HF),
    ("https://registry.ollama.ai/", OLLAMA),
    ("registry.ollama.ai/", OLLAMA),
    ("https://ollama.com/", OLLAMA),
    ("ollama.com/", OLLAMA),
    ("ollama://", OLLAMA),
    ("ollama:", OLLAMA),
)


class RemoteRef(NamedTuple):
    """A model of a registry. `tag` is a quantisation (hf; "" where none is said) or a tag (ollama)."""

    registry: str
    repo: str
    tag: str = ""

    def __str__(self) -> str:
        return f"{self.registry}:{self.repo}" + (f":{self.tag}" if self.tag else "")


def parse_reference(text: str) -> RemoteRef | None:
    """The registry's model that `text` names outright; raises `Malformed` when what follows the prefix is no name there."""
    for prefix, registry in _PREFIXES:
        if text.lower().startswith(prefix):
            return _hf(text[len(prefix) :], text) if registry == HF else _ollama(text[len(prefix) :], text)
    return None


def implied_reference(name: str) -> RemoteRef | None:
    """What a name that the catalog lacks may mean: `owner/repo[:QUANT]` on Hugging Face, `name:tag` in ollama's registry.

    A bare word is neither: a mistyped model of the catalog must not be asked for elsewhere.
    """
    if name.lower().endswith(".gguf"):
        return None
    if (match := _HF.fullmatch(name)) and _plain(match["repo"]):
        return RemoteRef(HF, match["repo"], match["tag"] or "")
    if ":" in name and "/" not in name and (match := _OLLAMA.fullmatch(name)):
        return RemoteRef(OLLAMA, f"library/{match['repo']}", match["tag"])
    return None


def _hf(rest: str, whole: str) -> RemoteRef:
    match = _HF.fullmatch(rest.rstrip("/").removesuffix("/tree/main"))
    if match is None or not _plain(match["repo"]):
        raise Malformed(teaching.bad_reference(whole[:200]), "model")
    return RemoteRef(HF, match["repo"], match["tag"] or "")


def _ollama(rest: str, whole: str) -> RemoteRef:
    match = _OLLAMA.fullmatch(rest.rstrip("/"))
    if match is None or not _plain(match["repo"]):
        raise Malformed(teaching.bad_reference(whole[:200]), "model")
    repo = match["repo"] if "/" in match["repo"] else f"library/{match['repo']}"
    return RemoteRef(OLLAMA, repo, match["tag"] or DEFAULT_TAG)


def _plain(repo: str) -> bool:
    """Two dots would climb out of a path."""
    return ".." not in repo
