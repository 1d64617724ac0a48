"""stable-diffusion.cpp's sd-server as a record.

ODD: sd-server knows no alias (its /v1/models lists `sd-cpp-local` whatever it serves), answers every origin, and shares a port that
another sd-server holds instead of failing: there is nothing that it prints then.
"""

from blazar.adapters.engines.sdcpp.flags import EXTRA_KEYS, SDCPP_FLAGS
from blazar.adapters.engines.sdcpp.paths import PATHS
from blazar.adapters.engines.sdcpp.reserved import BECAUSE, RESERVED
from blazar.adapters.engines.sdcpp.resolve import resolve
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.child_metrics import Metrics
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.manners import Manners

MANNERS = Manners(
    name="sd-server",
    tasks=frozenset({Task.IMAGE}),
    routes=frozenset(),
    asked_as="sd-cpp-local",
    listed_as="sd-cpp-local",
    forms=frozenset(),
    draws=True,
    finishes=True,  # its handler waits for the picture and asks nobody whether the client is there (0.4.7, examples/server)
    slotted=False,  # one lock around its one context (0.4.7, examples/server): it has no flag for more
    tagged="sd_cpp_extra_args",
)

SDCPP = EngineSpec(
    kind=EngineKind.SDCPP,
    flags=SDCPP_FLAGS,
    server="sd-server",
    versioned=r"^stable-diffusion\.cpp version[ \t]+(\S[^,\n]*)",
    load_cap_secs=180.0,  # a precompiled engine (D34)
    health=b"/v1/models",  # ODD: /health is 404; it binds only after the load, so that until then nobody answers
    models=b"/v1/models",
    alone=True,  # ODD: it listens with SO_REUSEPORT: two of them share a port, and each gets half of the requests
    host_flag="--listen-ip",
    port_flag="--listen-port",
    key_file_flag="",  # takes none (D21)
    scrubbed=("SD_VK_DEVICE", "SD_MMAP_FLAGS"),  # a device and a way of loading that nobody asked for
    reserved=RESERVED,
    workers_flag="--rpc-servers",
    paths=PATHS,
    because=BECAUSE,
    repeats=frozenset({"--model-args", "-r", "--ref-image"}),  # it adds them up
    resolve=resolve,
    manners=MANNERS,
    metrics=Metrics(),  # it has no such route (0.4.7, examples/server)
    extra_keys=EXTRA_KEYS,
)
