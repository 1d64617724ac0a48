"""Papers of batches on disk: half lines, long lines, disks without links."""

import os
from pathlib import Path

import pytest

from blazar.adapters.files import batch_papers
from blazar.adapters.files.batch_papers import HANDFUL, DiskBatchPapers
from blazar.adapters.files.kept import DiskKeptFiles
from blazar.domain.errors import NotFound
from tests.fakes.disk import FakeDisk
from tests.fakes.entropy import CountingEntropy


@pytest.fixture
def papers(tmp_path: Path) -> DiskBatchPapers:
    return DiskBatchPapers(tmp_path, DiskKeptFiles(tmp_path, FakeDisk(), CountingEntropy()))


def test_half_a_line_was_never_written(papers: DiskBatchPapers, tmp_path: Path) -> None:
    """A killed daemon's last write; the next line does not grow onto it."""
    papers.write("b1", [b"x"])
    papers.append("b1", [b"s1"], durable=True)
    with (tmp_path / ".batches" / "b1" / "results").open("ab") as file:
        file.write(b's{"custom_id":"tor')
    assert papers.results("b1").lines == (b"s1",)
    papers.append("b1", [b"s2"], durable=True)
    assert papers.results("b1").lines == (b"s1", b"s2")


def test_handfuls_are_bounded(papers: DiskBatchPapers) -> None:
    """About a megabyte, and at least one line."""
    big = b"a" * (HANDFUL - 10)
    papers.write("b1", [big, b"b" * 100, b"c"])
    first = papers.requests("b1")
    assert [len(line) for line in first.lines] == [HANDFUL - 10, 100]
    assert papers.requests("b1", first.following).lines == (b"c",)


def test_a_line_beyond_every_bound_is_cut(papers: DiskBatchPapers, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused as no JSON; memory stays flat, and the lines behind it are read."""
    monkeypatch.setattr(batch_papers, "LONGEST_LINE", 2000)
    papers.write("b1", [b"{" * 2000, b"{" * 5_000_000, b"next"])
    lengths, at = [], 0
    while (handful := papers.requests("b1", at)).lines:
        lengths += [len(line) for line in handful.lines]
        at = handful.following
    assert lengths == [2000, 1024, 4]


def test_a_file_system_without_links(papers: DiskBatchPapers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is copied."""

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    (tmp_path / "file-1").write_bytes(b"a\n")
    monkeypatch.setattr(os, "link", refuse)
    assert papers.take("b1", "file-1")
    assert papers.requests("b1").lines == (b"a",)
    assert not papers.take("b2", "file-2")
    assert not papers.take("b3", "../etc")


def test_papers_that_are_gone_are_told(papers: DiskBatchPapers) -> None:
    """Somebody has tidied the folder."""
    with pytest.raises(NotFound):
        papers.requests("b1")


def test_a_batch_that_is_no_id_is_a_mistake_of_ours(papers: DiskBatchPapers) -> None:
    """Ids are made here; nothing else may ever get so far (J6)."""
    with pytest.raises(AssertionError):
        papers.write("../b", [b"x"])
