"""What `config get` answers."""

import tomllib

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.lookup import holds, look_up
from blazar.application.config.model import GROUPS, Config, Override
from blazar.application.config.render import REDACTED
from blazar.domain.errors import Malformed

CONFIG = load_config(
    """
slots = 3
[engine_env]
HF_TOKEN = "hush"
[mistralrs]
isq = "q4k"
mistralrs_paged_attn = false
[sglang]
tp_size = 2
[model_overrides."a.b:c"]
ctx = 512
""",
    "c.toml",
).config


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("slots", 3),
        ("model_overrides.a.b:c.ctx", 512),
        ("model_overrides.a.b:c.slots", 3),
        ("model_overrides.a.b:c.replicas", 1),
        ("model_overrides.a.b:c.pin", False),
        ("model_overrides.a.b:c.sglang.tp_size", 2),
        ("model_overrides.a.b:c.mistralrs.isq", "q4k"),
        ("model_overrides.a.b:c.mistralrs.mistralrs_paged_attn", False),
        ("model_overrides.nobody.ctx", None),
        ("model_overrides.nobody.chat_template", None),
        ("model_overrides.llama3.2.slots", 3),
        ("model_overrides.nobody", None),
        ("engine_env.HF_TOKEN", REDACTED),
        ("engine_env.NOT_SET", None),
        ("chat_template_kwargs.thinking", None),
        ("reasoning", ""),
    ],
)
def test_a_legal_key_has_an_answer(key, value):
    """What is said, else what holds for every model, else the default; nothing of what has none."""
    assert look_up(CONFIG, key).value == holds(CONFIG, key) == value


@pytest.mark.parametrize("name", Override.model_fields)
def test_every_key_of_an_override_can_be_asked_for(name):
    """Whether an override stands there or not."""
    for model in ("a.b:c", "nobody"):
        look_up(CONFIG, f"model_overrides.{model}.{name}")


@pytest.mark.parametrize("group", [name for name in GROUPS if name not in Config.model_fields])
def test_a_group_answers_with_its_keys(group):
    """As they would stand below its header; keys that are unset only where a machine reads."""
    value, text = look_up(CONFIG, group)
    assert list(value) == list(GROUPS[group].model_fields)
    assert tomllib.loads(text).keys() == {name for name, item in value.items() if item is not None}


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("model_overrides.a.b:c.slts", "did you mean slots"),
        ("prt", "did you mean port"),
        ("gateway.slots", "there is no configuration key"),
        ("keys.name", r"one \[\[keys\]\] for each entry"),
    ],
)
def test_what_is_no_key_is_refused(key, why):
    """With what was meant."""
    assert holds(CONFIG, key) is None
    with pytest.raises(Malformed, match=why):
        look_up(CONFIG, key)
