"""Whole files over HTTP: by several ranges at once, resumed where they were left, compared with what was promised.

Knows no registry: an address, a path and a digest is all it is told. Decides nothing about what is downloaded.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from urllib.parse import urlsplit

from blazar.adapters.net.mending import Mending
from blazar.adapters.net.partials import Partial, told_of
from blazar.adapters.net.promises import digest_for, kind_of, promised
from blazar.adapters.net.rolling import Rolling
from blazar.adapters.net.throttle import Throttle
from blazar.adapters.net.transfers import Changed, FileHost, NoRanges, Rules, Transfer, Unsatisfiable
from blazar.adapters.net.web import READ_SECS, Web
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.downloads import Downloads, Told, Wanted
from blazar.domain import teaching
from blazar.domain.addresses import Ours
from blazar.domain.errors import BlazarError, Conflict, RegistryTrouble, StoreTrouble

PARALLEL_FROM = 32 << 20
"""Bytes from which a file is worth more than one connection (setup document)."""
LONGEST_SECS = 30 * 86400.0
"""No bound on a whole download: silence, trickles and dead connections have theirs."""
_LOOK_SECS = 0.2
"""Between two looks whether another process is done with the file."""
_BLOCK = 1 << 20


class HttpDownloads(Downloads):
    """`connections` is what is configured now; one throttle is shared by all downloads of a process. `gone` says that a host lacks a file.

    `ours` is what may lie inside this network.
    """

    def __init__(
        self,
        disk: DiskSpace,
        throttle: Throttle,
        connections: Callable[[], int],
        *,
        read_secs: float = READ_SECS,
        parallel_from: int = PARALLEL_FROM,
        gone: Callable[[str, str], str] = teaching.download_gone,
    ) -> None:
        self._disk, self._connections, self._parallel_from = disk, connections, parallel_from
        self._read_secs, self._gone = read_secs, gone
        self.ours: Callable[[], Ours] = Ours
        self.rules = Rules(self._check_room, throttle.take, self._connections_of)
        self._lock = Lock()
        self._stopped = Event()
        self._running: list[Transfer] = []
        self._why: BlazarError | None = None
        self._notes: Callable[[str], None] = _nobody

    def fetch(self, wanted: Wanted, told: Told) -> None:
        path = Path(wanted.path)
        try:
            partial = self._open(path, wanted, told)
            if partial is None:
                return
            try:
                (self._make if wanted.empty else self._fetch)(partial, wanted, told)
            finally:
                partial.close()
        except OSError as trouble:
            why = trouble.strerror or str(trouble)
            raise StoreTrouble(teaching.download_disk_trouble(str(path.parent), why)) from trouble

    def _open(self, path: Path, wanted: Wanted, told: Told) -> Partial | None:
        """The partial, locked, or None where the file is there. Who finds another at it waits, and finds what that one leaves."""
        seen: object = None
        while True:
            self._check_stopped()
            if (mark := _mark(path)) is not None and mark != seen and self._is_there(path, wanted):
                told(mark[1], mark[1])
                return None
            seen = mark
            try:
                partial = Partial(path, wanted.name)
            except Conflict:
                told(*told_of(path))
                self._stopped.wait(_LOOK_SECS)
                continue
            if _mark(path) == seen:
                return partial
            partial.close()  # published between the look and the lock

    def _make(self, partial: Partial, wanted: Wanted, told: Told) -> None:
        """A file without bytes: a host has nothing to send of it."""
        self._check_stopped()
        expected, digest = promised(wanted), digest_for(wanted).hexdigest()
        if expected and expected != digest:
            raise RegistryTrouble(teaching.download_empty_differs(wanted.name, expected, kind_of(wanted)))
        partial.forget()
        partial.publish()
        told(0, 0)

    def _fetch(self, partial: Partial, wanted: Wanted, told: Told) -> None:
        rolling = Rolling(partial.part, lambda: partial.spans, lambda: digest_for(wanted))
        expected = promised(wanted)
        digest, ranges = self._transfer(partial, rolling, wanted, told)
        if digest != expected:
            self._notes(teaching.download_mended(wanted.name, urlsplit(wanted.url).hostname or ""))
            digest = self._mend(partial, rolling, wanted, told, ranges=ranges) or digest
        if digest == expected:
            partial.publish()
            return
        partial.forget()
        raise RegistryTrouble(teaching.download_digest_differs(wanted.name, expected, digest, kind_of(wanted)))

    def _transfer(self, partial: Partial, rolling: Rolling, wanted: Wanted, told: Told) -> tuple[str, bool]:
        """The digest, and whether the host gives parts. What the host makes of our questions may take some tries to find out."""
        ranges = conditional = True
        changed: BlazarError | None = None
        for _ in range(4):
            transfer = Transfer(partial, rolling, wanted, self._make_web(wanted), self.rules)
            transfer.ranges, transfer.conditional = ranges, conditional
            try:
                return self._run(transfer, told), transfer.ranges
            except Changed as other:
                # Servers of one host may name the same bytes differently; a digest tells whether they are the same.
                conditional = False
                if not promised(wanted):
                    partial.forget()
                    conditional, ranges, changed = True, changed is None, other  # one answer is of one version
            except NoRanges:
                ranges = False
                partial.forget()
            except Unsatisfiable:
                ranges = ranges and partial.size > 0
                partial.forget()
        raise changed or RegistryTrouble(teaching.remote_said(urlsplit(wanted.url).netloc, 416))

    def _mend(self, partial: Partial, rolling: Rolling, wanted: Wanted, told: Told, *, ranges: bool) -> str:
        for way in (True, False) if ranges else (False,):
            mending = Mending(partial, rolling, wanted, self._make_web(wanted), self.rules)
            mending.ranges = way
            try:
                return self._run(mending, told)
            except (NoRanges, Unsatisfiable):
                continue
        return ""

    def _run(self, transfer: Transfer, told: Told) -> str:
        with self._lock:
            if self._why is not None:
                raise self._why
            self._running.append(transfer)
        try:
            return transfer.run(told)
        finally:
            with self._lock:
                self._running.remove(transfer)

    def _make_web(self, wanted: Wanted) -> Web:
        """The token is for the address's own origin: a redirect elsewhere goes without it (case H13)."""
        parts = urlsplit(wanted.url)
        base = f"{parts.scheme}://{parts.netloc}"
        secs = self._read_secs
        web = FileHost(base, wanted.token, variable=wanted.variable, read_secs=secs, whole_secs=LONGEST_SECS)
        web.gone, web.ours = self._gone, self.ours()
        return web

    def tells(self, notes: Callable[[str], None]) -> None:
        self._notes = notes

    def came(self, path: str) -> int:
        with suppress(OSError):
            return told_of(Path(path))[0]
        return 0

    def stop(self, why: BlazarError) -> None:
        with self._lock:
            self._why = self._why or why
            running = list(self._running)
        self._stopped.set()
        for transfer in running:
            transfer.stop(why)

    def _check_stopped(self) -> None:
        if self._why is not None:
            raise self._why

    def _check_room(self, path: str, needed: int, came: int) -> None:
        """Raise `StoreTrouble` where the disk cannot take it, before a byte is asked for (case H8)."""
        free = self._disk.free(path)
        if needed > free:
            raise StoreTrouble(teaching.download_no_room(path, needed, free, came))

    def _connections_of(self, size: int) -> int:
        """By how many connections a file of this size is fetched."""
        return max(1, self._connections()) if size >= self._parallel_from else 1

    def _is_there(self, path: Path, wanted: Wanted) -> bool:
        """Whether the file lies there already. Without a digest its size is all there is to go by."""
        try:
            if not path.is_file() or ((wanted.size or wanted.empty) and path.stat().st_size != wanted.size):
                return False
            if not (expected := promised(wanted)):
                return bool(wanted.size) or wanted.empty
            digest, buffer = digest_for(wanted), memoryview(bytearray(_BLOCK))
            with path.open("rb", buffering=0) as file:
                while count := file.readinto(buffer):
                    self._check_stopped()
                    digest.update(buffer[:count])
            return digest.hexdigest() == expected
        except OSError:
            return False


def _nobody(_: str) -> None:
    """Who looks at no progress hears of no trouble that ended well."""


def _mark(path: Path) -> tuple[int, int, int] | None:
    """Tells whether what lies there is still the same file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
