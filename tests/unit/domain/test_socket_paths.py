"""Paths of sockets: one for each instance, in safe characters, and no longer than the system can bind."""

import socket

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.socket_paths import LONGEST, ROOM, socket_name, socket_path


def test_each_instance_has_its_own_path():
    """The same one every time; nothing in it that is a folder or a pattern."""
    keys = ("m", "m#1", "m@vision", "org/m:tag", "org-m-tag", "daemon", "M")
    names = [socket_name(key) for key in keys]
    assert len(set(names)) == len(keys)
    assert names == [socket_name(key) for key in keys]
    assert all(name.endswith(".sock") and not set(name) & set("/:#@ *?") for name in names)
    assert socket_path("/data/run", "m") == "/data/run/m.sock"


def test_the_longest_path_is_accepted_and_can_be_bound(tmp_path):
    """103 bytes and the terminator; one byte more is refused before anything is started."""
    name = "m" * (LONGEST - len("/d/") - len(".sock"))
    assert len(socket_path("/d", name)) == LONGEST
    with pytest.raises(Malformed):
        socket_path("/d", name + "m")
    long = tmp_path / ("f" * (LONGEST - len(str(tmp_path)) - 1 - len("/m.sock")))
    long.mkdir()
    path = socket_path(str(long), "m")
    assert len(path) == LONGEST
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)


def test_the_sentence_names_what_is_too_long():
    """A long name in a short folder is the name's fault; a folder that leaves no room for names is the folder's."""
    with pytest.raises(Malformed, match=r"the socket of 'm{90}' .* shorter name") as caught:
        socket_path("/home/me/.local/share/blazar/run", "m" * 90)
    assert caught.value.field == "child_transport"
    deep = "/" + "f" * (LONGEST - ROOM)
    with pytest.raises(Malformed, match=r"the data folder is too long.*XDG_DATA_HOME"):
        socket_path(deep, "a-model-with-a-name-of-some-length-0000")
    with pytest.raises(Malformed, match="XDG_DATA_HOME"):
        socket_path("/" + "f" * LONGEST, "m")


def test_bytes_count_and_not_characters():
    """Folders may be called anything."""
    folder = "/" + "ü" * 40
    assert len(folder) < LONGEST
    with pytest.raises(Malformed):
        socket_path(folder, "m" * 20)
