"""mlx-lm's server as a record. It starts as `python -m mlx_lm server`: those words come with the installed build.

ODD: mlx-lm knows no alias. /v1/models lists the resolved folder of the model, and a request that names anything but that folder or
`default_model` makes it look for another model; one without `max_tokens` is cut at 512.
"""

from blazar.adapters.engines.mlx.flags import MLX_FLAGS
from blazar.adapters.engines.mlx.paths import PATHS
from blazar.adapters.engines.mlx.reserved import BECAUSE, RESERVED
from blazar.adapters.engines.mlx.resolve import resolve
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.child_metrics import Metrics
from blazar.domain.kinds import EngineKind, Task
from blazar.domain.manners import Manners

MANNERS = Manners(
    name="mlx-lm",
    tasks=frozenset({Task.CHAT}),
    routes=frozenset(),
    asked_as="default_model",
    listed_as="{folder}",
    forms=frozenset(),  # it passes over all of them without a word
    # Other models, from any folder or from a hub, that a request could make it load.
    strips=frozenset({"adapters", "draft_model", "num_draft_tokens", "role_mapping"}),
    bounded=True,
    finishes=True,  # that a client has left it learns by writing, and a whole answer is written last (0.32.2, mlx_lm/server.py)
    thought="reasoning",
)

# A name that is not its own would make it load another model; one token is what it takes to know that it computes.
PROOF = b'{"model":"default_model","messages":[{"role":"user","content":"."}],"max_tokens":1}'

MLX = EngineSpec(
    kind=EngineKind.MLX,
    flags=MLX_FLAGS,
    server="mlx_lm.server",
    load_cap_secs=600.0,  # kernels are compiled at the first start, as in the other venv lane (D34)
    health=b"/health",  # ODD: /health answers 200 while the model loads, and 503 for good where that failed; the process stays
    failed=503,
    proof=PROOF,
    key_file_flag="",  # takes none (D21)
    port_taken="Address already in use",
    # A hub's address, token and cache; membership of a cluster; another hub altogether.
    scrubbed=("HF_HUB_", "HF_ENDPOINT", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MLXLM_", "MLX_HOSTFILE", "MLX_RANK"),
    reserved=RESERVED,
    paths=PATHS,
    because=BECAUSE,
    joins=True,  # argparse
    resolve=resolve,
    manners=MANNERS,
    metrics=Metrics(),  # it has no such route (0.32.2, mlx_lm/server.py)
)
