"""One try at a file: who asks for what, how often, and when it ends."""

import hashlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.net import patience
from blazar.adapters.net import transfers as module
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.throttle import MEGABYTE, Throttle
from blazar.application.ports.downloads import Wanted
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryTrouble
from tests.fakes.disk import FakeDisk
from tests.support.registry import Answer, Asked, Drip, Registry
from tests.support.registry_faults import Fault, Stored

DATA = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def host() -> Iterator[Registry]:
    server = Registry()
    server.given["/file"] = Stored(DATA)
    yield server
    server.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses that take no time."""
    monkeypatch.setattr(module, "PAUSE_SECS", 0.01)


def downloads(connections: int = 4, throttle: Throttle | None = None, **changes: Any) -> HttpDownloads:
    limit = throttle or Throttle(lambda: 0, lambda: 0.0)
    return HttpDownloads(FakeDisk(), limit, lambda: connections, **{"read_secs": 5.0, "parallel_from": 1, **changes})


def wanted(host: Registry, tmp_path: Path, **changes: object) -> Wanted:
    return Wanted(f"{host.url}/file", str(tmp_path / "file"), "file", len(DATA), DIGEST)._replace(**changes)


def fetch(host: Registry, tmp_path: Path, loads: HttpDownloads | None = None, **changes: object) -> Stored:
    """Whole, or it raises."""
    (loads or downloads()).fetch(wanted(host, tmp_path, **changes), lambda _done, _total: None)
    assert (tmp_path / "file").read_bytes() == DATA
    stored = host.given["/file"]
    assert isinstance(stored, Stored)
    return stored


def test_pieces_are_asked_for_exactly(host: Registry, tmp_path: Path) -> None:
    """Each with its end, so that connections are kept; every byte once."""
    stored = fetch(host, tmp_path)
    assert min(stored.asked) == f"bytes=0-{len(DATA) // 4 - 1}"
    assert len(stored.asked) == 4
    assert stored.sent == len(DATA)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("skip", [0, 2])
def test_a_host_that_asks_for_time_is_given_it(host: Registry, tmp_path: Path, status: int, skip: int) -> None:
    """Before the first piece and between two; it says how long."""
    host.faults.set("/file", Fault(status=status, headers=(("retry-after", "0"),), times=2, skip=skip))
    stored = fetch(host, tmp_path)
    assert stored.sent == len(DATA)


def test_a_host_that_asks_for_an_hour_is_told_so(host: Registry, tmp_path: Path) -> None:
    """Nobody waits that long; what came stays."""
    host.faults.set("/file", Fault(status=429, headers=(("retry-after", "3000"),)))
    with pytest.raises(Busy, match="try again in 3000 s"):
        fetch(host, tmp_path)


def test_a_host_in_trouble_is_asked_again(host: Registry, tmp_path: Path) -> None:
    """A few times."""
    host.faults.set("/file", Fault(status=500, times=3))
    fetch(host, tmp_path)
    (tmp_path / "file").unlink()
    host.faults.set("/file", Fault(status=502))
    with pytest.raises(RegistryTrouble, match="status 502"):
        fetch(host, tmp_path)


def test_pauses_grow_and_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host asks for comes first; otherwise twice as long each time, never all at the same moment."""
    monkeypatch.setattr(module, "PAUSE_SECS", 0.5)
    trouble = RegistryTrouble("x")
    first, third = ({module._secs_after(trouble, tries) for _ in range(20)} for tries in (1, 3))
    assert len(first) > 1
    assert max(first) <= 1.0 < min(third) <= max(third) <= 4.0
    assert module._secs_after(trouble, 50) <= patience.LONGEST_PAUSE
    assert module._secs_after(Busy("x", 7), 1) >= 7


