"""Routing's refusals, held byte for byte and the same in every shell: clients and scripts match on them (contract).

`BLAZAR_GOLDEN=write pytest tests/contract/shape/test_lane_errors.py` writes the golden file anew: a reworded sentence is a breaking
change, so that its `version` has to be raised by hand before (a new case needs none) and the CHANGELOG gets a line.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.cli.shell import run_words
from blazar.adapters.http.errors import problem
from blazar.domain.errors import ArchitectureUnserved
from blazar.domain.kinds import Dialect
from tests.support.command_line import FakeRoot, StubDaemon
from tests.support.lane_errors import CASES, refusal

GOLDEN = Path(__file__).with_name("lane_errors.json")
VERSION = 3


@pytest.fixture
def daemon() -> Iterator[StubDaemon]:
    """Answers what a test puts into it."""
    stub = StubDaemon()
    yield stub
    stub.close()


def test_no_refusal_has_changed_unseen():
    """Another sentence for an old question is another version."""
    now = {name: str(refusal(asked)) for name, asked in CASES.items()}
    held = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {"version": 0, "sentences": {}}
    reworded = {name for name, said in held["sentences"].items() if now.get(name) != said}
    if os.environ.get("BLAZAR_GOLDEN") == "write":
        assert not reworded or held["version"] < VERSION, "reworded: raise VERSION first"
        text = json.dumps({"version": VERSION, "sentences": now}, indent=1, ensure_ascii=False)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
        return
    assert held == {"version": VERSION, "sentences": now}


def test_every_refusal_names_the_way_out_and_the_roster():
    """The install command, and what is installed; but for a kind that this version cannot drive."""
    for name, asked in CASES.items():
        said = str(refusal(asked))
        if name == "a kind that is not driven":
            continue
        assert "blazar engine install --" in said, name
        assert "(installed: " in said, name
        assert all(engine.tag in said for engine in asked.engines), name


@pytest.mark.parametrize("name", CASES)
def test_the_command_line_says_what_the_api_says(name, tmp_path, daemon, capfd):
    """The same bytes in every dialect's envelope and on stderr."""
    error = refusal(CASES[name])
    sentence = str(error)
    for dialect in Dialect:
        shown = problem(error, dialect)
        body = json.loads(shown.body)["error"]
        assert (body if isinstance(body, str) else body["message"]) == sentence
        assert sentence.encode() in shown.body.replace(b'\\"', b'"')
        assert shown.status == (502 if isinstance(error, ArchitectureUnserved) else 400)
    told = problem(error, Dialect.NATIVE)
    daemon.answers["GET", "/api/ps"] = (200, {"models": []})
    daemon.answers["POST", "/api/load"] = (told.status, told.body)
    root = FakeRoot(tmp_path)
    root.use(daemon)
    assert run_words(("load", "m"), lambda _: root) == 1
    assert capfd.readouterr().err == f"error: {sentence}\n"
