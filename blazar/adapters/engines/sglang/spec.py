"""SGLang's server as a record. It starts as `python -m sglang.launch_server`: those words come with the installed build."""

from blazar.adapters.engines.sglang.flags import SGLANG_FLAGS
from blazar.adapters.engines.sglang.paths import PATHS
from blazar.adapters.engines.sglang.reserved import BECAUSE, RESERVED
from blazar.adapters.engines.sglang.resolve import resolve
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.child_metrics import Measure, Metrics
from blazar.domain.grammars import GRAMMARS
from blazar.domain.kinds import EngineKind
from blazar.domain.manners import Manners

# Fields by which a request would have it load an adapter, run code of its own, or wait for another machine.
_STRIPS = "lora_path custom_logit_processor bootstrap_host bootstrap_port bootstrap_room rid session_params"

MANNERS = Manners(
    name="SGLang",
    routes=frozenset(),
    forms=frozenset({"response_format"}),
    strips=frozenset(_STRIPS.split()),
    gathers=True,
    grammar=GRAMMARS[EngineKind.SGLANG],
)

# 0.5.23, srt/observability/metrics_collector.py. Tokens of prompts include cached ones, which are counted by where they lay; every
# data-parallel rank has gauges of its own, and the fullest cache is the one that requests wait for.
METRICS = Metrics(
    path=b"/metrics",
    running=Measure(("sglang:num_running_reqs",)),
    waiting=Measure(("sglang:num_queue_reqs",)),
    cache_use=Measure(("sglang:token_usage",), most=True),
    prompt_tokens=Measure(("sglang:prompt_tokens_total",)),
    cached_tokens=Measure(("sglang:cached_tokens_total",)),
    generated_tokens=Measure(("sglang:generation_tokens_total",)),
    generated_rate=Measure(("sglang:gen_throughput",)),
    acceptance=Measure(("sglang:spec_accept_rate",), most=True),
)

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
    paths=PATHS,
    because=BECAUSE,
    joins=True,  # argparse
    resolve=resolve,
    manners=MANNERS,
    metrics=METRICS,
)
