"""Cards by nvidia-smi, on recorded text (`nvidia-smi --help-query-gpu` names the columns)."""

import pytest

from blazar.adapters.hardware.commands import Said
from blazar.adapters.hardware.probing import ProbeFailed
from blazar.adapters.hardware.smi import COLUMNS, YOUNGER, read_smi
from blazar.domain.records import Gpu

GIB, MIB = 2**30, 2**20


class Smi:
    """The program: the answers, one after another; notes what it was asked."""

    def __init__(self, *answers: Said) -> None:
        self.answers, self.asked = list(answers), []

    def __call__(self, words):
        self.asked.append(list(words))
        return self.answers.pop(0)


def test_cards_in_bus_order():
    """MiB become bytes, addresses are spelled as sysfs does, a comma in a name is the name's."""
    smi = Smi(
        Said(
            0,
            "0, 00000000:41:00.0, NVIDIA H100, 80GB, 81559, 80994, 550.54.15, 9.0, Disabled\n"
            "1, 00000000:01:00.0, NVIDIA GeForce RTX 4090, 24564, 23592, 550.54.15, 8.9, [N/A]\n\n",
        )
    )
    report = read_smi(smi)
    assert report.gpus == (
        Gpu(
            0,
            "NVIDIA GeForce RTX 4090",
            "nvidia",
            24564 * MIB,
            23592 * MIB,
            "550.54.15",
            "cuda",
            "0000:01:00.0",
            "8.9",
        ),
        Gpu(1, "NVIDIA H100, 80GB", "nvidia", 81559 * MIB, 80994 * MIB, "550.54.15", "cuda", "0000:41:00.0", "9.0"),
    )
    assert report.addresses == {"0000:01:00.0", "0000:41:00.0"}
    query = ",".join(COLUMNS + YOUNGER)
    assert smi.asked == [["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]]


@pytest.mark.parametrize(
    ("row", "total", "free", "shared", "capability"),
    [
        ("0, 0000000F:01:00.0, NVIDIA GB10, [N/A], [N/A], 580.1, 12.1, [N/A]", 0, 0, True, "12.1"),
        ("0, 00000000:01:00.0, Tegra, [Not Supported], [Not Supported], 540, [Not Supported], [N/A]", 0, 0, True, ""),
        ("0, 00000000:01:00.0, A, [GPU is lost], [Unknown Error], 540, 8.6, [N/A]", 0, 0, False, "8.6"),
        ("0, 00000000:01:00.0, A, 100, [N/A], 540, 8.6, [N/A]", 100 * MIB, 0, False, "8.6"),
        ("0, 00000000:01:00.0, A, 100, 200, 540, 8.6, Disabled", 100 * MIB, 100 * MIB, False, "8.6"),
        ("0, 00000000:01:00.0, A100, 40960, 40000, 540, 8.0, Enabled", 0, 0, False, "8.0"),
    ],
)
def test_words_for_no_figure(row, total, free, shared, capability):
    """They count as none; so does the memory of a card that is cut into slices, which is not to be had as one."""
    (gpu,) = read_smi(Smi(Said(0, row + "\n"))).gpus
    assert (gpu.total, gpu.free, gpu.shared, gpu.compute_capability) == (total, free, shared, capability)


def test_an_older_driver_is_asked_for_less():
    """It refuses the whole query for a column that it does not know."""
    smi = Smi(
        Said(2, 'Field "compute_cap" is not a valid field to query.\n'),
        Said(0, "0, 00000000:01:00.0, NVIDIA GeForce GTX 1080, 8119, 7000, 470.57.02\n"),
    )
    (gpu,) = read_smi(smi).gpus
    assert (gpu.name, gpu.total, gpu.driver, gpu.compute_capability) == (
        "NVIDIA GeForce GTX 1080",
        8119 * MIB,
        "470.57.02",
        "",
    )
    assert smi.asked[1][1] == f"--query-gpu={','.join(COLUMNS)}"


def test_no_card_is_no_failure():
    """A machine with the driver's programs and no card."""
    assert read_smi(Smi(Said(6, "No devices were found\n"))).gpus == ()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said(9, "NVIDIA-SMI has failed because it couldn't communicate\nwith the driver\n"), "NVIDIA-SMI has failed"),
        (Said(255, ""), "it ended with status 255"),
        (Said(-11, "\n"), "it was ended by signal 11"),
    ],
)
def test_a_failure_says_why(said, why):
    """By its own first line, else by how it ended."""
    with pytest.raises(ProbeFailed, match=why):
        read_smi(Smi(said))


@pytest.mark.parametrize(
    "text", ["", "\n", "Warning: infoROM is corrupted at gpu 0000:01:00.0\n", "0, 1\n", "a,b,c,d,e,f,g,h\n"]
)
def test_what_is_no_row_is_skipped(text):
    """Warnings and halves of rows are no cards."""
    assert read_smi(Smi(Said(0, text))).gpus == ()
