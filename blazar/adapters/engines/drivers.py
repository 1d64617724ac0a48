"""Every engine kind that can be driven, and the variables that none of them may inherit. A kind is entered here and nowhere else."""

from typing import Final

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.mistralrs.spec import MISTRALRS
from blazar.adapters.engines.mlx.spec import MLX
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.adapters.engines.sglang.spec import SGLANG
from blazar.adapters.engines.spec import EngineSpec
from blazar.application.ports.engines import Program
from blazar.domain.kinds import EngineKind

SPECS: Final[dict[EngineKind, EngineSpec]] = {spec.kind: spec for spec in (LLAMACPP, MISTRALRS, SGLANG, SDCPP, MLX)}

SCRUBBED: Final = tuple(dict.fromkeys(prefix for spec in SPECS.values() for prefix in spec.scrubbed))
"""For questions to a build (its flags, its devices): what one kind does not read does no harm where it is missing."""

PROGRAMS: Final = {spec.kind: Program(spec.server, spec.starts) for spec in SPECS.values()}
"""What is looked for in an archive of a kind, and started."""
