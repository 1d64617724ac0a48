"""Entries of [[remotes]]. The ladder of their URLs is tests/unit/domain/test_remote_url.py, its sentences test_table_rules."""

import pytest
from pydantic import ValidationError

from blazar.application.config.remotes import Remote


def test_an_entry_needs_a_name_and_a_url():
    """A key is optional: not every server asks for one."""
    remote = Remote.model_validate({"name": "big-box.2", "url": "https://h"})
    assert (remote.key, remote.allow_insecure_http) == ("", False)
    for missing in ({"name": "a"}, {"url": "https://h"}):
        with pytest.raises(ValidationError):
            Remote.model_validate(missing)


@pytest.mark.parametrize("name", ["", "a:b", "a/b", "a b", "-a", "a#1"])
def test_a_name_can_stand_before_a_colon(name):
    """`<remote>:<model>` must be readable from the left."""
    with pytest.raises(ValidationError):
        Remote.model_validate({"name": name, "url": "https://h"})


def test_the_secret_is_not_in_the_repr():
    """A configuration may end in a log by accident."""
    assert "hush" not in repr(Remote(name="a", url="https://h", key="hush"))
