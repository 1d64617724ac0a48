"""Variables that are no keys."""

import re

from blazar.application.config.environment import variables
from blazar.application.config.variables import VARIABLES
from tests.support.shared import shared


def test_each_is_told_once_and_sets_no_key():
    """A name in both tables would have two meanings."""
    names = [variable.name for variable in VARIABLES]
    assert len(names) == len(set(names))
    assert not set(names) & {name for name, _ in variables()}
    assert all(variable.purpose.endswith(".") and "|" not in variable.purpose for variable in VARIABLES)


def test_every_variable_of_the_document_is_in_one_of_the_tables():
    """The installer's own and those of the document's tests aside."""
    text = shared("spec/7-setup.md").read_text(encoding="utf-8")
    runtime = text[text.index("Product runtime") : text.index("Installer (read by")]
    keys = text[text.index("Feature flags and configuration") : text.index("Python SDK")]
    named = set(re.findall(r"BLAZAR_[A-Z_]*[A-Z]|RUST_LOG", runtime + keys))
    assert len(named) > 20
    assert named <= {variable.name for variable in VARIABLES} | {name for name, _ in variables()}
