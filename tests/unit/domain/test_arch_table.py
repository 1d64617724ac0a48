"""The names of architectures in llama.cpp's source."""

import pytest

from blazar.domain.arch_table import FEWEST, architectures_in

ROWS = "\n".join(f'    {{ LLM_ARCH_A{n},   "arch-{n}"   }},' for n in range(FEWEST))
TABLE = f"""
static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {{
    {{ LLM_ARCH_CLIP,   "clip"  }}, // dummy
{ROWS}
    // {{ LLM_ARCH_GONE, "gone" }},
    /* {{ LLM_ARCH_OLD, "old" }}, */
    {{LLM_ARCH_TIGHT,"tight"}},
    {{ LLM_ARCH_UNKNOWN,  "(unknown)" }},
}};
static const std::map<llm_kv, const char *> LLM_KV_NAMES = {{
    {{ LLM_KV_GENERAL_TYPE, "general.type" }},
}};
"""


def test_names_are_read_in_order() -> None:
    """Whatever the spacing; what is commented out, and what stands for no model, is none."""
    assert architectures_in(TABLE) == (*(f"arch-{n}" for n in range(FEWEST)), "tight")


@pytest.mark.parametrize("text", ["", "<html>404</html>", '{ LLM_ARCH_LLAMA, "llama" }', "\ufffd" * 100])
def test_another_file_has_none(text: str) -> None:
    """A list that lacks most of them would send models to forks."""
    assert architectures_in(text) == ()


def test_a_name_twice_is_one() -> None:
    """Two rows may spell the same."""
    assert architectures_in(TABLE + TABLE) == architectures_in(TABLE)


def test_odd_the_names_are_not_looked_for_in_the_built_library() -> None:
    """A linker keeps `qwen2` once, at the end of `rwkv6qwen2`: words between two zeros do not have it, and the source does."""
    library = b"\0".join(f"arch-{n}".encode() for n in range(FEWEST)) + b"\0rwkv6qwen2\0"
    assert b"qwen2" not in library.split(b"\0")
    assert architectures_in(library.decode()) == ()
    rows = '{ LLM_ARCH_QWEN2, "qwen2" }, { LLM_ARCH_RWKV6QWEN2, "rwkv6qwen2" },'
    assert architectures_in(f"{ROWS}\n{rows}")[-2:] == ("qwen2", "rwkv6qwen2")
