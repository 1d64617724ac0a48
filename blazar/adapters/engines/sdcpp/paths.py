"""Words of sd-server's command line that name files and folders which it reads: all parts of a model, and what a person adds. Pure data."""

from blazar.adapters.engines.sdcpp.flags import SDCPP_FLAGS
from blazar.adapters.engines.sdcpp.resolve import PARTS
from blazar.domain.told_paths import whole

_MORE = "-m --pm-id-images-dir --pm-id-embed-path"

PATHS = dict.fromkeys((*(flag.name for flag in SDCPP_FLAGS if flag.key in PARTS), *_MORE.split()), whole)
