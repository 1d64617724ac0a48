"""Archives of sources."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.sources import HttpSources, commit_of, is_whole
from blazar.adapters.net.throttle import Throttle
from blazar.domain.errors import Malformed, NotFound, RegistryTrouble
from tests.fakes.disk import FakeDisk
from tests.support.release_feed import ReleaseHost, Served

SHA = "0123456789abcdef0123456789abcdef01234567"
PATH = f"/owner/fork/archive/{SHA}.tar.gz"
TAGGED = "/owner/fork/archive/refs/tags/b11434.tar.gz"


def archive(comment: str | None = SHA) -> bytes:
    """As GitHub makes it of a commit: `git archive` names it in the first header."""
    out = io.BytesIO()
    headers = {} if comment is None else {"comment": comment}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as tar:
        tar.addfile(tarfile.TarInfo("fork/CMakeLists.txt"), io.BytesIO())
    return gzip.compress(out.getvalue())


@pytest.fixture
def host() -> Iterator[ReleaseHost]:
    server = ReleaseHost()
    yield server
    server.close()


def sources(host: ReleaseHost, tmp_path: Path) -> HttpSources:
    downloads = HttpDownloads(FakeDisk(), Throttle(lambda: 0, lambda: 0.0), lambda: 1, read_secs=5.0)
    return HttpSources(lambda: downloads, tmp_path / "downloads", host.add("/", b"").rstrip("/"))


def nothing(_: int, __: int) -> None:
    pass


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "downloads").iterdir())


def test_a_commit_is_fetched_and_looked_at(host: ReleaseHost, tmp_path: Path) -> None:
    """Its digest is told, so that whoever unpacks it knows that it is the same file."""
    data = archive()
    host.add(PATH, data)
    found = sources(host, tmp_path).commit("owner/fork", SHA, "", nothing)
    assert Path(found.path).read_bytes() == data
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    sources(host, tmp_path).drop(found.path)
    assert left(tmp_path) == []


@pytest.mark.parametrize("comment", [SHA[::-1], None, "main", SHA + "0"])
def test_an_archive_of_another_commit_is_deleted(host: ReleaseHost, tmp_path: Path, comment: str | None) -> None:
    """A moved repository, or one that answers with its newest: not what was pinned."""
    host.add(PATH, archive(comment))
    with pytest.raises(Malformed, match="nothing was installed"):
        sources(host, tmp_path).commit("owner/fork", SHA, "", nothing)
    assert left(tmp_path) == []


def test_a_digest_that_was_promised_is_kept_to(host: ReleaseHost, tmp_path: Path) -> None:
    """The list's, or a person's."""
    host.add(PATH, archive())
    with pytest.raises((RegistryTrouble, Malformed)):
        sources(host, tmp_path).commit("owner/fork", SHA, "a" * 64, nothing)


def test_a_repository_that_is_not_there(host: ReleaseHost, tmp_path: Path) -> None:
    """Or private: the sentence names it with its commit."""
    with pytest.raises(NotFound, match="owner/gone@01234567"):
        sources(host, tmp_path).commit("owner/gone", SHA, "", nothing)


def made(data: bytes, **changes: Any) -> Served:
    """As GitHub serves an archive that it makes on request: no length, no ranges, nothing to tell versions apart."""
    return Served(data, ranges=False, etag="", chunked=True, **changes)


def test_the_source_of_a_release(host: ReleaseHost, tmp_path: Path) -> None:
    """By its tag; the digest is told, for no feed has it."""
    data = archive()
    host.add(TAGGED, made(data))
    found = sources(host, tmp_path).release("owner/fork", "b11434", "", nothing)
    assert Path(found.path).read_bytes() == data
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert left(tmp_path) == ["owner-fork-b11434.tar.gz"]


def test_a_source_that_is_here_is_not_fetched_again(host: ReleaseHost, tmp_path: Path) -> None:
    """A build that failed is tried again with the same bytes, also where the host would make others of them now."""
    served = host.add(TAGGED, made(archive())) and host.files[TAGGED]
    host.add(PATH, archive())
    fetch = sources(host, tmp_path)
    for _ in range(2):
        fetch.release("owner/fork", "b11434", "", nothing)
        fetch.commit("owner/fork", SHA, "", nothing)
    assert (len(served.asked), len(host.files[PATH].asked)) == (1, 1)
    with pytest.raises(RegistryTrouble, match="sha256"):
        fetch.release("owner/fork", "b11434", "a" * 64, nothing)


@pytest.mark.parametrize("data", [archive()[:60], b"<html>try later</html>"])
def test_a_source_that_broke_off_is_deleted(host: ReleaseHost, tmp_path: Path, data: bytes) -> None:
    """Without a length nothing else shows it: its last bytes are its checksum."""
    host.add(TAGGED, made(data))
    with pytest.raises(RegistryTrouble, match=r"owner/fork@b11434 did not come whole from 127\.0\.0\.1"):
        sources(host, tmp_path).release("owner/fork", "b11434", "", nothing)
    assert left(tmp_path) == []
    host.add(TAGGED, made(archive()))
    sources(host, tmp_path).release("owner/fork", "b11434", "", nothing)


def test_a_source_that_is_not_there(host: ReleaseHost, tmp_path: Path) -> None:
    """No such tag; whatever is in it stays one part of the address."""
    with pytest.raises(NotFound, match="owner/fork@v1"):
        sources(host, tmp_path).release("owner/fork", "v1+2", "", nothing)
    assert host.paths() == ["/owner/fork/archive/refs/tags/v1%2B2.tar.gz"]


def test_a_bomb_is_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it to its end would take for ever."""
    file = tmp_path / "a.tar.gz"
    file.write_bytes(gzip.compress(bytes(3 << 20)))
    assert is_whole(file)
    monkeypatch.setattr("blazar.adapters.net.sources.MOST_BLOCKS", 2)
    assert not is_whole(file)


def test_files_of_one_name_do_not_meet(host: ReleaseHost, tmp_path: Path) -> None:
    """Two lanes may both publish `build.zip`; whatever stands in an address becomes no path."""
    fetch, digests = sources(host, tmp_path), [hashlib.sha256(data).hexdigest() for data in (b"one", b"two")]
    first = fetch.asset(host.add("/a/build.zip", b"one"), digests[0], nothing)
    second = fetch.asset(host.add("/b/build.zip", b"two"), digests[1], nothing)
    assert (Path(first).read_bytes(), Path(second).read_bytes()) == (b"one", b"two")
    odd = fetch.asset(host.add("/..%2f..%2fup", b"one"), digests[0], nothing)
    assert Path(odd).parent == tmp_path / "downloads"


@pytest.mark.parametrize("data", [b"", b"no gzip", gzip.compress(b"no tar"), archive()[:40]])
def test_what_is_no_archive_names_no_commit(tmp_path: Path, data: bytes) -> None:
    """Nor does a file that was cut off."""
    file = tmp_path / "a.tar.gz"
    file.write_bytes(data)
    assert commit_of(file) == ""
