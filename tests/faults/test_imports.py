"""Imports that are killed on the way: nothing half-made is served, and the next try finishes the work."""

import subprocess
import sys
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from tests.support.safetensors_files import model_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local

left, link = int(sys.argv[1]), os.link

def dying(*words):
    global left
    if str(words[1]).endswith(".probe"):  # tries out whether links can be: none of the model's
        return link(*words)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    link(*words)

os.link = dying
Local(Folders(Path(sys.argv[2]) / "config.toml", Path(sys.argv[2]) / "data"), {}, lambda _: []).models().add(sys.argv[3], None)
"""
"""Dies by its own hand in the place of the link of that number; of a number that is not reached it ends well."""


def imported(home: Path, source: Path, links: int) -> int:
    """The exit status of an import that may make so many links."""
    words = [sys.executable, "-c", KILLED, str(links), str(home), str(source)]
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode


@pytest.mark.parametrize("links", range(6))
def test_a_killed_import_is_no_model_and_is_finished_by_the_next(tmp_path: Path, links: int) -> None:
    """Whichever file it had come to; the files of the user are as they were."""
    source = model_folder(tmp_path / "in" / "Tiny", tokenizer_config__json={}, chat_template__jinja="x")
    before = {file.name: file.read_bytes() for file in source.iterdir()}
    assert imported(tmp_path, source, links) == (-9 if links < len(before) else 0)
    local = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: [])
    try:
        assert [row.name for row in local.models().list()] == ([] if links < len(before) else ["tiny"])
        row, already = local.models().add(str(source), None)
        assert already is (links == len(before))
        assert sorted(Path(file).name for file in row.files) == sorted(before)
        assert all(Path(file).samefile(source / Path(file).name) for file in row.files)
        local.models().remove("tiny")
    finally:
        local.close()
    assert list((tmp_path / "data" / "models").iterdir()) == []
    assert {file.name: file.read_bytes() for file in source.iterdir()} == before
