"""What engines inherit."""

import pytest

from blazar.adapters.engines.environment import engine_env


def test_scrubbed_names_and_our_secrets_stay_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefixes and bootstrap keys go, the rest stays, additions win."""
    for name in ("LLAMA_ARG_X", "BLAZAR_KEYS", "PLAIN", "TOLD"):
        monkeypatch.setenv(name, "inherited")
    env = engine_env(("LLAMA_ARG_",), [("TOLD", "added")])
    assert "LLAMA_ARG_X" not in env
    assert "BLAZAR_KEYS" not in env
    assert (env["PLAIN"], env["TOLD"]) == ("inherited", "added")
