"""A machine as plans see it."""

from blazar.domain.fit.machine import GIB, Device, Machine, Running, imagined


def test_only_devices_that_report_memory_are_in_the_pool():
    """A row without a size cannot be planned for."""
    known, blank = Device("CUDA0", "cuda", 8 * GIB, GIB), Device("Vulkan0", "vulkan", 0, 0)
    assert Machine(GIB, GIB, (blank, known)).pool == (known,)


def test_an_imagined_machine_is_empty():
    """Everything that there is of it is free."""
    machine = imagined((24, 11.5), 64)
    assert [(card.name, card.total, card.free) for card in machine.devices] == [
        ("CUDA0", 24 * GIB, 24 * GIB),
        ("CUDA1", int(11.5 * GIB), int(11.5 * GIB)),
    ]
    assert machine.ram_total == machine.ram_available == 64 * GIB
    assert machine.running == ()


def test_a_machine_without_cards_can_be_imagined():
    """Many have none."""
    assert imagined((), 16).pool == ()


def test_without_some_models_what_they_use_is_free():
    """As far as there is so much; the others stay, and an unknown size stays unknown."""
    running = (Running("a", True, False, 3 * GIB, (("CUDA0", 4 * GIB), ("gone", GIB))), Running("b", False, True, GIB))
    machine = Machine(8 * GIB, 6 * GIB, (Device("CUDA0", "cuda", 8 * GIB, 5 * GIB),), running)
    left = machine.without(["a", "nobody"])
    assert (left.ram_available, left.devices[0].free, left.running) == (8 * GIB, 8 * GIB, running[1:])
    assert machine.without([]) == machine
    assert Machine(0, 0, (), running).without(["a", "b"]) == Machine(0, 0)


def test_an_emptied_machine_has_nothing_loaded():
    """Whoever used its memory."""
    machine = Machine(8 * GIB, GIB, (Device("CUDA0", "cuda", 8 * GIB, 0),), (Running("a", False, True, GIB),))
    assert machine.emptied() == Machine(8 * GIB, 8 * GIB, (Device("CUDA0", "cuda", 8 * GIB, 8 * GIB),))
