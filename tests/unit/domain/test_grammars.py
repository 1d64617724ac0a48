"""What grammar libraries make of a schema."""

import pytest

from blazar.domain.grammars import AS_IT_IS, GRAMMARS, LLGUIDANCE, XGRAMMAR, Grammar
from blazar.domain.kinds import EngineKind

CORE = {"type", "properties", "required", "items", "enum", "const", "anyOf", "$ref", "additionalProperties"}


@pytest.mark.parametrize("grammar", [LLGUIDANCE, XGRAMMAR])
def test_what_every_program_writes_is_held(grammar: Grammar) -> None:
    """Neither refused nor overlooked: a schema of these passes as it is."""
    assert not CORE & (grammar.refuses | grammar.overlooks)


def test_every_kind_that_holds_a_form_has_a_row() -> None:
    """llama.cpp says itself what it cannot hold."""
    assert GRAMMARS[EngineKind.LLAMACPP] is AS_IT_IS
    assert {EngineKind.MISTRALRS, EngineKind.SGLANG} <= GRAMMARS.keys()
