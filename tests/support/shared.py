"""Where the shared fixtures lie: beside the checkout, or nowhere (D40)."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


def shared(path: str) -> Path:
    """`../shared/<path>`; skips where it is absent, fails instead where BLAZAR_REQUIRE_SHARED=1 promises it."""
    found = SHARED / path
    if not found.exists():
        reason = f"needs ../shared/{path} beside the checkout"
        if os.environ.get("BLAZAR_REQUIRE_SHARED") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found
