"""Devices and shares as they may be written."""

import pytest

from blazar.application.config.layers import load_config
from blazar.domain import teaching
from blazar.domain.errors import BadConfig


def said(text: str) -> str:
    """The one problem of this file."""
    with pytest.raises(BadConfig) as caught:
        load_config(text, "config.toml")
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize("where", ["", "[model_overrides.m]\n"])
@pytest.mark.parametrize("names", [["CUDA0", "CUDA0"], ["CUDA1", "CUDA0", "CUDA1"]])
def test_a_device_is_named_once(where, names):
    """Its memory is there once: a plan would count it twice."""
    assert teaching.config_wants("unique", names[0]) in said(f"{where}devices = {names}")
    assert load_config(f"{where}devices = {sorted(set(names))}", "config.toml")


@pytest.mark.parametrize("shares", ["٣,1", "nan,1", "-1,2", "1e3", "1,", ",1", "1 ,1", "1_0"])
def test_shares_are_plain_numbers(shares):
    """What the engine would read as something else, or not at all, is refused here."""
    assert teaching.config_wants("ratios") in said(f"tensor_split = '{shares}'")
    assert load_config("tensor_split = '3,1.5,0'", "config.toml")


@pytest.mark.parametrize("key", ["devices", "override_tensor", "spec_draft_override_tensor"])
def test_no_item_of_a_list_is_empty(key):
    """It would be a word of the command line that the engine ends itself over."""
    assert said(f"{key} = ['']") == f"config.toml line 1: '{key}' must not be empty (found \"\")"


@pytest.mark.parametrize("key", ["override_tensor", "spec_draft_override_tensor"])
@pytest.mark.parametrize("pattern", ["(", "blk[", "*", "a)"])
def test_a_pattern_that_is_none_is_refused_when_it_is_read(key, pattern):
    """Not by an engine that dies over it at the first request (E10); for one model, too."""
    assert "must begin with a pattern" in said(f"{key} = ['{pattern}=CPU']")
    assert load_config(rf"{key} = ['blk\.(1|2)\..*_exps=CPU']", "config.toml")


def test_a_pattern_of_one_model_that_is_none_is_refused():
    """An overlay is configuration like any other (E10)."""
    assert "must begin with a pattern" in said("[model_overrides.m]\noverride_tensor = ['(=CPU']")
