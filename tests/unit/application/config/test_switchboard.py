"""Small tables: defaults of the setup document, and bounds."""

import pytest
from pydantic import ValidationError

from blazar.application.config.switchboard import NEVER_PEGGED, EngineRouting, SemanticCache, WarmPeg


def test_what_holds_without_a_word():
    """As the setup document says."""
    assert SemanticCache().model_dump() == {"enabled": False, "ttl_secs": 600, "threshold": 0.9, "max_entries": 256}
    assert EngineRouting().mode == "auto"
    assert WarmPeg().model_dump() == {"default": True, "sglang": None, "mlx": None, "llamacpp": None}
    assert not NEVER_PEGGED & set(WarmPeg.model_fields)


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        (SemanticCache, {"threshold": 0}),
        (SemanticCache, {"threshold": 1.01}),
        (SemanticCache, {"ttl_secs": 0}),
        (SemanticCache, {"max_entries": 0}),
        (EngineRouting, {"mode": "off"}),
        (EngineRouting, {"policy": "speed"}),
        (WarmPeg, {"default": "yes"}),
        (WarmPeg, {"mistralrs": True}),
    ],
)
def test_what_cannot_be_is_refused(table, wrong):
    """With pydantic's error, which problems.py turns into a sentence."""
    with pytest.raises(ValidationError):
        table.model_validate(wrong)
