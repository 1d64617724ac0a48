"""mistral.rs's server as a record. It starts as `mistralrs serve`.

It knows no alias: /v1/models lists `default` first and then the folder of the model, and a request that names neither is
refused.
"""

from blazar.adapters.engines.mistralrs.flags import MISTRALRS_FLAGS
from blazar.adapters.engines.mistralrs.paths import PATHS
from blazar.adapters.engines.mistralrs.reserved import BECAUSE, RESERVED
from blazar.adapters.engines.mistralrs.resolve import resolve
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.child_metrics import Measure, Metrics
from blazar.domain.grammars import GRAMMARS
from blazar.domain.kinds import EngineKind
from blazar.domain.manners import Manners

# Fields by which a request would have it run programs, open files or take another adapter: nobody here has chosen that.
_STRIPS = """
adapter agent_permission code_execution_permission enable_shell files max_tool_rounds session_id shell_skill_references
"""

MANNERS = Manners(
    name="mistral.rs",
    routes=frozenset(),
    asked_as="default",
    listed_as="{folder}",
    forms=frozenset({"response_format"}),  # ODD: its `grammar` is an object, and a text in that place is an error
    strips=frozenset(_STRIPS.split()),
    gathers=True,
    grammar=GRAMMARS[EngineKind.MISTRALRS],
)

# 0.9.2, docs/…/guides/deploy/observability.mdx and mistralrs-core/src/engine/logger.rs: on unless --disable-metrics is said. Its one
# counter of tokens adds up those of prompts and of answers, and its cache is counted in prompts that hit and not in tokens.
METRICS = Metrics(
    path=b"/metrics",
    running=Measure(("mistralrs_sequences_running",)),
    waiting=Measure(("mistralrs_sequences_waiting",)),
    cache_use=Measure(("mistralrs_kv_cache_blocks_used",), per=("mistralrs_kv_cache_blocks_total",)),
    drafted_tokens=Measure(("mistralrs_speculative_draft_tokens_proposed_total",)),
    accepted_tokens=Measure(("mistralrs_speculative_draft_tokens_accepted_total",)),
)

MISTRALRS = EngineSpec(
    kind=EngineKind.MISTRALRS,
    flags=MISTRALRS_FLAGS,
    server="mistralrs",
    starts=("serve",),
    versioned=r"^mistralrs\S*[ \t]+v?(\S.*)",  # clap: the program's name and the number
    load_cap_secs=180.0,  # a precompiled engine (D34); in-process quantising counts towards it
    health=b"/health",  # always 200, but it listens only after the model is in
    key_file_flag="",  # it takes no key at all (D21)
    port_taken="Address already in use",
    # The first would give it tools, the second change how it computes; what a hub knows us by.
    scrubbed=("MCP_CONFIG_PATH", "MISTRALRS_", "HF_ENDPOINT", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    reserved=RESERVED,
    paths=PATHS,
    because=BECAUSE,
    repeats=frozenset({"--lora"}),
    joins=True,  # clap
    resolve=resolve,
    manners=MANNERS,
    metrics=METRICS,
)
