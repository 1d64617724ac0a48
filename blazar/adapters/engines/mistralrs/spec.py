"""mistral.rs's server as a record. It starts as `mistralrs serve`: the second word comes with the installed build.

ODD: it knows no alias. /v1/models lists `default` first and then the folder of the model, and a request that names neither is
refused.
"""

from blazar.adapters.engines.mistralrs.flags import MISTRALRS_FLAGS
from blazar.adapters.engines.mistralrs.reserved import RESERVED
from blazar.adapters.engines.mistralrs.resolve import resolve
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.kinds import EngineKind

MISTRALRS = EngineSpec(
    kind=EngineKind.MISTRALRS,
    flags=MISTRALRS_FLAGS,
    server="mistralrs",
    load_cap_secs=180.0,  # a precompiled engine (D34); in-process quantising counts towards it
    health=b"/health",  # always 200, but it listens only after the model is in
    key_file_flag="",  # it takes no key at all (D21)
    port_taken="Address already in use",
    # The first would give it tools, the second change how it computes; what a hub knows us by.
    scrubbed=("MCP_CONFIG_PATH", "MISTRALRS_", "HF_ENDPOINT", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    reserved=RESERVED,
    joins=True,  # clap
    resolve=resolve,
)
