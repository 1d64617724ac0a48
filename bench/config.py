"""What reading the configuration costs: a long file beyond imports and class building, what holds for one model, the shortest verb."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.moments import verb_cpu
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.application.config.render import toml_value

LINES, OVERRIDES = 300, 50


def long_text() -> str:
    """Keys at their defaults, then overrides of four lines each."""
    plain = [
        f"{name} = {toml_value(field.default)}"
        for name, field in Config.model_fields.items()
        if isinstance(field.default, bool | int | float | str)
    ]
    overrides = [
        line
        for number in range(OVERRIDES)
        for line in (f'[model_overrides."model-{number}"]', "ctx = 4096", "slots = 2", 'spec = "off"')
    ]
    return "\n".join([*plain[: LINES - len(overrides)], *overrides]) + "\n"


def _cpu_ms(work: Callable[[], object], times: int) -> float:
    """Processor milliseconds of one run, the median of many."""
    taken = []
    for _ in range(times):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return median(taken) * 1000


def config_ms() -> dict[str, float]:
    """Every figure about the configuration, by the fact's name."""
    text = long_text()
    config = load_config(text, "config.toml").config  # builds what is built once
    return {
        "config_load": _cpu_ms(lambda: load_config(text, "config.toml"), 20),
        "config_settings": _cpu_ms(lambda: config.settings_for("model-7"), 200),
    }


def get_verb_cpu(folder: Path, env: dict[str, str]) -> float:
    """Processor milliseconds of `blazar config get port` on that file, classes and all."""
    (folder / "blazar").mkdir()
    (folder / "blazar" / "config.toml").write_text(long_text(), encoding="utf-8")
    words = [sys.executable, "-m", "blazar", "config", "get", "port"]
    return verb_cpu(words, env | {"XDG_CONFIG_HOME": str(folder)})
