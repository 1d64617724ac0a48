"""What a child uses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from blazar.adapters.engines import usage
from blazar.domain.instance.machine import Event, LoadWatch


def gone() -> int:
    """The pid of a process that was."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.parametrize("proc", [True, False])
def test_memory_is_told_for_the_living(monkeypatch: pytest.MonkeyPatch, proc: bool) -> None:
    """By /proc, elsewhere by psutil; 0 for the dead."""
    if not proc:
        monkeypatch.setattr(usage, "has_proc", lambda: False)
    assert usage.occupied(os.getpid()).resident > 2**20
    assert usage.occupied(gone()) == (0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_files_back_is_told_apart() -> None:
    """A mapped file that was touched counts as mapped, and is part of what is resident."""
    used = usage.occupied(os.getpid())
    assert 0 < used.mapped < used.resident


def test_reading_counts(tmp_path: Path) -> None:
    """Bytes read by calls show at once; the dead have read nothing."""
    file = tmp_path / "weights"
    file.write_bytes(bytes(2**20))
    before = usage.bytes_read(os.getpid())
    file.read_bytes()
    assert usage.bytes_read(os.getpid()) - before >= 2**20
    assert usage.bytes_read(gone()) == 0


def stat_of(name: str, user: int, system: int) -> str:
    """A line of /proc/PID/stat with these ticks, up to the children's times."""
    return f"7 ({name}) R 1 7 7 0 -1 4194304 100 0 0 0 {user} {system} 0 0 20 0 3 0 1234 999 99\n"


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of process 7 in a /proc of our own."""
    monkeypatch.setattr(usage, "has_proc", lambda: True)
    monkeypatch.setattr(usage, "_PROC", tmp_path)
    folder = tmp_path / "7"
    folder.mkdir()
    return folder


def test_time_is_counted_by_whole_seconds(proc: Path) -> None:
    """Of all threads, in user space and in the kernel; whatever the program calls itself; 0 for the dead."""
    tick = os.sysconf("SC_CLK_TCK")
    for name in ("llama-server", "a) R (b 1 2"):
        (proc / "stat").write_text(stat_of(name, 2 * tick + tick // 2, tick // 2 - 1))
        assert usage.cpu_seconds(7) == 2
        (proc / "stat").write_text(stat_of(name, 2 * tick + tick // 2, tick // 2))
        assert usage.cpu_seconds(7) == 3
    (proc / "stat").write_text("")
    assert usage.cpu_seconds(7) == usage.cpu_seconds(8) == 0


def test_time_is_told_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """By psutil; 0 for the dead."""
    spent = sum(os.times()[:2])
    monkeypatch.setattr(usage, "has_proc", lambda: False)
    assert usage.cpu_seconds(os.getpid()) >= int(spent)
    assert usage.cpu_seconds(gone()) == 0


def test_each_kind_of_work_is_a_sign_of_life(proc: Path) -> None:
    """Reading, taking memory and computing move the number; a poll's worth of memory and time does not, nor does giving back."""
    tick = os.sysconf("SC_CLK_TCK")

    def does(read: int = 0, resident_kib: int = 4096, ticks: int = tick) -> None:
        (proc / "io").write_text(f"rchar: {read}\nread_bytes: 0\n")
        (proc / "status").write_text(f"Name:\tx\nVmRSS:\t{resident_kib} kB\nRssFile:\t0 kB\n")
        (proc / "stat").write_text(stat_of("x", ticks, 0))

    effort = usage.Effort()
    does()
    seen = [effort.of(7)]
    does(resident_kib=4096 + 1023, ticks=2 * tick - 1)
    seen.append(effort.of(7))
    does(resident_kib=1024)
    seen.append(effort.of(7))
    assert seen == [seen[0]] * 3
    does(resident_kib=4096 + 1024)
    seen.append(effort.of(7))
    does(resident_kib=4096 + 1024, ticks=2 * tick)
    seen.append(effort.of(7))
    does(read=1, resident_kib=4096 + 1024, ticks=2 * tick)
    seen.append(effort.of(7))
    assert seen[2] < seen[3] < seen[4] < seen[5]


@pytest.mark.parametrize(
    ("mib_a_second", "ticks_a_second", "given_up"),
    [(64, 50, 180), (0, 100, 180), (64, 0, 180), (0, 0.2, 30)],
    ids=["clears a cache", "computes for ever", "takes memory", "only answers polls"],
)
def test_a_silent_load_is_judged_by_its_work(
    proc: Path, mib_a_second: float, ticks_a_second: float, given_up: int
) -> None:
    """Whatever works has until the cap, however it works; two thousandths of a processor is no work (D34)."""
    watch, effort = LoadWatch(now=0.0, cap=180.0), usage.Effort()
    (proc / "io").write_text("rchar: 4096\nread_bytes: 0\n")
    for second in range(181):
        (proc / "status").write_text(f"VmRSS:\t{(100 + int(second * mib_a_second)) * 1024} kB\n")
        (proc / "stat").write_text(stat_of("x", 0, int(second * ticks_a_second)))
        if watch.verdict(effort.of(7), float(second)) is Event.GAVE_UP:
            break
    assert second == given_up
