"""llama.cpp's llama-server as a record."""

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.memory_lines import MemoryLines
from blazar.adapters.engines.llamacpp.paths import PATHS
from blazar.adapters.engines.llamacpp.reserved import BECAUSE, REPEATS, RESERVED
from blazar.adapters.engines.llamacpp.resolve import resolve
from blazar.adapters.engines.llamacpp.speculation import drafts, guesses
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.child_metrics import Measure, Metrics
from blazar.domain.kinds import EngineKind

# b11434, tools/server/server-task.cpp: `prompt_tokens_total` leaves out what was cached, and nothing tells how full the cache is.
METRICS = Metrics(
    path=b"/metrics",
    running=Measure(("llamacpp:requests_processing",)),
    waiting=Measure(("llamacpp:requests_deferred",)),
    prompt_tokens=Measure(("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total")),
    cached_tokens=Measure(("llamacpp:prompt_tokens_cached_total",)),
    generated_tokens=Measure(("llamacpp:tokens_predicted_total",)),
    prompt_rate=Measure(("llamacpp:prompt_tokens_seconds",)),
    generated_rate=Measure(("llamacpp:predicted_tokens_seconds",)),
    drafted_tokens=Measure(("llamacpp:spec_decode_num_draft_tokens_total",)),
    accepted_tokens=Measure(("llamacpp:spec_decode_num_accepted_tokens_total",)),
)

LLAMACPP = EngineSpec(
    kind=EngineKind.LLAMACPP,
    flags=LLAMACPP_FLAGS,
    server="llama-server",
    load_cap_secs=180.0,  # a precompiled engine; nothing is compiled at load (D34)
    health=b"/health",  # answers before the model is in, with 503 until it is
    props=b"/props",
    sockets=True,
    port_taken="couldn't bind HTTP server socket",
    reserved=RESERVED,
    workers_flag="--rpc",
    paths=PATHS,
    because=BECAUSE,
    repeats=REPEATS,
    memory_log=MemoryLines,
    sleep_words=("server is entering sleeping state", "server is exiting sleeping state"),  # server-context.cpp
    metrics=METRICS,
    resolve=resolve,
    drafts=drafts,
    guesses=guesses,
    scrubbed=("LLAMA_ARG_", "LLAMA_API_KEY"),  # every flag has an environment twin that would win silently
)
