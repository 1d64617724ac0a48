"""Where everything lies (D1)."""

from pathlib import Path

import pytest

from blazar.adapters.engines.builds import is_tag
from blazar.adapters.files.folders import folders_from


def test_xdg_wins_over_home(capsys: pytest.CaptureFixture[str]) -> None:
    """Both XDG variables are used as they are, silently."""
    folders = folders_from({"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "HOME": "/h"})
    assert (folders.config_file, folders.data) == (Path("/c/blazar/config.toml"), Path("/d/blazar"))
    assert capsys.readouterr().err == ""


def test_home_is_the_fallback(capsys: pytest.CaptureFixture[str]) -> None:
    """The usual dot folders below HOME."""
    folders = folders_from({"HOME": "/h"})
    assert (folders.config_file, folders.data) == (
        Path("/h/.config/blazar/config.toml"),
        Path("/h/.local/share/blazar"),
    )
    assert capsys.readouterr().err == ""


def test_without_any_the_current_folder_is_used_loudly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never silently: the warning names the folder."""
    monkeypatch.chdir(tmp_path)
    assert folders_from({}).data == tmp_path / ".local/share/blazar"
    assert str(tmp_path) in capsys.readouterr().err


def test_manifests_lie_where_no_build_can(tmp_path: Path) -> None:
    """A build called "manifests" may be installed; none can be called with a dot."""
    folders = folders_from({"HOME": str(tmp_path)})
    assert folders.manifests.parent == folders.engines
    assert not is_tag(folders.manifests.name)


def test_a_named_configuration_file_wins(tmp_path: Path) -> None:
    """--config replaces the file, not the data folder."""
    assert folders_from({"HOME": "/h"}, str(tmp_path / "x.toml")).config_file == tmp_path / "x.toml"


def test_the_run_folder_is_private(tmp_path: Path) -> None:
    """It holds the children's secrets."""
    folders = folders_from({"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}).ensure()
    assert folders.run.stat().st_mode & 0o777 == 0o700
    assert folders.sessions.stat().st_mode & 0o777 == 0o700
    assert folders.models.is_dir()
    assert folders.speccache.is_dir()
