"""What everybody who asks for free space must do."""

from pathlib import Path

import pytest

from blazar.adapters.hardware.disk import SystemDisk
from blazar.application.ports.disk import DiskSpace
from tests.fakes.disk import FakeDisk


@pytest.fixture(params=[SystemDisk, FakeDisk])
def disk(request: pytest.FixtureRequest) -> DiskSpace:
    made: DiskSpace = request.param()
    return made


def test_room_is_a_number_of_bytes(disk: DiskSpace, tmp_path: Path) -> None:
    """Whole, and never below nothing."""
    room = disk.free(str(tmp_path))
    assert isinstance(room, int)
    assert room >= 0


def test_a_path_that_is_not_there_yet_means_its_parent(disk: DiskSpace, tmp_path: Path) -> None:
    """Asked before the first start, when the data folder does not exist; asking does not make it."""
    deep = tmp_path / "a" / "b"
    assert disk.free(str(deep)) > 0
    assert not deep.exists()


def test_a_file_stands_for_its_folder(disk: DiskSpace, tmp_path: Path) -> None:
    """An archive to be unpacked is asked about as it is."""
    file = tmp_path / "x"
    file.touch()
    assert disk.free(str(file)) > 0
