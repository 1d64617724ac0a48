"""Files that a request only names."""

import pytest

from blazar.application.kept import read_files
from blazar.application.kept.read_files import ReadFiles
from blazar.domain.errors import Malformed, NotFound
from blazar.domain.wire.responses_items import Attached
from tests.support.batching import Batches


def test_a_file_is_read_whole() -> None:
    """With the name that its sender gave it."""
    batches = Batches()
    note = batches.upload(b"hello", "me")
    assert ReadFiles(batches.shelf)([note.id], "me") == {note.id: Attached(note.name, b"hello")}
    assert ReadFiles(batches.shelf)([], "me") == {}


def test_what_is_not_there_is_a_404() -> None:
    """Nor is what somebody else sent (A29)."""
    batches = Batches()
    note = batches.upload(b"hello", "me")
    for id_, owner in ((note.id, "you"), ("file-1", "me")):
        with pytest.raises(NotFound):
            ReadFiles(batches.shelf)([id_], owner)


def test_files_of_one_request_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is no way around the size of a body."""
    monkeypatch.setattr(read_files, "MOST_BYTES", 9)
    batches = Batches()
    first, second = (batches.upload(b"12345").id for _ in range(2))
    assert len(ReadFiles(batches.shelf)([first], "")) == 1
    with pytest.raises(Malformed):
        ReadFiles(batches.shelf)([first, second], "")