@pytest.mark.parametrize(("status", "kind"), [(401, NotFound), (403, Forbidden), (404, NotFound)])
def test_a_refusal_is_no_reason_to_ask_again(
    host: Registry, tmp_path: Path, status: int, kind: type[BlazarError]
) -> None:
    """At once, and without a trace."""
    host.faults.set("/file", Fault(status=status))
    with pytest.raises(kind):
        fetch(host, tmp_path)
    assert len(host.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_takes_fewer_connections(host: Registry, tmp_path: Path) -> None:
    """Those that it refuses leave their pieces to those that it serves."""
    serving = threading.Semaphore(2)
    stored = Stored(DATA)
    host.given["/file"] = stored
    whole = host._handle

    def limited(request: Any) -> None:
        if not serving.acquire(blocking=False):
            request.send_response(503)
            request.send_header("content-length", "0")
            request.end_headers()
            return
        try:
            whole(request)
        finally:
            serving.release()

    host._handle = limited  # type: ignore[method-assign]
    host.faults.set("/file", Fault(rate=len(DATA)))
    fetch(host, tmp_path, downloads(8))


def test_a_slow_connection_holds_no_end_up(host: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has nothing to do takes the half of what it has left, again and again; every byte is written once."""
    monkeypatch.setattr(module, "SHARED_FROM", 1 << 15)
    host.faults.set("/file", Fault(rate=1 << 17, times=1))
    stored = fetch(host, tmp_path)
    assert len(stored.asked) > 4


def test_where_the_registry_sends_us_is_asked_directly(host: Registry, tmp_path: Path) -> None:
    """Once it has; when that place has had its time, the registry is asked again."""
    asked: list[str] = []

    def redirect(_: object) -> Answer:
        asked.append("")
        return Answer(status=302, headers=(("location", f"{host.url}/place{len(asked)}"),))

    host.given["/go"] = redirect
    places = [Stored(DATA), Stored(DATA)]
    host.given["/place1"], host.given["/place2"] = places
    host.faults.set("/place1", Fault(status=403, skip=2))
    fetch(host, tmp_path, downloads(1, parallel_from=1 << 30), url=f"{host.url}/go")
    assert len(asked) == 1
    (tmp_path / "file").unlink()
    fetch(host, tmp_path, downloads(8), url=f"{host.url}/go")
    assert 2 <= len(asked) <= 9
    assert places[1].sent > 0


def test_other_servers_of_a_host_may_call_it_otherwise(host: Registry, tmp_path: Path) -> None:
    """Their entity tags differ, the bytes do not: a digest vouches for them, nothing is thrown away."""
    stored = host.given["/file"]
    assert isinstance(stored, Stored)

    def told(done: int, _: int) -> None:
        if done:
            stored.etag = '"other"'

    host.faults.set("/file", Fault(rate=1 << 20, cut=1 << 18, times=1))
    downloads(1).fetch(wanted(host, tmp_path), told)
    assert (tmp_path / "file").read_bytes() == DATA
    assert stored.asked == ["bytes=0-", f"bytes={1 << 18}-", f"bytes={1 << 18}-"]


def test_a_wrong_range_is_noticed(host: Registry, tmp_path: Path) -> None:
    """Its head tells: no byte of it is kept, the same is asked again."""
    host.faults.set("/file", Fault(shift=100, times=2))
    fetch(host, tmp_path)


@pytest.mark.parametrize("head", [False, True])
def test_h6_a_trickle_is_no_download(
    host: Registry, tmp_path: Path, head: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that keep coming one by one end as silence does."""
    monkeypatch.setattr(module, "CRAWL_SECS", 0.3)
    host.given["/file"] = Drip(head)
    with pytest.raises(RegistryTrouble, match="next to nothing"):
        downloads().fetch(wanted(host, tmp_path, size=100_000, sha256=""), lambda _done, _total: None)


def test_h9_a_question_that_hangs_holds_nobody_up(
    host: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is not resolved cannot be interrupted: its thread is left behind, and never touches the file again."""
    asked, answered, before = threading.Event(), threading.Event(), set(threading.enumerate())
    real = module.FileHost.ask

    def hanging(web: Any, *words: Any) -> Any:
        asked.set()
        answered.wait(30)
        return real(web, *words)

    def told(_: int, __: int) -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    monkeypatch.setattr(module.FileHost, "ask", hanging)
    with pytest.raises(KeyboardInterrupt):
        downloads().fetch(wanted(host, tmp_path), told)
    (left,) = [thread for thread in set(threading.enumerate()) - before if thread.name == "download"]
    answered.set()
    left.join(10)
    assert list(tmp_path.iterdir()) == []


def test_the_limit_holds_for_all_connections_together(host: Registry, tmp_path: Path) -> None:
    """One bucket."""
    now = [0.0]
    lock = threading.Lock()

    class Paying(Throttle):
        def take(self, size: int, wait: Any) -> None:
            def passing(seconds: float) -> None:
                with lock:
                    now[0] += seconds

            super().take(size, passing)

    host.given["/file"] = Stored(DATA * 4)
    digest = hashlib.sha256(DATA * 4).hexdigest()
    loads = downloads(throttle=Paying(lambda: 1, lambda: now[0]))
    loads.fetch(wanted(host, tmp_path, size=4 * len(DATA), sha256=digest), lambda _done, _total: None)
    assert now[0] >= 4 * len(DATA) / MEGABYTE - 1.1


def test_a_first_question_that_stays_without_an_answer_is_asked_again(host: Registry, tmp_path: Path) -> None:
    """As one between two pieces is: some tries, each longer apart."""
    host.faults.set("/file", Fault(stall="before", times=3))
    fetch(host, tmp_path, downloads(read_secs=0.2))
    (tmp_path / "file").unlink()
    host.faults.set("/file", Fault(stall="before"))
    before = len(host.asked)
    with pytest.raises(RegistryTrouble, match="sent nothing"):
        fetch(host, tmp_path, downloads(read_secs=0.2))
    assert len(host.heard(before + module.TRIES)) - before == module.TRIES


@pytest.mark.parametrize("digits", [17, 5000])
@pytest.mark.parametrize("head", ["content-range", "content-length"])
def test_a_number_of_thousands_of_digits_is_none(host: Registry, tmp_path: Path, digits: int, head: str) -> None:
    """No thread dies of it with a traceback: what the host says is no answer, and that is told."""
    # Closed, since of a length that can be true more is waited for, at each try as long as a host may be silent.
    said = "9" * digits if head == "content-length" else f"bytes 0-{'9' * digits}/{'9' * digits}"
    host.given["/file"] = Answer(b"x", 206 if head == "content-range" else 200, ((head, said), ("connection", "close")))
    with pytest.raises(RegistryTrouble) as told:
        downloads(connections=1).fetch(wanted(host, tmp_path), lambda _done, _total: None)
    assert "interrupted" not in str(told.value)


def test_what_nobody_foresaw_is_raised_where_it_is_waited_for(
    host: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And printed by no thread."""

    def broken(*_: object) -> None:
        raise ValueError("unforeseen")

    monkeypatch.setattr(module.Transfer, "_begin", broken)
    with pytest.raises(ValueError, match="unforeseen"):
        downloads().fetch(wanted(host, tmp_path), lambda _done, _total: None)


OTHER = bytes(255 - byte for byte in DATA)
DAYS = ("Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT")
SAID = {
    "strong": lambda version: (("etag", f'"{version}"'),),
    "weak": lambda version: (("etag", f'W/"{version}"'),),
    "date": lambda version: (("last-modified", DAYS[version]),),
    "nothing": lambda version: (),
}


class Swapping:
    """A host that has another version after so many answers, and heeds no condition. `swaps` versions follow one another then."""

    def __init__(self, said: str, after: int, *, swaps: int = 1, obeys: bool = False) -> None:
        self.said, self.after, self.swaps, self.obeys = SAID[said], after, swaps, obeys
        self.asked: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        self.asked.append(asked.headers.get("range", ""))
        version = min(self.swaps, len(self.asked) // self.after) % 2
        data, said = (DATA, OTHER)[version], self.said(version)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.asked[-1])
        if match is None or (self.obeys and asked.headers.get("if-range", "") not in ("", dict(said).get("etag"))):
            return Answer(data, 200, said)
        start, end = int(match[1]), int(match[2] or len(data) - 1) + 1
        return Answer(data[start:end], 206, (*said, ("content-range", f"bytes {start}-{end - 1}/{len(data)}")))


@pytest.mark.parametrize("swaps", [1, 99])
@pytest.mark.parametrize("said", sorted(SAID))
@pytest.mark.parametrize("obeys", [False, True])
@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_no_two_versions_are_put_together(
    host: Registry, tmp_path: Path, *, said: str, swaps: int, obeys: bool, after: int
) -> None:
    """Of a file without a digest: whatever its host says of versions, and whether or not it heeds what we ask, one of them is what lies there."""
    host.given["/file"] = Swapping(said, after, swaps=swaps, obeys=obeys)
    downloads().fetch(wanted(host, tmp_path, sha256=""), lambda _done, _total: None)
    assert (tmp_path / "file").read_bytes() in (DATA, OTHER)


def test_a_version_that_changes_is_begun_anew_in_parts(host: Registry, tmp_path: Path) -> None:
    """Once; with a digest nothing is thrown away for a name that differs."""
    host.given["/file"] = swapping = Swapping("strong", 2)
    downloads(1, parallel_from=1 << 30).fetch(wanted(host, tmp_path, sha256=""), lambda _done, _total: None)
    assert swapping.asked == ["bytes=0-"]
    (tmp_path / "file").unlink()
    host.given["/file"] = swapping = Swapping("strong", 2)
    downloads(4).fetch(wanted(host, tmp_path, sha256=""), lambda _done, _total: None)
    assert (tmp_path / "file").read_bytes() == OTHER
    assert swapping.asked.count(f"bytes=0-{len(DATA) // 4 - 1}") == 2
    assert "" not in swapping.asked


def test_a_host_whose_every_answer_is_another_version_is_read_in_one(host: Registry, tmp_path: Path) -> None:
    """One answer is of one version, however many there are."""
    host.given["/file"] = swapping = Swapping("strong", 1, swaps=99)
    downloads(4).fetch(wanted(host, tmp_path, sha256=""), lambda _done, _total: None)
    assert swapping.asked[-1] == ""
    assert (tmp_path / "file").read_bytes() in (DATA, OTHER)


@pytest.mark.parametrize(("said", "resumes"), [("strong", True), ("weak", False), ("date", False), ("nothing", False)])
@pytest.mark.parametrize("same", [True, False])
def test_what_nobody_vouches_for_is_not_taken_up_by_another_process(
    host: Registry, tmp_path: Path, said: str, resumes: bool, same: bool
) -> None:
    """Neither a weak tag nor a date says that bytes are the same; a strong tag does, where it is still that one."""

    def stored_as(version: int) -> Stored:
        heads = dict(SAID[said](version))
        return Stored((DATA, OTHER)[version], heads.pop("etag", None), tuple(heads.items()))

    host.given["/file"] = stored_as(0)

    def told(done: int, _: int) -> None:
        if done:
            raise KeyboardInterrupt

    host.faults.set("/file", Fault(rate=1 << 20, times=1))
    with pytest.raises(KeyboardInterrupt):
        downloads(1).fetch(wanted(host, tmp_path, sha256=""), told)
    host.given["/file"] = stored = stored_as(0 if same else 1)
    downloads(1).fetch(wanted(host, tmp_path, sha256=""), lambda _done, _total: None)
    assert (tmp_path / "file").read_bytes() == (DATA if same else OTHER)
    assert (stored.sent < len(DATA)) is (resumes and same)


def test_an_address_that_is_signed_anew_goes_on(host: Registry, tmp_path: Path) -> None:
    """Its path and a strong tag tell that it is the same file; nothing of the query is written down."""
    host.given["/file"] = stored = Stored(DATA)
    first = wanted(host, tmp_path, sha256="", url=f"{host.url}/file?signature=one")

    def told(done: int, _: int) -> None:
        if done:
            raise KeyboardInterrupt

    host.faults.set("/file", Fault(rate=1 << 20, times=1))
    with pytest.raises(KeyboardInterrupt):
        downloads(1).fetch(first, told)
    assert b"signature" not in (tmp_path / "file.part.json").read_bytes()
    before = stored.sent
    downloads(1).fetch(first._replace(url=f"{host.url}/file?signature=two"), lambda _done, _total: None)
    assert (tmp_path / "file").read_bytes() == DATA
    assert before > 0
    assert stored.sent - before < len(DATA)


@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize("limited", [False, True])
def test_a_few_bytes_a_request_are_no_download(host: Registry, tmp_path: Path, connections: int, limited: bool) -> None:
    """They neither buy tries without an end, nor does a limit of one's own speed."""
    asked: list[str] = []

    def drip(question: Asked) -> Answer:
        asked.append(question.headers["range"])
        start = int(asked[-1].removeprefix("bytes=").partition("-")[0])
        told = ("content-range", f"bytes {start}-{len(DATA) - 1}/{len(DATA)}")
        return Answer(DATA[start : start + 10], 206, (told, ("content-length", "10")))

    host.given["/file"] = drip
    throttle = Throttle(lambda: 1, lambda: 0.0) if limited else None
    with pytest.raises(RegistryTrouble, match="ends after"):
        downloads(connections, throttle).fetch(wanted(host, tmp_path), lambda _done, _total: None)
    assert len(asked) <= module.TRIES * connections


def test_a_limit_of_ones_own_does_not_excuse_a_trickle(
    host: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that are waited for because of it have come; those that have not are the host's."""
    monkeypatch.setattr(module, "CRAWL_SECS", 0.3)
    host.given["/file"] = Drip()

    class Slow(Throttle):
        def take(self, size: int, wait: Any) -> None:
            wait(0.01)

    loads = downloads(throttle=Slow(lambda: 1, lambda: 0.0))
    with pytest.raises(RegistryTrouble, match="next to nothing"):
        loads.fetch(wanted(host, tmp_path, size=100_000, sha256=""), lambda _done, _total: None)


@pytest.mark.parametrize("known", [True, False])
def test_a_host_that_does_not_say_how_long_the_whole_is(host: Registry, tmp_path: Path, known: bool) -> None:
    """`bytes 0-99/*` is proper HTTP: its length is what was promised, or all of it is asked for."""

    def unknown(question: Asked) -> Answer:
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", question.headers.get("range", ""))
        if match is None:
            return Answer(DATA)
        start, end = int(match[1]), int(match[2] or len(DATA) - 1) + 1
        return Answer(DATA[start:end], 206, (("content-range", f"bytes {start}-{end - 1}/*"), ("etag", '"v1"')))

    host.given["/file"] = unknown
    for digest in (DIGEST, ""):
        size = len(DATA) if known else 0
        downloads().fetch(wanted(host, tmp_path, size=size, sha256=digest), lambda _done, _total: None)
        assert (tmp_path / "file").read_bytes() == DATA
        (tmp_path / "file").unlink()


@pytest.mark.parametrize("after", [1, 2, 9])
def test_a_file_of_a_set_is_of_the_version_that_was_found(host: Registry, tmp_path: Path, after: int) -> None:
    """Its siblings are of that one: another is refused, at its beginning and on the way."""
    host.given["/file"] = Swapping("strong", after)
    meant = wanted(host, tmp_path, sha256="", etag="0")
    if after > 4:
        downloads().fetch(meant, lambda _done, _total: None)
        assert (tmp_path / "file").read_bytes() == DATA
        return
    with pytest.raises(RegistryTrouble, match="another version"):
        downloads().fetch(meant, lambda _done, _total: None)
    assert not (tmp_path / "file").exists()
