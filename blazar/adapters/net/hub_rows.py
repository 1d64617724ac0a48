"""What Hugging Face's JSON says, read from rows that anybody may have published: believable, bounded, or left out. Asks nobody.

Facts: of a file that git keeps elsewhere (LFS, Xet) `lfs.oid` is the SHA-256 of its bytes; `oid` is git's mark of the file, or of the
note that stands for it. Tags hold the licence as `license:NAME`. `gated` is false, "auto" or "manual". Searches answer `gguf` with
the parameters that a header says (`total`) and `siblings` by `rfilename`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blazar.application.ports.remote import Found
from blazar.domain.repository import gguf_models
from blazar.domain.weight_names import quant_of

LARGEST = 2**50
"""Bytes of one file; anything beyond is no size."""
LONGEST_NAME = 250
"""Bytes of one part of a path: file systems take 255, and a partial is called a little longer."""
MOST_QUANTS = 40
GIT_DIGITS = 40
"""Of a git object's id (SHA-1)."""
_OURS = (".part", ".part.json", ".lock")
"""How downloads call what is incomplete: a file of that name would be taken for the note of another."""
_PATH = re.compile(r"[^\x00-\x1f\x7f\\?#]{1,500}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MARK = re.compile(r"[0-9a-f]{40,64}")
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+/-]{0,99}")


class Row(NamedTuple):
    """One file of a listing. `sha256` is "" for what git keeps itself; `mark` tells its versions apart all the same, and is `git` then."""

    path: str
    size: int
    sha256: str
    mark: str

    @property
    def git(self) -> str:
        """The id that git gives its content; "" for what it keeps a note of only."""
        return "" if self.sha256 or len(self.mark) != GIT_DIGITS else self.mark


class About(NamedTuple):
    """What a repository says of itself."""

    licence: str = ""
    gated: bool = False


def row_of(row: Any) -> Row | None:
    """A row that is a file with a believable path and size; None for others. Raises `ValueError` where the digest is none."""
    if not isinstance(row, dict) or row.get("type") != "file":
        return None
    path, lfs = row.get("path"), row.get("lfs")
    size = lfs["size"] if isinstance(lfs, dict) and "size" in lfs else row.get("size")
    if not isinstance(path, str) or type(size) is not int or not 0 <= size <= LARGEST or not _is_path(path):
        return None
    sha256 = _hex(lfs.get("oid") if isinstance(lfs, dict) else lfs, _SHA256)
    if lfs and not sha256:
        raise ValueError(path)
    return Row(path, size, sha256, sha256 or _hex(row.get("oid"), _MARK))


def _hex(value: Any, pattern: re.Pattern[str]) -> str:
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""


def _is_path(path: str) -> bool:
    if not _PATH.fullmatch(path) or not path.isprintable():
        return False
    parts = path.split("/")
    return all(
        part not in ("", ".", "..") and len(part.encode()) <= LONGEST_NAME and not part.lower().endswith(_OURS)
        for part in parts
    )


def about_of(answer: Any) -> About:
    """From the repository's own page; what is no such thing says nothing."""
    if not isinstance(answer, dict):
        return About()
    return About(_licence(answer), answer.get("gated") not in (None, False, "false", ""))


def _licence(answer: Mapping[str, Any]) -> str:
    """The card's, with the name that it gives a licence of its own; else the tag's."""
    card = answer.get("cardData")
    card = card if isinstance(card, dict) else {}
    tags = answer.get("tags")
    tagged = [tag.removeprefix("license:") for tag in _texts(tags) if tag.startswith("license:")]
    said = card.get("license")
    said = said[0] if isinstance(said, list) and said else said
    own = card.get("license_name") if said == "other" else None
    for word in (own, said, *tagged):
        if isinstance(word, str) and _LICENCE.fullmatch(word):
            return word
    return ""


def found_of(row: Any) -> Found | None:
    """One repository of a search."""
    repo = (row.get("id") or row.get("modelId")) if isinstance(row, dict) else None
    if not isinstance(repo, str) or not _REPO.fullmatch(repo) or ".." in repo:
        return None
    updated = _DAY.match(str(row.get("lastModified") or ""))
    siblings = row.get("siblings")
    files = {one.get("rfilename"): one.get("size") for one in _rows(siblings) if isinstance(one.get("rfilename"), str)}
    models = gguf_models(name for name in files if isinstance(name, str) and _is_path(name))
    sizes = [sum(_count(files[name]) for name in one.files) for one in models if not one.missing]
    quants = [quant_of(one.quant) or one.quant for one in models]
    return Found(
        repo,
        _count(row.get("downloads")),
        _count(row.get("likes")),
        _parameters(row),
        min((size for size in sizes if size), default=0),
        tuple(dict.fromkeys(quants))[:MOST_QUANTS],
        updated[0] if updated else "",
        row.get("gated") not in (None, False, "false", ""),
    )


def _parameters(row: Mapping[str, Any]) -> int:
    for name in ("gguf", "safetensors"):
        said = row.get(name)
        if isinstance(said, dict) and (count := _count(said.get("total"))):
            return count
    return 0


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= LARGEST else 0


def _texts(value: Any) -> Sequence[str]:
    return [one for one in value[:1000] if isinstance(one, str)] if isinstance(value, list) else []


def _rows(value: Any) -> Sequence[Mapping[str, Any]]:
    return [one for one in value[:10_000] if isinstance(one, dict)] if isinstance(value, list) else []
