"""llama.cpp's llama-server as a record."""

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.memory_lines import MemoryLines
from blazar.adapters.engines.llamacpp.paths import PATHS
from blazar.adapters.engines.llamacpp.reserved import BECAUSE, REPEATS, RESERVED
from blazar.adapters.engines.llamacpp.resolve import resolve
from blazar.adapters.engines.llamacpp.speculation import drafts
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.kinds import EngineKind

LLAMACPP = EngineSpec(
    kind=EngineKind.LLAMACPP,
    flags=LLAMACPP_FLAGS,
    server="llama-server",
    load_cap_secs=180.0,  # a precompiled engine; nothing is compiled at load (D34)
    health=b"/health",  # answers before the model is in, with 503 until it is
    sockets=True,
    port_taken="couldn't bind HTTP server socket",
    reserved=RESERVED,
    workers_flag="--rpc",
    paths=PATHS,
    because=BECAUSE,
    repeats=REPEATS,
    memory_log=MemoryLines,
    resolve=resolve,
    drafts=drafts,
    scrubbed=("LLAMA_ARG_", "LLAMA_API_KEY"),  # every flag has an environment twin that would win silently
)
