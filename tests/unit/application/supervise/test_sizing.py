"""What is asked before a plan is made."""

from dataclasses import replace

import pytest

from blazar.application.ports.children import Measured
from blazar.application.ports.hardware import ListedDevice
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.sizing import Sizing
from blazar.domain.errors import BadShape
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.verdict import Outcome
from blazar.domain.kinds import EngineKind, Weights
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.fakes.hardware import GIB, FakeCensus, FakeDeviceLister, FakeDeviceUse, a_gpu, a_machine
from tests.fakes.weights import heavy_shape
from tests.support.supervision import AnyWeightFiles

ASKED = Settings(ctx=4096, parallel=1, kv_unified=True)
CARD = ListedDevice("Vulkan0", "card", 24 * GIB, 20 * GIB)


def a_sizing(files=None, gpus=(), lister=None, use=None):
    return Sizing(files or AnyWeightFiles(), FakeCensus(a_machine(gpus=gpus)), lister, use)


def test_gguf_on_llamacpp_is_counted():
    """Shape, machine and settings come to a verdict."""
    sized = a_sizing().sized(a_model("m"), an_engine(), ASKED)
    assert sized.verdict.fits
    assert sized.verdict.ctx == 4096


@pytest.mark.parametrize(
    ("model", "engine"),
    [
        (a_model("m", weights=Weights.SAFETENSORS), an_engine()),
        (a_model("m"), an_engine(kind=EngineKind.MISTRALRS)),
    ],
)
def test_nothing_else_is(model, engine):
    """Other weights and other engines have no verdict: the guard alone speaks."""
    assert a_sizing().sized(model, engine, ASKED) is None


def test_a_header_that_describes_no_model_is_no_reason_to_refuse():
    """The engine says better what is wrong with a file."""

    class Odd(AnyWeightFiles):
        def shape(self, files):
            raise BadShape("llama.block_count", "is -1")

    assert a_sizing(Odd()).sized(a_model("m"), an_engine(), ASKED) is None


def test_the_engine_s_own_list_decides_where_there_is_one():
    """A build for the processor sees no card, whatever the machine has; one that does not answer leaves it to the census."""
    card = a_gpu()._replace(kind="cuda")
    names = [
        [device.name for device in a_sizing(gpus=(card,), lister=lister).machine(an_engine()).devices]
        for lister in (None, FakeDeviceLister(None), FakeDeviceLister(()), FakeDeviceLister((CARD,)))
    ]
    assert names == [["CUDA0"], ["CUDA0"], [], ["Vulkan0"]]


def test_an_open_window_gives_way_and_a_chosen_one_does_not():
    """The default is no promise (case F14)."""
    files = AnyWeightFiles(1_000_000)
    files.every = replace(files.every, tensors=heavy_shape(GIB).tensors)
    wide = replace(ASKED, ctx=1_000_000)
    sizing = a_sizing(files)
    sizing.hardware.machine = a_machine(ram=2 * GIB, available=2 * GIB)
    assert sizing.sized(a_model("m"), an_engine(), wide).verdict.outcome is Outcome.NEVER
    found = sizing.sized(a_model("m"), an_engine(), wide, cap=1_000_000)
    assert found.verdict.fits
    assert 4096 <= found.verdict.ctx < 1_000_000


def test_drivers_are_asked_about_processes_that_there_are():
    """What a child holds by the driver's count; a promise without a process has no pid to ask for."""
    use = FakeDeviceUse({7: {"CUDA0": 5 * GIB}})
    tenant = Tenant("x", 7, 1.0, False, False, Measured(), (), object())
    usage = a_sizing(use=use).usage([tenant, tenant._replace(key="y", pid=0)])
    assert [dict(one.devices) for one in usage.running] == [{"CUDA0": 5 * GIB}, {}]


def test_forgetting_reaches_census_and_lists():
    """Lists start a process, so that they can be spared."""
    lister = FakeDeviceLister((CARD,))
    sizing = a_sizing(lister=lister)
    sizing.forget(lists=False)
    assert (sizing.hardware.invalidations, lister.invalidations) == (1, 0)
    sizing.forget()
    assert (sizing.hardware.invalidations, lister.invalidations) == (2, 1)
