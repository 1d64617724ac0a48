"""The two headers by which Anthropic's clients say what they speak: a version, and features that were once tried out.

What works here without being asked for needs no warning; of everything else the caller hears that it has no effect (D11).
"""

import re
from typing import Final

from blazar.domain.wire.request import ignored, shown

_VERSION: Final = re.compile(r"20\d\d-\d\d-\d\d")
"""Any date: there have been several, and what is answered is the same to all."""
MOST_TOLD: Final = 16
_WORKING: Final = (
    "interleaved-thinking",
    "fine-grained-tool-streaming",
    "structured-outputs",
    "prompt-caching",
    "extended-cache-ttl",
    "token-counting",
    "message-batches",
    "messages-",
    "tools-",
    "output-128k",
    "dev-full-thinking",
    "effort",
    "model-context-window-exceeded",
)
"""By what their names begin with; a date follows. Caching is the engine's own and needs no asking."""


def header_warnings(version: str, betas: str) -> tuple[str, ...]:
    """For `anthropic-version` and `anthropic-beta` as they came, empty where they did not."""
    told = [] if not version or _VERSION.fullmatch(version) else [ignored(f"anthropic-version.{version}")]
    for beta in dict.fromkeys(part.strip() for part in betas.split(",")):
        if beta and not beta.startswith(_WORKING) and len(told) < MOST_TOLD:
            told.append(ignored(f"anthropic-beta.{shown(beta)}"))
    return tuple(told)
