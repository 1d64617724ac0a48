"""Names of engine builds: which may be a folder's, and which build a file's name speaks of. Opens nothing."""

import re

from blazar.domain.kinds import EngineKind

_TAG = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
_TAKEN = re.compile(rf"local|embedded(-.*)?|{'|'.join(EngineKind)}", re.IGNORECASE)

# As the projects number their releases: llama.cpp, stable-diffusion.cpp, mistral.rs.
_BUILDS = (
    re.compile(r"(?:^|[^A-Za-z0-9])(b\d{3,})(?=$|[^A-Za-z0-9])"),
    re.compile(r"(?:^|[^A-Za-z0-9])(master-\d+-[0-9a-f]{7,12})(?=$|[^A-Za-z0-9])"),
    re.compile(r"(?:^|[^A-Za-z0-9.])(v\d+\.\d+\.\d+)(?=$|[^0-9A-Za-z.]|\.[A-Za-z])"),
)


def is_tag(tag: str) -> bool:
    """Whether a folder may be called so, on every system."""
    return _TAG.fullmatch(tag) is not None


def is_taken(tag: str) -> bool:
    """Whether it means something else: an engine that is not installed by us, or where a model is pinned a whole kind."""
    return _TAKEN.fullmatch(tag) is not None


def tag_in(name: str) -> str | None:
    """The build that a file or folder name speaks of: `llama-b11434-bin-linux-x64.tar.gz` is b11434."""
    for pattern in _BUILDS:
        if match := pattern.search(name):
            return match[1]
    return None
