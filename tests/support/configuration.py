"""One configuration text at a time: what it holds, or the one sentence that refuses it."""

from collections.abc import Mapping
from typing import Any

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.domain.errors import BadConfig


def held(text: str, env: Mapping[str, str] | None = None) -> Config:
    """What the text means."""
    return load_config(text, "config.toml", env).config


def refusal(text: str, env: Mapping[str, str] | None = None, **overrides: Any) -> str:
    """Why it is refused; there may be one reason only."""
    with pytest.raises(BadConfig) as caught:
        load_config(text, "config.toml", env, overrides)
    (problem,) = caught.value.problems
    return problem
