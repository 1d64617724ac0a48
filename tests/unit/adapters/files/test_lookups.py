"""What the last look for newer builds found, on disk."""

import json
from pathlib import Path

from blazar.adapters.files.lookups import NAME, KeptLookups, kept_in
from blazar.application.engines.check_currency import Currency
from blazar.domain.kinds import EngineKind

ROWS = (
    Currency(EngineKind.LLAMACPP, "b1", "b2", available=True, stable="v1", checked_at=1.8e9),
    Currency(EngineKind.SDCPP, "master-1", trouble="offline", checked_at=1.7e9),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Row by row; nothing beside it is left, and the folder need not be there."""
    memory = kept_in(tmp_path / "data")
    memory.write(ROWS)
    assert tuple(memory.read()) == ROWS
    assert [path.name for path in (tmp_path / "data").iterdir()] == [NAME]


def test_nothing_was_looked_up_yet(tmp_path: Path) -> None:
    """Where there is no file."""
    assert KeptLookups(tmp_path / NAME).read() == ()


def test_what_is_no_row_of_ours_says_nothing(tmp_path: Path) -> None:
    """Of whatever form; whole rows beside it count."""
    whole = ROWS[0]._asdict()
    for text in ("", "[]", "{", '{"updates": 1}', "[" * 100_000):
        (tmp_path / NAME).write_text(text)
        assert KeptLookups(tmp_path / NAME).read() == ()
    strange = [1, {}, {**whole, "kind": "none"}, {**whole, "kind": []}, {**whole, "active": 1}, {**whole, "pinned": 0}]
    strange += [{**whole, "checked_at": at} for at in (float("nan"), float("inf"), -1, 10**400, True, "1")] + [
        {**whole, "more": 1}
    ]
    (tmp_path / NAME).write_text(json.dumps({"updates": [*strange, whole]}))
    assert KeptLookups(tmp_path / NAME).read() == ROWS[:1]


def test_a_folder_that_cannot_be_written_fails_no_look(tmp_path: Path) -> None:
    """It is looked up again."""
    (tmp_path / "data").write_text("a file")
    memory = kept_in(tmp_path / "data")
    memory.write(ROWS)
    assert memory.read() == ()
