"""Entries of [[failover]]. What they must have to do with other tables is test_table_rules."""

import pytest
from pydantic import ValidationError

from blazar.application.config.failover import FailoverChain

GOOD = {"name": "voice", "alias": "primary", "targets": [{"model": "qwen3-8b:q4_k_m"}]}


def test_the_example_of_the_setup_document_is_a_chain():
    """A local target and a remote one; the window against flapping is 30 s unless said."""
    chain = FailoverChain.model_validate(GOOD | {"targets": [*GOOD["targets"], {"remote": "bigbox", "model": "m"}]})
    assert chain.min_residence_secs == 30
    assert [(target.remote, target.model) for target in chain.targets] == [(None, "qwen3-8b:q4_k_m"), ("bigbox", "m")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"alias": "a#1"},
        {"alias": ""},
        {"name": ""},
        {"targets": []},
        {"targets": [{}]},
        {"targets": [{"model": "m", "remote": ""}]},
        {"targets": [{"model": "m", "weight": 1}]},
        {"min_residence_secs": -1},
        {"min_residence_secs": float("inf")},
        {"enabled": True},
    ],
)
def test_what_is_no_chain_is_refused(wrong):
    """An alias is a model's name, so `#` is not in it (contract); a chain has somewhere to lead."""
    with pytest.raises(ValidationError):
        FailoverChain.model_validate(GOOD | wrong)
