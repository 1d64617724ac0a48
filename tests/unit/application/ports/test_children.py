"""What a child is said to need, of what it was measured to use."""

import pytest

from blazar.application.ports.children import HOST, MAPPED, REPACKED, Buffer, Measured

MIB = 2**20


def measured(stretch: int, copied: int, *, mapped: int = 0, own: int = 0) -> Measured:
    """MiB: 200 of its own and what is mapped; the log announced the rest, with a cache and a card."""
    sizes = {MAPPED: stretch, REPACKED: copied, "weights": own, "kv": 90}
    buffers = [Buffer(HOST, what, size * MIB) for what, size in sizes.items() if size]
    card = Buffer("CUDA0", "weights", 7 * MIB)
    return Measured((200 + mapped) * MIB, mapped * MIB, (("CUDA0", 9 * MIB),), (*buffers, card))


def kept(memory: Measured, weights: int = 0) -> tuple[int, int, int]:
    """MiB that count as mapped, in all, and as announced."""
    needed = memory.needed(weights * MIB)
    assert needed.resident - needed.mapped == 200 * MIB
    assert needed.devices == memory.devices
    return needed.mapped // MIB, needed.total // MIB, sum(buffer.bytes for buffer in needed.buffers) // MIB


def test_pages_that_were_read_to_be_repacked_are_not_needed():
    """Of 100 MiB in the file 70 were copied: 30 are read again, and the engine's libraries stay."""
    assert kept(measured(100, 70, mapped=113)) == (43, 252, 197)
    assert kept(measured(100, 70, mapped=113), weights=100) == (43, 252, 197)


def test_a_tied_embedding_is_repacked_and_read_all_the_same():
    """What the plan counts tells how much of the file is still read, which the log leaves open."""
    tied = measured(72, 72, mapped=86)
    assert kept(tied) == (14, 223, 169)
    assert kept(tied, weights=87) == (29, 238, 184)
    assert kept(measured(72, 72, mapped=86, own=5), weights=92)[0] == 29


@pytest.mark.parametrize(("weights", "mapped"), [(1, 43), (1000, 113)])
def test_a_wrong_plan_does_not_make_a_measurement(weights, mapped):
    """It decides within what the log leaves open, not beyond."""
    assert kept(measured(100, 70, mapped=113), weights)[0] == mapped


def test_pages_that_are_not_there_are_not_taken_off():
    """While it loads, and once the system took them back."""
    assert kept(measured(100, 70, mapped=20)) == (20, 229, 197)
    assert kept(measured(100, 70, mapped=35))[0] == 30


@pytest.mark.parametrize(("stretch", "copied"), [(100, 0), (0, 70), (0, 0)])
def test_without_a_copy_of_mapped_weights_all_of_it_is_needed(stretch, copied):
    """Nothing was repacked, it was read and not mapped, or the engine says nothing."""
    memory = measured(stretch, copied, mapped=113)
    assert memory.needed(50 * MIB) is memory
