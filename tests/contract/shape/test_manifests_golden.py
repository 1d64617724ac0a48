"""What is read out of recorded help texts, held byte for byte. `BLAZAR_GOLDEN=write` writes the golden manifests anew.

`tests/fixtures/help/README.md` says where each text comes from.
"""

import os

import pytest

from blazar.adapters.engines.llamacpp.embedded import help_text as embedded_help
from blazar.domain.manifest import parse_help
from tests.support.manifests import HELP, TEXTS, golden, golden_file, help_text, page

WRITE = os.environ.get("BLAZAR_GOLDEN") == "write"


@pytest.mark.parametrize("stem", TEXTS)
def test_no_manifest_has_changed_unseen(stem: str) -> None:
    """A parser that reads more, or less, shows it here flag by flag."""
    found = parse_help(help_text(stem))
    if WRITE:
        golden_file(stem).write_text(page(found), encoding="utf-8")
    assert page(found) == golden_file(stem).read_text(encoding="utf-8")
    assert golden(stem) == found


def test_every_text_is_accounted_for() -> None:
    """A recording without a source is a rumour."""
    told = (HELP / "README.md").read_text(encoding="utf-8")
    assert [stem for stem in TEXTS if f"| {stem}.txt |" not in told] == []
    assert sorted(path.stem for path in golden_file("x").parent.glob("*.json")) == TEXTS


def test_the_embedded_lanes_recording_is_what_it_prints() -> None:
    """Its options are ours: one that is added must be known to the manifests, too."""
    if WRITE:
        (HELP / "embedded.txt").write_text(embedded_help().rstrip("\n") + "\n", encoding="utf-8")
    assert embedded_help().rstrip("\n") == help_text("embedded").rstrip("\n")
