"""What composition itself decides: which numbers the supervisor gets."""

from blazar.application.config.layers import load_config
from blazar.composition.daemon import supervision_limits


def test_the_supervisors_numbers_come_from_the_configuration() -> None:
    """The model cap, the idle time, the guard, and the models that policy never evicts."""
    text = "max_loaded_models = 3\nidle_timeout_secs = 7\nspawn_mem_guard = false\n[model_overrides.kept]\npin = true\n"
    limits = supervision_limits(load_config(text, "config.toml", {}, {}).config)
    assert (limits.max_loaded_models, limits.idle_timeout_secs, limits.spawn_mem_guard) == (3, 7, False)
    assert limits.pinned == {"kept"}
