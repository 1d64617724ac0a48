"""Names of Hugging Face configurations: each leads somewhere."""

from blazar.domain.fit.facts import FACTS
from blazar.domain.fit.hfnames import ARCHITECTURES, DEFAULTS, EXPERT_PARTS, KEYS, STATEFUL, WINDOWED


def test_every_model_type_leads_to_an_architecture_that_has_a_row() -> None:
    """A mapped type is one whose facts are known."""
    assert set(ARCHITECTURES.values()) <= set(FACTS)


def test_no_key_is_mapped_twice() -> None:
    """Each of the engine's keys has one list of names."""
    assert len({key for key, _ in KEYS}) == len(KEYS)


def test_defaults_are_for_names_that_are_read() -> None:
    """A default for a name that nobody reads would be dead."""
    read = {name for _, names in KEYS for name in names} | {"head_dim"}
    assert {name for values in DEFAULTS.values() for name in values} <= read


def test_a_block_is_windowed_or_stateful_and_not_both() -> None:
    """The kinds of `layer_types` do not overlap, and an expert's matrices are the engine's."""
    assert not WINDOWED & STATEFUL
    assert set(EXPERT_PARTS.values()) == {"gate", "up", "down", "gate_up"}
