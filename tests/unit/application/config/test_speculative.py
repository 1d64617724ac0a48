"""Families of speculation, and the draft model's own settings."""

import pytest

from blazar.application.config.speculative import LookupKeys, SpeculativeKeys
from tests.support.configuration import held, refusal

FAMILIES = (
    "off auto mtp mtp-adaptive eagle3 dflash dspark ngram ngram-simple ngram-map-k ngram-map-k4v ngram-mod ngram-cache"
)
DRAFT = """cpu_range cpu_strict device ngl threads prio prio_batch cpu_strict_batch threads_batch type_k type_v override_tensor n_cpu_moe
    cpu_moe backend_sampling p_min p_split poll poll_batch"""


@pytest.mark.parametrize("family", FAMILIES.split())
def test_a_family_may_be_chosen_for_all_or_for_one(family):
    """By its name; an override replaces the root's."""
    config = held(f"spec = 'off'\n[model_overrides.m]\nspec = '{family}'")
    assert [config.settings_for(name)["spec"] for name in ("m", "other")] == [family, "off"]


def test_another_family_is_refused():
    """All words are told."""
    why = refusal("spec = 'draft-eagle3'")
    assert all(f"'{family}'" in why for family in FAMILIES.split())


def test_the_draft_s_keys_are_those_of_the_document():
    """No fewer, no more, and all of them under [speculative]; what was seen before has keys at the root only (D26)."""
    assert {f"spec_draft_{name}" for name in DRAFT.split()} == {
        name for name in SpeculativeKeys.model_fields if name.startswith("spec_draft_")
    }
    assert all(name.startswith("spec") for name in SpeculativeKeys.model_fields)
    assert not LookupKeys.group
    assert "write it at the root" in refusal("[speculative]\nngram_size_n = 4")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spec_draft_cpu_range = '3'", "must be two numbers with a dash between them"),
        ("spec_draft_prio = 4", "must be 3 or less"),
        ("spec_draft_prio_batch = -1", "must be 0 or more"),
        ("spec_draft_poll = 2", "must be 1 or less"),
        ("spec_draft_p_min = 1.1", "must be 1 or less"),
        ("spec_draft_p_split = -0.1", "must be 0 or more"),
        ("spec_draft_type_k = 'q9'", "must be one of"),
        ("spec_draft_device = 'a b'", "must be names of devices with commas between them"),
        ("spec_draft_override_tensor = ['a']", "must be PATTERN=BUFFER, without commas"),
        ("spec_draft_ngl = 'all'", "must be a whole number"),
        ("ngram_size_m = 1025", "must be 1024 or less"),
        ("ngram_mod_n_match = -1", "must be 0 or more"),
        ("ngram_min_hits = -1", "must be 0 or more"),
        ("adaptive_decay = 1.0", "must be 0.99 or less"),
        ("adaptive_target = -1", "must be 0 or more"),
    ],
)
def test_the_engine_s_bounds_hold(text, why):
    """A child would end as it starts."""
    assert why in refusal(text)


def test_unset_is_not_zero():
    """0 is a choice for what is optional."""
    config = held("spec_draft_ngl = 0\nspec_draft_poll = 0\nspec_draft_p_min = 0\nspec_draft_cpu_strict = false")
    said = (config.spec_draft_ngl, config.spec_draft_poll, config.spec_draft_p_min, config.spec_draft_cpu_strict)
    assert said == (0, 0, 0.0, False)
    assert held("").spec_draft_p_split is None
