"""What is asked before a plan is made."""

import pytest

from blazar.application.ports.children import Measured
from blazar.application.ports.hardware import ListedDevice
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Sized
from blazar.domain import teaching
from blazar.domain.errors import BadShape
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from blazar.domain.kinds import EngineKind, Weights
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.fakes.hardware import GIB, FakeCensus, FakeDeviceLister, FakeDeviceUse, a_gpu, a_machine
from tests.fakes.weights import heavy_shape
from tests.support.supervision import AnyWeightFiles, a_config

ASKED = Settings(ctx=4096, parallel=1, kv_unified=True)
CARD = ListedDevice("Vulkan0", "card", 24 * GIB, 20 * GIB)


def a_sizing(files=None, gpus=(), lister=None, use=None):
    return Sizing(files or AnyWeightFiles(), FakeCensus(a_machine(gpus=gpus)), lister, use)


def a_sized(sizing, asked, cap=0):
    """The plan of a load, with what it was made from."""
    shape, machine = sizing.shape(a_model("m"), an_engine()), sizing.machine(an_engine())
    return Sized(plan(shape, machine, asked, cap), asked, cap, shape, machine)


def test_gguf_on_llamacpp_is_counted():
    """By the shape that its files have."""
    files = AnyWeightFiles()
    assert a_sizing(files).shape(a_model("m"), an_engine()) is files.every


@pytest.mark.parametrize(
    ("kind", "window", "noted"),
    [
        (EngineKind.LLAMACPP, 8192, False),
        (EngineKind.SGLANG, 4096, True),
        (EngineKind.MISTRALRS, 4096, True),
        (EngineKind.MLX, 4096, True),
        (EngineKind.SDCPP, 4096, True),
    ],
)
def test_only_llamacpp_stretches_a_window(kind, window, noted):
    """Another engine would be told a window beyond the trained one, without the factor that makes it one; what is set and dropped is told."""
    settings = a_config({"m": {"ctx": 8192, "ctx_extend": 2.0}}).settings_for("m")
    found = a_sizing().prepare(settings, kind)
    assert found.window(4096).ctx == window
    assert (teaching.window_not_stretched(kind) in found.notes) is noted
    unstretched = a_config({"m": {"ctx": 8192}}).settings_for("m")
    assert a_sizing().prepare(unstretched, kind).notes == ()


@pytest.mark.parametrize(
    ("model", "engine"),
    [
        (a_model("m", weights=Weights.SAFETENSORS), an_engine()),
        (a_model("m"), an_engine(kind=EngineKind.MISTRALRS)),
    ],
)
def test_nothing_else_is(model, engine):
    """Other weights and other engines have no verdict: the guard alone speaks."""
    assert a_sizing().shape(model, engine) is None


def test_a_header_that_describes_no_model_is_no_reason_to_refuse():
    """The engine says better what is wrong with a file."""

    class Odd(AnyWeightFiles):
        def shape(self, files):
            raise BadShape("llama.block_count", "is -1")

    assert a_sizing(Odd()).shape(a_model("m"), an_engine()) is None


def test_the_engine_s_own_list_decides_where_there_is_one():
    """A build for the processor sees no card, whatever the machine has; one that does not answer leaves it to the census."""
    card = a_gpu()._replace(kind="cuda")
    names = [
        [device.name for device in a_sizing(gpus=(card,), lister=lister).machine(an_engine()).devices]
        for lister in (None, FakeDeviceLister(None), FakeDeviceLister(()), FakeDeviceLister((CARD,)))
    ]
    assert names == [["CUDA0"], ["CUDA0"], [], ["Vulkan0"]]


def test_workers_are_listed_beside_the_machine_s_own_devices():
    """And belong to what is planned with (`rpc_servers`)."""
    machine = a_sizing(lister=FakeDeviceLister((CARD,))).machine(an_engine(), workers="10.0.0.2:50052,10.0.0.3:50052")
    assert [(device.name, device.kind) for device in machine.pool] == [
        ("Vulkan0", "vulkan"),
        ("RPC0", "rpc"),
        ("RPC1", "rpc"),
    ]


def test_what_would_fit_if_others_left():
    """Their memory comes free, and no more than theirs."""
    files = AnyWeightFiles()
    files.every = heavy_shape(18 * GIB)
    card = a_gpu()._replace(kind="cuda", free=2 * GIB)
    sizing = Sizing(files, FakeCensus(a_machine(ram=4 * GIB, available=3 * GIB, gpus=(card,))))
    tenants = [
        Tenant(key, 0, 1.0, False, False, Measured(0, 0, (("CUDA0", size),)), (), object())
        for key, size in (("x", 20 * GIB), ("y", GIB))
    ]
    sized = a_sized(sizing, ASKED)
    sized = sized._replace(machine=sizing.machine(an_engine(), sizing.usage(tenants)))
    assert [sizing.fits_without(sized, {key}) for key in ("x", "y")] == [True, False]


def test_one_that_will_be_gone_takes_nothing():
    """Neither what it holds nor what it was promised: the dry run of a model that loads judges it as if it did not."""
    card = a_gpu()._replace(kind="cuda", free=4 * GIB)
    sizing = a_sizing(gpus=(card,))
    tenant = Tenant(
        "x", 0, None, False, False, Measured(0, GIB, (("CUDA0", 2 * GIB),)), (("CUDA0", 5 * GIB),), object()
    )
    free = [
        sizing.machine(an_engine(), sizing.usage([tenant], gone=gone)).devices[0].free // GIB for gone in ((), {"x"})
    ]
    assert free == [1, 6]
    assert sizing.machine(an_engine(), sizing.usage([tenant], gone={"x"})).running == ()


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


def test_whether_a_build_sees_its_workers():
    """By its own list; one that has none tells nothing, and neither does a daemon that asks for none."""
    seen = FakeDeviceLister((CARD,))
    assert a_sizing(lister=seen).sees_workers(an_engine(), "10.0.0.2:50052") is True
    assert a_sizing(lister=seen).sees_workers(an_engine(), "") is False
    assert a_sizing(lister=FakeDeviceLister(None)).sees_workers(an_engine(), "10.0.0.2:50052") is None
    assert a_sizing().sees_workers(an_engine(), "10.0.0.2:50052") is None
