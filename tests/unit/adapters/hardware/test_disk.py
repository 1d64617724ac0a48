"""Free space."""

from blazar.adapters.hardware.disk import SystemDisk


def test_there_is_room(tmp_path):
    """The figure of the file system that holds the folder."""
    assert SystemDisk().free(str(tmp_path)) > 0


def test_a_folder_that_is_not_there_yet(tmp_path):
    """Before the first start the data folder does not exist; its parent answers."""
    assert SystemDisk().free(str(tmp_path / "a" / "b")) > 0
