"""What everybody who asks builds for their devices must do, on paper and with real programs."""

import sys

import pytest

from blazar.adapters.engines.devices import FLAG, EngineDevices
from blazar.application.ports.hardware import ListedDevice
from tests.fakes.engines import an_engine
from tests.fakes.hardware import FakeDeviceLister
from tests.support.supervision import KnowsAll

MIB = 2**20
CARD = ListedDevice("CUDA0", "A card", 24 * MIB, 23 * MIB)


def on_paper(_):
    return FakeDeviceLister([CARD]), FakeDeviceLister(None), an_engine()


def with_programs(folder):
    program = folder / "engine"
    text = "Available devices:\\n  CUDA0: A card (24 MiB, 23 MiB free)"
    program.write_text(f"#!{sys.executable} -S\nprint('{text}')\n")
    program.chmod(0o755)
    return EngineDevices(KnowsAll({FLAG})), EngineDevices(KnowsAll({"--model"})), an_engine(server_path=str(program))


@pytest.fixture(params=[on_paper, with_programs])
def case(request, tmp_path):
    return request.param(tmp_path)


def test_devices_are_listed(case):
    """In bytes; asking again, also after forgetting, gives the same machine."""
    lister, _, engine = case
    assert lister.list_devices(engine) == (CARD,)
    lister.invalidate()
    assert lister.list_devices(engine) == (CARD,)


def test_no_answer_is_not_no_device(case):
    """None, where a build cannot be asked."""
    _, mute, engine = case
    assert mute.list_devices(engine) is None
