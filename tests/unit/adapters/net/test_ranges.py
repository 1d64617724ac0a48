"""The front of a file far away: as much as is read, and not more."""

from collections.abc import Iterator

import pytest

from blazar.adapters.net import ranges as module
from blazar.adapters.net.ranges import FIRST, RangedFile
from blazar.adapters.net.web import Web
from blazar.domain.errors import BadModelFile, RegistryTrouble
from tests.support.registry import Answer, Asked, Blob, Registry

MIB = 1 << 20
HUGE = 40 << 30


@pytest.fixture
def web(registry: Registry) -> Iterator[Web]:
    asking = Web(registry.url)
    yield asking
    asking.close()


def file_of(web: Web, registry: Registry, blob: Blob, size: int | None = None) -> RangedFile:
    registry.given["/f"] = blob
    return RangedFile(web, registry.url + "/f", "f.gguf", blob.size if size is None else size)


def test_reading_goes_on_where_it_ended(web: Web, registry: Registry) -> None:
    """Like a file: a position, an end, and seeking without fetching."""
    data = bytes(range(256)) * 8
    with file_of(web, registry, Blob(data)) as file:
        assert (file.name, file.size) == ("f.gguf", 2048)
        assert file.read(3) == data[:3]
        assert file.read(5) == data[3:8]
        assert file.seek(2000) == 2000
        assert file.read(100) == data[2000:]
        assert file.read(1) == b""
    assert len(registry.asked) == 1


def test_ranges_grow(web: Web, registry: Registry) -> None:
    """A small header is one short request; a large one takes few."""
    blob = Blob(b"x" * (5 * MIB), HUGE)
    with file_of(web, registry, blob) as file:
        file.read(10)
        assert blob.sent == FIRST
        while file.fetched < 5 * MIB:
            file.read(64 << 10)
    ranges = [asked.headers["range"] for asked in registry.asked]
    assert ranges[:3] == ["bytes=0-262143", "bytes=262144-1048575", "bytes=1048576-2097151"]
    assert (len(ranges), blob.sent) == (5, 8 * MIB)


def test_a_server_that_ignores_ranges_is_cut_off(web: Web, registry: Registry) -> None:
    """It would send 40 GB; what is read is held, and the connection is dropped with the file."""
    blob = Blob(b"abc", HUGE, ranges=False)
    with file_of(web, registry, blob) as file:
        assert file.read(4) == b"abc\0"
        assert file.read(MIB) == bytes(MIB)
        assert file.fetched < 2 * MIB
    assert len(registry.asked) == 1


def test_a_server_that_stops_taking_ranges_is_read_on(web: Web, registry: Registry) -> None:
    """What is held already is passed over."""
    data = bytes(index % 251 for index in range(FIRST + 5000))
    blob = Blob(data)
    with file_of(web, registry, blob) as file:
        file.read(10)
        blob.ranges = False
        assert file.read(FIRST) == data[10 : FIRST + 10]
        assert file.read(5000) == data[FIRST + 10 :]


def test_a_header_without_end_is_given_up(web: Web, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 MiB of a file are the most that is ever fetched."""
    monkeypatch.setattr(module, "MOST", MIB)
    blob = Blob(b"", HUGE)
    with file_of(web, registry, blob) as file:
        file.read(MIB)
        with pytest.raises(BadModelFile, match=r"f\.gguf.* does not end within 1 MiB"):
            file.read(1)
        file.seek(HUGE - 10)
        with pytest.raises(BadModelFile):
            file.read(1)
    assert blob.sent == MIB


@pytest.mark.parametrize(
    "headers",
    [
        (("content-range", "bytes 5-14/2048"),),
        (("content-range", "bytes 0-9/4096"),),
        (("content-range", "bytes 0-9"),),
        (("content-range", ""),),
        (("content-range", f"bytes {'9' * 5000}-9/2048"),),
        (("content-range", f"bytes 0-9/{'9' * 5000}"),),
    ],
)
def test_another_part_or_another_file_is_refused(
    web: Web, registry: Registry, headers: tuple[tuple[str, str], ...]
) -> None:
    """A listing that no longer holds, a cache that confuses ranges."""
    registry.given["/f"] = Answer(b"0123456789", 206, headers)
    with RangedFile(web, registry.url + "/f", "f", 2048) as file, pytest.raises(RegistryTrouble, match="not the file"):
        file.read(10)


def test_another_size_is_refused(web: Web, registry: Registry) -> None:
    """Also of a server without ranges."""
    with file_of(web, registry, Blob(b"abc", ranges=False), size=4) as file, pytest.raises(RegistryTrouble):
        file.read(1)


def test_a_file_that_ends_early_is_said(web: Web, registry: Registry) -> None:
    """Nothing came although bytes were promised."""

    def empty(asked: Asked) -> Answer:
        return Answer(b"", 206, (("content-range", f"bytes {asked.headers['range'][6:]}/2048"),))

    registry.given["/f"] = empty
    with RangedFile(web, registry.url + "/f", "f", 2048) as file, pytest.raises(RegistryTrouble, match="ends after 0"):
        file.read(1)


def test_short_pieces_are_asked_for_again(web: Web, registry: Registry) -> None:
    """A server may send less than the range that was asked for."""
    data = bytes(range(200))

    def miserly(asked: Asked) -> Answer:
        start = int(asked.headers["range"][6:].split("-")[0])
        piece = data[start : start + 50]
        return Answer(piece, 206, (("content-range", f"bytes {start}-{start + len(piece) - 1}/200"),))

    registry.given["/f"] = miserly
    with RangedFile(web, registry.url + "/f", "f", 200) as file:
        assert file.read(200) == data


def test_more_than_asked_for_is_not_kept(web: Web, registry: Registry) -> None:
    """A range of 200 bytes answered with a megabyte."""
    registry.given["/f"] = Answer(bytes(MIB), 206, (("content-range", "bytes 0-199/200"),))
    with RangedFile(web, registry.url + "/f", "f", 200) as file:
        assert file.read(300) == bytes(200)
        assert file.fetched == 200


def test_closing_frees_what_was_held(web: Web, registry: Registry) -> None:
    """A set's headers are read one after the other."""
    with file_of(web, registry, Blob(b"x" * 2048)) as file:
        file.read(10)
        assert file.fetched == 2048
    assert file.fetched == 0
