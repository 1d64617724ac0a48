"""What of a verdict the child is told."""

import pytest

from blazar.application.supervise.verdict_flags import env_for, flags_for
from blazar.domain.fit.machine import Device, Machine, imagined
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from tests.fakes.hardware import GIB
from tests.fakes.weights import heavy_shape, some_shape
from tests.support.supervision import a_config

TWO = imagined((24, 24), 64)
NONE = imagined((), 64)


def settings_of(**said):
    return a_config({"m": said}).settings_for("m")


def told(machine, weights=0, asked=None, **said):
    """The flags and variables of a load of so many GiB."""
    shape = heavy_shape(weights * GIB, 4096) if weights else some_shape(trained=16384)
    verdict = plan(shape, machine, asked or Settings(ctx=4096, kv_unified=True, parallel=1))
    return flags_for(verdict, settings_of(**said), machine), env_for(verdict, machine)


def test_a_machine_without_accelerators_is_told_nothing_needless():
    """Window and slots, as ever; no layers, no devices, no variables, no type that is the engine's own."""
    flags, env = told(NONE)
    quiet = {"cache_type_k": "", "cache_type_v": ""}
    assert flags == {"ctx_size": 4096, "slots": 1, "kv_unified": False, **quiet}
    assert env == {}


def test_slots_that_the_planner_chose_bring_their_windows_along():
    """One cache for all of them, of which one request takes no more than its own window."""
    flags, _ = told(NONE, asked=Settings(ctx=4096, kv_unified=True))
    assert (flags["slots"], flags["ctx_size"], flags["kv_unified"]) == (4, 16384, True)
    assert flags["kv_unified_per_slot"] == 4096
    apart, _ = told(NONE, asked=Settings(ctx=4096), kv_unified=False)
    assert (apart["ctx_size"], apart["kv_unified"]) == (16384, False)
    assert "kv_unified_per_slot" not in apart


def test_one_card_is_named_and_nothing_is_hidden():
    """Layers and device by the engine's names; CUDA numbers as the census does."""
    flags, env = told(TWO, 10)
    assert (flags["gpu_layers"], flags["devices"], flags["tensor_split"]) == (3, ("CUDA0",), "")
    assert env == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def test_no_card_is_set_up_for_a_load_without_layers_on_one():
    """Told no device, the engine would take all of them for prompts."""
    full = Machine(64 * GIB, 64 * GIB, (Device("CUDA0", "cuda", 24 * GIB, 0),))
    flags, env = told(full, 10, Settings(ctx=4096, parallel=1))
    assert (flags["gpu_layers"], flags["devices"], flags["tensor_split"], env) == (0, ("none",), "", {})


def test_two_cards_share_and_are_pinned():
    """A split that hits the planned layers, and no other card in sight."""
    flags, env = told(TWO, 30)
    assert flags["devices"] == ("CUDA0", "CUDA1")
    assert sum(map(float, flags["tensor_split"].split(","))) == flags["gpu_layers"] == 3
    assert env == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0,1"}


def test_odd_in_doubt_the_environment_stays_untouched():
    """Cards of two makers, and cards that are not CUDA's at all: the engine's own mapping holds (setup document)."""
    mixed = Machine(
        64 * GIB,
        64 * GIB,
        (Device("CUDA0", "cuda", 24 * GIB, 24 * GIB), Device("ROCm0", "rocm", 24 * GIB, 24 * GIB)),
    )
    assert told(mixed, 30)[1] == {}
    radeon = Machine(64 * GIB, 64 * GIB, (Device("ROCm0", "rocm", 24 * GIB, 24 * GIB),))
    flags, env = told(radeon, 10)
    assert (flags["devices"], env) == (("ROCm0",), {})


@pytest.mark.parametrize("zeros", ["0", "0,0", "0.0,0", "0,0,7"])
def test_ratios_of_nothing_leave_the_split_to_the_plan(zeros):
    """The engine would split by what is free then, which is not what was planned."""
    for weights in (10, 30):
        assert told(TWO, weights, tensor_split=zeros) == told(TWO, weights)


@pytest.mark.parametrize(
    ("said", "devices", "split"),
    [
        ({"tensor_split": "3,1"}, ("CUDA0", "CUDA1"), "3,1"),
        ({"split_mode": "row"}, None, None),
        ({"main_gpu": 1}, None, None),
        ({"devices": ["CUDA1", "CUDA0"]}, ("CUDA1", "CUDA0"), "1,2"),
    ],
)
def test_what_a_person_placed_stays(said, devices, split):
    """Shares and lists as written; beside a main GPU or rows nothing of ours is said."""
    flags, _ = told(TWO, 30, **said)
    assert (flags.get("devices"), flags.get("tensor_split")) == (devices, split)


def test_types_by_the_ladder_are_said_and_configured_ones_kept():
    """What is open and quantised must be told; what is configured is told as it is."""
    narrow = imagined((), 1.25)
    flags, _ = told(narrow, 0, Settings(ctx=400_000, parallel=1))
    assert flags["cache_type_k"] in {"q8_0", "q4_0"}
    assert told(NONE, cache_type="f16")[0]["cache_type_k"] == "f16"
