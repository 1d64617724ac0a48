"""Which architectures a llama.cpp release knows, read from the table of names in its source. Compiles and runs nothing.

ODD: the names are not looked for in the built library, although they lie there one after the other: linkers keep a word that ends
another one only once (`qwen2` lies in `rwkv6qwen2`), so that some would be missing, and a fork would get what mainstream serves.
"""

import re

PATH = "src/llama-arch.cpp"
"""Where the table is in llama.cpp's repository, since 2024."""
LARGEST = 1 << 20
"""Bytes of the file that are read; it had 60 thousand in 2026."""
FEWEST = 20
"""A table of fewer names is another table: the first release that had one knew 37."""

_ROW = re.compile(r'\{\s*LLM_ARCH_[A-Z0-9_]+\s*,\s*"([^"\n]{1,64})"\s*\}')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NO_MODELS = {"clip", "(unknown)"}
"""Rows that stand for no model which could be loaded."""


def architectures_in(source: str) -> tuple[str, ...]:
    """The names, in the order of the table; empty for a file that has none that could be the one."""
    names = dict.fromkeys(name for name in _ROW.findall(_COMMENT.sub("", source)) if name not in _NO_MODELS)
    return tuple(names) if len(names) >= FEWEST else ()
