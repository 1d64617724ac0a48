"""Downloading: ranges, resuming, digests, deadlines, disks, interrupts. Against a host on loopback that behaves badly on purpose."""

import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from blazar.adapters.net import connecting, partials, transfers
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.throttle import Throttle
from blazar.application.ports.downloads import Told, Wanted
from blazar.domain import teaching
from blazar.domain.addresses import Ours
from blazar.domain.errors import BlazarError, Busy, NotFound, RegistryTrouble, StoreTrouble
from tests.fakes.disk import FakeDisk
from tests.support.proxies import forget_proxies
from tests.support.registry import Registry
from tests.support.registry_faults import Fault, Stored
from tests.support.release_feed import ReleaseHost, Served

DATA = bytes(range(256)) * 4096  # 1 MiB
DIGEST = hashlib.sha256(DATA).hexdigest()
SILENCE = 60.0
"""Seconds after which a download that was not ended would end by itself."""
SOON = 10.0
"""Seconds in which an interrupt or a stop has ended it on the slowest machine (case H9)."""


@pytest.fixture
def host() -> Iterator[ReleaseHost]:
    server = ReleaseHost()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between two tries take no time here."""
    monkeypatch.setattr(transfers, "PAUSE_SECS", 0.01)


def downloader(
    *, connections: int = 1, parallel_from: int = 1 << 18, disk: FakeDisk | None = None, read_secs: float = 5.0
) -> HttpDownloads:
    """Small files count as large ones here."""
    throttle = Throttle(lambda: 0, lambda: 0.0)
    return HttpDownloads(
        disk or FakeDisk(), throttle, lambda: connections, read_secs=read_secs, parallel_from=parallel_from
    )


def wanted(host: ReleaseHost, tmp_path: Path, served: Served | bytes = DATA, **changes: object) -> Wanted:
    url = host.add("/file.bin", served)
    return Wanted(url, str(tmp_path / "file.bin"), "file.bin", len(DATA), DIGEST)._replace(**changes)


def nothing(_: int, __: int) -> None:
    pass


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("connections", [1, 8])
def test_a_file_arrives_whole(host: ReleaseHost, tmp_path: Path, connections: int) -> None:
    """By one connection or by several ranges; told along the way, and nothing is left beside it."""
    told: list[tuple[int, int]] = []
    want = wanted(host, tmp_path)
    downloader(connections=connections).fetch(want, lambda done, total: told.append((done, total)))
    assert Path(want.path).read_bytes() == DATA
    assert left(tmp_path) == ["file.bin"]
    assert told[-1] == (len(DATA), len(DATA))
    assert len(host.files["/file.bin"].asked) == connections


def test_a_small_file_takes_one_connection(host: ReleaseHost, tmp_path: Path) -> None:
    """Ranges pay off for large ones only."""
    downloader(connections=8, parallel_from=2 << 20).fetch(wanted(host, tmp_path), nothing)
    assert host.files["/file.bin"].asked == ["bytes=0-"]


def test_a_host_without_ranges_gets_one_connection(host: ReleaseHost, tmp_path: Path) -> None:
    """It answers with everything: that is taken as it comes."""
    want = wanted(host, tmp_path, Served(DATA, ranges=False))
    downloader(connections=8).fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA
    assert len(host.files["/file.bin"].asked) == 1


def test_a_host_that_tells_no_length(host: ReleaseHost, tmp_path: Path) -> None:
    """It ends when the connection ends; the promised size and digest judge it."""
    want = wanted(host, tmp_path, Served(DATA, ranges=False, chunked=True), size=0)
    downloader().fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA
    want = wanted(host, tmp_path, Served(DATA[:-1], ranges=False, chunked=True), path=str(tmp_path / "other"))
    with pytest.raises(RegistryTrouble, match="ends after"):
        downloader().fetch(want, nothing)


def test_what_is_there_is_not_asked_for(host: ReleaseHost, tmp_path: Path) -> None:
    """A verified file is not fetched again (case H5); one of other bytes is."""
    want = wanted(host, tmp_path)
    Path(want.path).write_bytes(DATA)
    downloader().fetch(want, nothing)
    assert host.asked == []
    Path(want.path).write_bytes(b"x" * len(DATA))
    downloader().fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA


@pytest.mark.parametrize("connections", [1, 4])
def test_a_cut_connection_is_taken_up_again(host: ReleaseHost, tmp_path: Path, connections: int) -> None:
    """By itself, from where it was cut: nothing is fetched twice."""
    served = Served(DATA, stop_after=1 << 17, cuts=3)
    want = wanted(host, tmp_path, served)
    downloader(connections=connections).fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA
    assert len(served.asked) == connections + 3


def test_h8_a_later_run_goes_on_where_the_first_ended(host: ReleaseHost, tmp_path: Path) -> None:
    """What came stays; the second run asks for the rest only, and only of the very same file."""
    served = Served(DATA, stop_after=1 << 18, cuts=1)
    want = wanted(host, tmp_path, served)
    first = downloader()
    with pytest.raises(StoreTrouble):
        first.fetch(want, full_after(1 << 17))
    assert left(tmp_path) == ["file.bin.part", "file.bin.part.json"]
    downloader().fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA
    assert served.asked[0] == "bytes=0-"
    assert int(served.asked[-1].removeprefix("bytes=").rstrip("-")) > 0
    assert served.headers[-1]["if-range"] == '"v1"'


def full_after(size: int):
    def told(done: int, _: int) -> None:
        if done >= size:
            raise StoreTrouble("told so")

    return told


def partial_of(tmp_path: Path, data: bytes, done: int, *, identity: str = DIGEST, etag: str = '"v1"') -> None:
    """A download that was left at some byte."""
    partial = partials.Partial(tmp_path / "file.bin", "file.bin")
    partial.plan(len(DATA), 1, etag, identity)
    partial.write(partial.spans[0], data[:done])
    partial.save()
    partial.close()


def test_another_file_under_the_name_begins_anew(host: ReleaseHost, tmp_path: Path) -> None:
    """A note of another digest, or a host whose entity has changed, is no beginning of this file."""
    partial_of(tmp_path, b"y" * len(DATA), 1000, identity="0" * 64)
    downloader().fetch(wanted(host, tmp_path), nothing)
    assert host.files["/file.bin"].asked == ["bytes=0-"]
    (tmp_path / "file.bin").unlink()
    partial_of(tmp_path, b"y" * len(DATA), 1000, etag='"v0"')
    downloader().fetch(wanted(host, tmp_path), nothing)
    assert (tmp_path / "file.bin").read_bytes() == DATA


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_h17_a_host_without_a_strong_etag_works(host: ReleaseHost, tmp_path: Path, etag: str) -> None:
    """Size and digest vouch for the rest."""
    partial_of(tmp_path, DATA, 5000, etag="")
    served = Served(DATA, etag=etag)
    downloader().fetch(wanted(host, tmp_path, served), nothing)
    assert (tmp_path / "file.bin").read_bytes() == DATA
    assert served.asked == ["bytes=5000-"]
    assert "if-range" not in served.headers[0]


def test_resuming_at_a_host_that_lost_its_ranges(host: ReleaseHost, tmp_path: Path) -> None:
    """Everything comes from the beginning, into the right places."""
    partial_of(tmp_path, DATA, 5000)
    downloader().fetch(wanted(host, tmp_path, Served(DATA, ranges=False)), nothing)
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_h1_spoilt_bytes_are_fetched_once_more(host: ReleaseHost, tmp_path: Path) -> None:
    """One automatic retry of the bad file; bad bytes are never published."""
    served, notes = Served(DATA, spoil=1), list[str]()
    loads = downloader()
    loads.tells(notes.append)
    loads.fetch(wanted(host, tmp_path, served), nothing)
    assert (tmp_path / "file.bin").read_bytes() == DATA
    assert len(served.asked) == 2
    assert notes == [teaching.download_mended("file.bin", "127.0.0.1")]  # progress stands still meanwhile


def test_h1_bytes_that_stay_spoilt_are_an_error(host: ReleaseHost, tmp_path: Path) -> None:
    """After the second time; both digests are named, and nothing is left to be taken for good."""
    with pytest.raises(RegistryTrouble) as refused:
        downloader().fetch(wanted(host, tmp_path, Served(DATA, spoil=9)), nothing)
    assert DIGEST in str(refused.value)
    assert left(tmp_path) == []


def test_h2_nothing_at_all_is_told_as_nothing(host: ReleaseHost, tmp_path: Path) -> None:
    """The size is looked at first: no digest of an empty file is ever shown."""
    with pytest.raises(RegistryTrouble, match="0 bytes received") as refused:
        downloader().fetch(wanted(host, tmp_path, Served(b"", ranges=False)), nothing)
    assert "e3b0c442" not in str(refused.value)
    assert left(tmp_path) == []


def test_h14_a_file_cut_in_half_at_its_host(host: ReleaseHost, tmp_path: Path) -> None:
    """Its length says so before a byte is kept; asking again would bring the same."""
    served = Served(DATA, ranges=False, length=len(DATA) // 2)
    with pytest.raises(RegistryTrouble, match=str(len(DATA))):
        downloader().fetch(wanted(host, tmp_path, served), nothing)
    assert len(served.asked) == 1
    assert left(tmp_path) == []


def test_h3_no_cleaner_takes_what_is_worked_on(host: ReleaseHost, tmp_path: Path) -> None:
    """A partial that is open is locked; the rename finds it where it was."""
    want = wanted(host, tmp_path, Served(DATA, pace=0.001))
    swept: list[int] = []

    def told(done: int, _: int) -> None:
        if done and not swept:
            partials.sweep(tmp_path, older_than=2**62)
            swept.append(done)

    downloader().fetch(want, told)
    assert swept
    assert Path(want.path).read_bytes() == DATA


def in_background(loads: HttpDownloads, want: Wanted, told: Told) -> Future[None]:
    pool = ThreadPoolExecutor(1)
    waiting = pool.submit(loads.fetch, want, told)
    pool.shutdown(wait=False)
    return waiting


def test_the_second_waits_for_the_first(host: ReleaseHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells how far the first has come, finds the file, and asks for nothing."""
    monkeypatch.setattr(partials, "SAVE_LEAST", 1 << 16)  # a note that it can read already of the first block
    served = Served(DATA, pace=1.0)
    want = wanted(host, tmp_path, served)
    heard: list[tuple[int, int]] = []
    second: list[Future[None]] = []

    def listen(done: int, total: int) -> None:
        heard.append((done, total))
        if 0 < done < total:
            served.pace = 0.0

    def told(done: int, _: int) -> None:
        if done and not second:
            second.append(in_background(downloader(), want, listen))

    downloader().fetch(want, told)
    second[0].result(10)
    assert served.asked == ["bytes=0-"]
    assert heard[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert any(0 < done < len(DATA) for done, _ in heard)


def test_the_second_goes_on_where_the_first_gives_up(host: ReleaseHost, tmp_path: Path) -> None:
    """What came is nobody's: who waited for it takes it up."""
    host.given["/half"] = stored = Stored(DATA)
    host.faults.set("/half", Fault(stall="body", after=len(DATA) // 2, times=1))  # it is never done before it gives up
    want = wanted(host, tmp_path, url=f"{host.url}/half")
    second: list[Future[None]] = []

    def told(done: int, _: int) -> None:
        if done and not second:
            second.append(in_background(downloader(), want, nothing))
        if done > 1 << 18:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        downloader(read_secs=SILENCE).fetch(want, told)
    second[0].result(10)
    assert Path(want.path).read_bytes() == DATA
    assert len(stored.asked) == 2
    assert stored.asked[1] != "bytes=0-"


def test_who_waits_can_be_stopped(host: ReleaseHost, tmp_path: Path) -> None:
    """Each pull by itself: the first goes on."""
    want = wanted(host, tmp_path)
    held = partials.Partial(Path(want.path), "file.bin")
    loads = downloader()
    waiting = in_background(loads, want, nothing)
    loads.stop(Busy("the daemon stops"))
    with pytest.raises(Busy, match="the daemon stops"):
        waiting.result(SOON)
    held.close()


def test_a_cleaner_takes_what_nobody_came_back_for(tmp_path: Path) -> None:
    """Old ones go with their notes, young ones stay."""
    partial_of(tmp_path, DATA, 5000)
    partials.sweep(tmp_path, older_than=0)
    assert len(left(tmp_path)) == 2
    partials.sweep(tmp_path, older_than=2**62)
    assert left(tmp_path) == []
    partials.sweep(tmp_path / "not-there", older_than=2**62)


@pytest.mark.parametrize("served", [Served(DATA, stall_head=True), Served(DATA, stall=True)], ids=["head", "body"])
def test_h6_silence_ends(host: ReleaseHost, tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first byte as well as between two: a deadline, some tries, a sentence."""
    monkeypatch.setattr(transfers, "TRIES", 2)
    with pytest.raises(RegistryTrouble, match="sent nothing"):
        downloader(read_secs=0.2).fetch(wanted(host, tmp_path, served), nothing)


def test_h8_a_full_disk_is_found_before_anything_is_fetched(host: ReleaseHost, tmp_path: Path) -> None:
    """With both figures."""
    with pytest.raises(StoreTrouble, match="not enough space"):
        downloader(disk=FakeDisk(room=1000)).fetch(wanted(host, tmp_path), nothing)
    assert host.asked == []
    with pytest.raises(StoreTrouble, match="not enough space"):  # where only the host knows the size
        downloader(disk=FakeDisk(room=1000)).fetch(wanted(host, tmp_path, size=0), nothing)
    assert left(tmp_path) == []


def test_h8_a_disk_that_fills_up_keeps_the_partial(
    host: ReleaseHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is fatal: no retry, no loop; what came is taken up once there is room."""
    whole = partials._write_at

    def full(file: int, view: memoryview, at: int) -> int:
        if at > 1 << 18:
            raise OSError(28, "No space left on device")
        return whole(file, view, at)

    served = Served(DATA)
    want = wanted(host, tmp_path, served)
    with monkeypatch.context() as patched:
        patched.setattr(partials, "_write_at", full)
        with pytest.raises(StoreTrouble, match="No space left"):
            downloader().fetch(want, nothing)
    assert len(served.asked) == 1
    assert left(tmp_path) == ["file.bin.part", "file.bin.part.json"]
    downloader().fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA
    assert int(served.asked[1].removeprefix("bytes=").rstrip("-")) > 1 << 18


@pytest.mark.parametrize("connections", [1, 4])
def test_h9_an_interrupt_keeps_what_came(host: ReleaseHost, tmp_path: Path, connections: int) -> None:
    """Raised where the main thread waits; sockets are shut, threads are gone, and the next run goes on."""
    served = Served(DATA, pace=0.01)
    want = wanted(host, tmp_path, served)

    began, before = list[float](), set(threading.enumerate())

    def told(done: int, _: int) -> None:
        if done > 1 << 16:
            began.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        downloader(connections=connections, read_secs=SILENCE).fetch(want, told)
    assert time.monotonic() - began[0] < SOON
    for thread in set(threading.enumerate()) - before:
        if thread.name == "download":  # one that was asking is left behind, and finds its socket shut
            thread.join(SOON)
            assert not thread.is_alive()
    assert left(tmp_path) == ["file.bin.part", "file.bin.part.json"]
    served.pace = 0.0
    downloader(connections=connections).fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA


def test_h9_a_stalled_download_can_be_stopped(host: ReleaseHost, tmp_path: Path) -> None:
    """From another thread, although no byte comes."""
    served = Served(DATA, stall=True)
    want, loads = wanted(host, tmp_path, served), downloader(read_secs=SILENCE)
    stopped = list[float]()

    def stop() -> None:
        served.started.wait()
        stopped.append(time.monotonic())
        loads.stop(Busy("the daemon stops"))

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(Busy, match="the daemon stops"):
        loads.fetch(want, nothing)
    assert time.monotonic() - stopped[0] < SOON
    stopper.join()
    with pytest.raises(BlazarError, match="the daemon stops"):
        loads.fetch(want._replace(path=str(tmp_path / "other")), nothing)


def test_h13_a_redirect_elsewhere_goes_without_the_token(host: ReleaseHost, tmp_path: Path) -> None:
    """The token is for the address's own host."""
    other = ReleaseHost()
    try:
        target = other.add("/real.bin", DATA)
        want = wanted(host, tmp_path, Served(b"", redirect=target), token="secret-token")
        downloader().fetch(want, nothing)
        assert Path(want.path).read_bytes() == DATA
        assert host.files["/file.bin"].headers[0]["authorization"] == "Bearer secret-token"
        assert all("authorization" not in headers for headers in other.files["/real.bin"].headers)
    finally:
        other.close()


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://there/x"])
def test_h13_redirects_to_other_schemes_are_refused(host: ReleaseHost, tmp_path: Path, target: str) -> None:
    """HTTP leads to HTTP and nowhere else."""
    with pytest.raises(BlazarError):
        downloader().fetch(wanted(host, tmp_path, Served(b"", redirect=target)), nothing)
    assert left(tmp_path) == []


def test_h13_endless_redirects_end(host: ReleaseHost, tmp_path: Path) -> None:
    """After a handful."""
    url = host.add("/round", Served(b"", redirect="/round"))
    with pytest.raises(RegistryTrouble, match="redirects"):
        downloader().fetch(wanted(host, tmp_path, url=url), nothing)
    assert len(host.asked) <= 6


def test_a_file_that_is_not_there(host: ReleaseHost, tmp_path: Path) -> None:
    """It is the host that lacks it, not a name that somebody misspelt; and no trace."""
    with pytest.raises(NotFound, match=r"does not have file\.bin, although the release lists it"):
        downloader().fetch(wanted(host, tmp_path, url=host.url + "/no"), nothing)
    assert left(tmp_path) == []


def test_a_host_that_is_gone(tmp_path: Path) -> None:
    """A sentence that names it."""
    dead = Registry()
    dead.close()
    with pytest.raises(RegistryTrouble, match="cannot be reached"):
        downloader().fetch(Wanted(dead.url + "/x", str(tmp_path / "x"), "x"), nothing)


def test_a_folder_that_cannot_be_written(host: ReleaseHost, tmp_path: Path) -> None:
    """A sentence that names it, too."""
    (tmp_path / "file").write_text("")
    want = wanted(host, tmp_path, path=str(tmp_path / "file" / "x"))
    with pytest.raises(StoreTrouble, match=str(tmp_path / "file")):
        downloader().fetch(want, nothing)


def test_the_limit_is_asked_for_every_block(host: ReleaseHost, tmp_path: Path) -> None:
    """Every byte goes through the one bucket."""
    paid: list[int] = []

    class Counting(Throttle):
        def take(self, size: int, wait: object) -> None:
            paid.append(size)

    loads = HttpDownloads(FakeDisk(), Counting(lambda: 1, lambda: 0.0), lambda: 4, parallel_from=1 << 18)
    loads.fetch(wanted(host, tmp_path), nothing)
    assert sum(paid) == len(DATA)


def test_sentences_of_parts() -> None:
    """What `remote_garbled` is told."""
    assert "5 of 10" in teaching.download_cut_off(10, 5)


def _git(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def test_a_file_that_is_known_to_be_empty_is_made_and_not_asked_for(host: ReleaseHost, tmp_path: Path) -> None:
    """Repositories hold such files; a host that sends none of it is right."""
    want = wanted(host, tmp_path, b"", size=0, sha256="", git=_git(b""), empty=True)
    Path(want.path + ".part").write_bytes(b"of an earlier version")
    for _ in range(2):
        downloader().fetch(want, nothing)
        assert Path(want.path).read_bytes() == b""
    assert (left(tmp_path), host.files["/file.bin"].asked) == (["file.bin"], [])
    Path(want.path).unlink()
    with pytest.raises(RegistryTrouble, match=r"no bytes where it lies.*expected git id"):
        downloader().fetch(want._replace(git="a" * 40), nothing)
    assert left(tmp_path) == []


def test_a_length_of_zero_that_nobody_promised_is_unknown(host: ReleaseHost, tmp_path: Path) -> None:
    """A host that answers with nothing is refused then, as before."""
    with pytest.raises(RegistryTrouble, match="0 bytes received"):
        downloader().fetch(wanted(host, tmp_path, b"", size=0, sha256=""), nothing)


@pytest.mark.parametrize("connections", [1, 8])
def test_git_s_id_is_a_promise_too(host: ReleaseHost, tmp_path: Path, connections: int) -> None:
    """A small file of a hub has no other digest: it is kept if it is what git says, else it is not there (case H1)."""
    want = wanted(host, tmp_path, sha256="", git=_git(DATA))
    downloader(connections=connections).fetch(want, nothing)
    assert Path(want.path).read_bytes() == DATA
    spoilt = DATA[:5000] + b"!" + DATA[5001:]
    Path(want.path).write_bytes(spoilt)
    downloader(connections=connections).fetch(want, nothing)  # of the same size, and still another file
    assert Path(want.path).read_bytes() == DATA
    Path(want.path).unlink()
    want = wanted(host, tmp_path, spoilt, sha256="", git=_git(DATA))
    with pytest.raises(RegistryTrouble, match=f"expected git id {_git(DATA)}, found {_git(spoilt)}"):
        downloader(connections=connections).fetch(want, nothing)
    assert left(tmp_path) == []


def test_what_came_is_known_before_anything_is_asked(host: ReleaseHost, tmp_path: Path) -> None:
    """So that a resumed download does not begin at an enormous speed; nothing is there of what nobody began."""
    assert downloader().came(str(tmp_path / "file.bin")) == 0
    partial_of(tmp_path, DATA, 5000)
    assert downloader().came(str(tmp_path / "file.bin")) == 5000
    assert host.asked == []


def test_h8_room_that_lacks_is_told_exactly(host: ReleaseHost, tmp_path: Path) -> None:
    """What is needed, free and missing never read alike; that something stays is said where something is."""
    with pytest.raises(StoreTrouble, match=r"MiB are needed and 1000 bytes are free: free .* more and try again$"):
        downloader(disk=FakeDisk(room=1000)).fetch(wanted(host, tmp_path), nothing)
    partial_of(tmp_path, DATA, 5000)
    with pytest.raises(StoreTrouble, match=r"what was downloaded so far stays$"):
        downloader(disk=FakeDisk(room=1000)).fetch(wanted(host, tmp_path), nothing)


def test_an_address_that_resolves_inside_is_not_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Told at once, with nothing left; whom a person named is asked."""
    forget_proxies(monkeypatch)
    monkeypatch.setattr(connecting, "resolved", lambda *_: ["10.0.0.7"])
    want = Wanted("https://files.example/m.gguf", str(tmp_path / "m.gguf"), "m.gguf", len(DATA), DIGEST)
    with pytest.raises(RegistryTrouble, match=r"files\.example resolves to 10\.0\.0\.7, an address inside"):
        downloader().fetch(want, nothing)
    named = downloader()
    named.ours = lambda: Ours(("a.example",))
    assert named._make_web(want).ours == Ours(("a.example",))
