"""Paths inside the data folder, and everybody else's."""

from pathlib import Path

import pytest

from blazar.adapters.store.anchor import Anchor


def test_a_path_of_ours_follows_the_folder(tmp_path: Path) -> None:
    """Stored relative, read under whatever name the folder has then."""
    stored = Anchor(tmp_path / "a").stored(str(tmp_path / "a" / "x" / ".." / "engines" / "b1"))
    assert stored == "engines/b1"
    assert Anchor(tmp_path / "b").live(stored) == str(tmp_path / "b" / "engines" / "b1")


@pytest.mark.parametrize("path", ["/opt/llama-server", "/data-of-another/engines/b1/x"])
def test_other_paths_stay(tmp_path: Path, path: str) -> None:
    """Absolute as they came, before and after."""
    anchor = Anchor(tmp_path)
    assert anchor.live(anchor.stored(path)) == path
    beside = f"{tmp_path}-2/engines"
    assert anchor.stored(beside) == beside


def test_words_of_a_command_follow_it_too(tmp_path: Path) -> None:
    """Also those that are not the server's own path; a word that only looks like one of ours is a word."""
    old, new = Anchor(tmp_path / "a"), Anchor(tmp_path / "b")
    server = str(tmp_path / "a/engines/v/bin/python")
    words = (server, "-m", "engines/v", str(tmp_path / "a/engines/v/start.py"), "/usr/lib/x.py", "")
    stored = old.stored_words(words, server)
    assert stored == [None, "-m", "engines/v", ["engines/v/start.py"], "/usr/lib/x.py", ""]
    assert old.live_words(stored, server) == words
    moved = str(tmp_path / "b/engines/v/bin/python")
    assert new.live_words(stored, moved) == (
        moved,
        "-m",
        "engines/v",
        str(tmp_path / "b/engines/v/start.py"),
        "/usr/lib/x.py",
        "",
    )


def test_stragglers_are_rescued(tmp_path: Path) -> None:
    """Absolute paths of this folder, and of the one it was before it was moved here."""
    data = tmp_path / "data"
    program = data / "engines" / "b1" / "bin" / "llama-server"
    program.parent.mkdir(parents=True)
    program.touch()
    anchor = Anchor(data)
    assert anchor.rescued(str(program), "b1") == "engines/b1/bin/llama-server"
    assert anchor.rescued("/was/here/engines/b1/bin/llama-server", "b1") == "engines/b1/bin/llama-server"
    assert anchor.rescued("engines/b1/bin/llama-server", "b1") == "engines/b1/bin/llama-server"


def test_what_may_be_somebody_elses_is_left(tmp_path: Path) -> None:
    """A path that still exists, that names another build, or that has no counterpart here."""
    data, other = tmp_path / "data", tmp_path / "other" / "engines" / "b1" / "llama-server"
    for program in (data / "engines" / "b1" / "llama-server", other):
        program.parent.mkdir(parents=True)
        program.touch()
    anchor = Anchor(data)
    assert anchor.rescued(str(other), "b1") == str(other)
    for path in ("/was/engines/b2/llama-server", "/was/engines/b1/missing", "/opt/llama-server"):
        assert anchor.rescued(path, "b1") == path
