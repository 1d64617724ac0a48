"""The census as a whole: senses joined, nothing counted twice, nothing that stops it, and what is remembered of it."""

import os
from threading import Event

from blazar.adapters.hardware.census import CachedCensus, SystemCensus, usable_cpus
from blazar.adapters.hardware.memory import Ram
from blazar.adapters.hardware.nvml import NvidiaReport
from blazar.adapters.hardware.probing import ProbeFailed, Probes
from blazar.domain import teaching
from blazar.domain.records import Gpu, Machine, Trouble
from tests.fakes.hardware import FakeCensus, a_gpu, a_machine
from tests.support.sysfs_trees import grow

GIB = 2**30


def census(root, *cards, **senses):
    report = NvidiaReport(cards, "12.4" if cards else "", frozenset(card.address for card in cards))
    given = {
        "ram": lambda: Ram(8 * GIB, 5 * GIB),
        "cpus": lambda: {0, 1},
        "nvidia": lambda: report,
        "apple": lambda: (),
    }
    return SystemCensus(root, **{**given, **senses})


def test_an_empty_machine(tmp_path):
    """Memory and cores are always known, everything else may be absent."""
    assert census(tmp_path).read() == Machine(8 * GIB, 5 * GIB, 2, (), ())


def test_a_card_is_counted_once(tmp_path):
    """What the driver reports and what the bus shows are joined by address; ordinals run through."""
    grow("nvidia-bus", tmp_path)
    grow("amd-card", tmp_path)
    card = Gpu(0, "A", "nvidia", GIB, GIB, "555", "cuda", "0000:01:00.0", "8.9")
    machine = census(tmp_path, card, apple=lambda: (a_gpu(vendor="apple", driver="metal"),)).read()
    assert [(gpu.ordinal, gpu.vendor, gpu.total, gpu.driver) for gpu in machine.gpus] == [
        (0, "nvidia", GIB, "555"),
        (1, "nvidia", 0, ""),
        (2, "amd", 24 * GIB, "amdgpu"),
        (3, "nvidia", 0, ""),
        (4, "apple", 24 * GIB, "metal"),
    ]
    assert machine.cuda_version == "12.4"


def test_a_card_without_a_row_of_its_own_stays_without(tmp_path):
    """In MIG mode its slices stand for it, none of them too: the bus does not bring it back."""
    grow("nvidia-bus", tmp_path)
    report = NvidiaReport((), "12.4", frozenset({"0000:01:00.0"}), (Trouble("nvml", "no slice"),))
    machine = census(tmp_path, nvidia=lambda: report).read()
    assert [gpu.driver for gpu in machine.gpus] == ["", ""]
    assert machine.troubles == (Trouble("nvml", "no slice"),)


def test_it_reads_anew(tmp_path):
    """A card that appears is found by the next reading."""
    machine = census(tmp_path)
    assert machine.read().gpus == ()
    grow("amd-card", tmp_path)
    machine.invalidate()
    assert len(machine.read().gpus) == 1


def test_a_probe_that_fails_is_a_finding(tmp_path):
    """Whatever it throws: the machine is read without it."""

    def broken():
        raise ProbeFailed("the library is of another version")

    def worse():
        raise ZeroDivisionError

    machine = census(tmp_path, nvidia=broken, ram=worse, cpus=worse, apple=broken).read()
    assert (machine.ram_total, machine.ram_available, machine.cores, machine.gpus) == (0, 0, 1, ())
    assert [trouble.probe for trouble in machine.troubles] == ["memory", "processors", "nvml", "sysctl"]
    assert machine.troubles[2] == Trouble("nvml", "the library is of another version")
    assert census(tmp_path, ram=worse).ram() == Ram(0, 0)


def test_a_group_that_cannot_be_read_leaves_the_machine(tmp_path, monkeypatch):
    """Half the truth about memory is better than none, which would refuse no load; and it is told of."""

    def broken(ram, root):
        raise OSError("input/output error")

    monkeypatch.setattr("blazar.adapters.hardware.census.limited", broken)
    machine = census(tmp_path).read()
    assert (machine.ram_total, machine.ram_available) == (8 * GIB, 5 * GIB)
    assert machine.troubles == (Trouble("memory", "OSError('input/output error')"),)
    assert census(tmp_path).ram() == Ram(8 * GIB, 5 * GIB)


def test_a_probe_that_hangs_is_a_finding(tmp_path):
    """The others answer."""
    go_on, probes = Event(), Probes(1.0)  # the others are to answer within it
    machine = census(grow("amd-card", tmp_path), nvidia=lambda: go_on.wait() and NvidiaReport(), probes=probes)
    found = machine.read()
    assert found.troubles == (Trouble("nvml", teaching.no_answer_within(1.0)),)
    assert len(found.gpus) == 1
    hanging = probes._hanging["nvml"]
    go_on.set()
    hanging.join()
    assert machine.read().troubles == ()


def test_the_cpu_set_is_ours():
    """The affinity of this process is what counts."""
    assert usable_cpus()
    assert len(usable_cpus()) <= (os.cpu_count() or 1)


def cached(inner, ram=lambda: Ram(64 * GIB, GIB)):
    return CachedCensus(inner, ram, lambda: 0.0)


def test_accelerators_are_asked_once_and_memory_always():
    """Within the age: a driver costs milliseconds to seconds, memory is a file; admission goes by what is available now."""
    available = [7 * GIB, 6 * GIB]
    inner = FakeCensus(a_machine(gpus=[a_gpu()]))
    census = cached(inner, lambda: Ram(64 * GIB, available.pop(0)))
    assert census.read() == inner.machine
    assert [census.read().ram_available for _ in range(2)] == [7 * GIB, 6 * GIB]
    assert inner.readings == 1


def test_a_spawn_or_an_eviction_ends_the_age():
    """Told so, the next reading asks the drivers."""
    inner = FakeCensus()
    census = cached(inner)
    census.read()
    census.invalidate()
    census.invalidate()
    census.read()
    census.read()
    assert (inner.readings, inner.invalidations) == (2, 2)


def test_others_use_accelerators_too():
    """After the age they are asked untold: a desktop does not report to us."""
    now = [100.0]
    inner = FakeCensus()
    census = CachedCensus(inner, lambda: Ram(1, 1), lambda: now[0], max_age=5)
    for moment, readings in ((100.0, 1), (105.0, 1), (105.1, 2), (110.0, 2), (110.2, 3)):
        now[0] = moment
        census.read()
        assert inner.readings == readings


def test_what_was_spawned_during_a_reading_is_not_missed():
    """A reading that began before the spawn is handed out and not kept."""

    class Slow(FakeCensus):
        def read(self):
            machine = super().read()
            if self.readings == 1:
                census.invalidate()
            return machine

    inner = Slow()
    census = CachedCensus(inner, lambda: Ram(1, 1), lambda: 0.0)
    for _ in range(3):
        census.read()
    assert inner.readings == 2
