"""What a word means that names a model elsewhere: `hf:owner/repo[:QUANT]`, an ollama reference, or their web addresses.

Says which registry is meant and asks none. A word that is neither is None: a name of the catalog, or a path.
"""

import re
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.weight_names import SUFFIX, shard_of

HF = "hf"
OLLAMA = "ollama"
DEFAULT_TAG = "latest"

_VIEWER = re.compile(r"(?:^|&)show_file_info=([^&]+)")
"""The query by which Hugging Face's pages open a file's details."""
_LONGEST = 250
"""Characters of a file's name; file systems take 255 bytes."""
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_HF = re.compile(rf"(?P<repo>{_PART}/{_PART})(?::(?P<tag>[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}))?")
_PAGE = re.compile(
    rf"(?P<repo>{_PART}/{_PART})(?:/(?:tree|blob|resolve|raw)/main(?P<path>/[^?#]*)?)?/?(?:\?(?P<query>[^#]*))?"
)
"""An address of a repository or of one of its files as a browser shows it; what hangs on it is a query at most."""
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


def names_registry(text: str) -> bool:
    """Whether a word begins as references do; what follows may still be no name."""
    return text.lower().startswith(tuple(prefix for prefix, _ in _PREFIXES))


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
    match = _HF.fullmatch(rest.rstrip("/"))
    if match is not None and _plain(match["repo"]):
        return RemoteRef(HF, match["repo"], match["tag"] or "")
    # The prefixes without slashes are ours: what follows them is no address.
    page = None if whole.lower().startswith("hf:") else _PAGE.fullmatch(rest)
    if page is None or not _plain(page["repo"]):
        raise Malformed(teaching.bad_reference(whole[:200]), "model")
    opened = _VIEWER.search(page["query"] or "")
    file = page["path"] or (opened[1] if opened else "")
    return RemoteRef(HF, page["repo"], _stem(_unescaped(file).rpartition("/")[2], whole))


def _unescaped(text: str) -> str:
    """An address as it was meant: `%2D` is a hyphen (RFC 3986)."""
    return _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), text.encode()).decode(errors="replace")


def _stem(file: str, whole: str) -> str:
    """The file's name without suffix and shard marker, which stands for its quantisation; "" for a folder."""
    if not file.lower().endswith(SUFFIX):
        if "." in file and "/blob/" in whole:
            raise Malformed(teaching.bad_reference(whole[:200]), "model")
        return ""
    shard = shard_of(file)
    stem = shard.stem if shard else file[: -len(SUFFIX)]
    if not stem.isprintable() or len(stem) > _LONGEST:
        raise Malformed(teaching.bad_reference(whole[:200]), "model")
    return stem


def _ollama(rest: str, whole: str) -> RemoteRef:
    match = _OLLAMA.fullmatch(rest.rstrip("/"))
    if match is None or not _plain(match["repo"]):
        raise Malformed(teaching.bad_reference(whole[:200]), "model")
    repo = match["repo"] if "/" in match["repo"] else f"library/{match['repo']}"
    return RemoteRef(OLLAMA, repo, match["tag"] or DEFAULT_TAG)


def _plain(repo: str) -> bool:
    """Two dots would climb out of a path."""
    return ".." not in repo
