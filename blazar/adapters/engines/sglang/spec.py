"""SGLang's server as a record. It starts as `python -m sglang.launch_server`: those words come with the installed build."""

from blazar.adapters.engines.sglang.flags import SGLANG_FLAGS
from blazar.adapters.engines.sglang.reserved import RESERVED
from blazar.adapters.engines.sglang.resolve import resolve
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.kinds import EngineKind

SGLANG = EngineSpec(
    kind=EngineKind.SGLANG,
    flags=SGLANG_FLAGS,
    server="python",
    load_cap_secs=600.0,  # the first load compiles kernels (D34)
    health=b"/health",  # 503 until weights are in and the warming request is answered
    key_file_flag="",  # a key by argv alone, which every process could read (D21)
    port_taken="address already in use",
    scrubbed=(
        "SGLANG_",
    ),  # they switch kernels, caches and downloads behind the settings' back; engine_env may name them
    reserved=RESERVED,
    joins=True,  # argparse
    resolve=resolve,
)
