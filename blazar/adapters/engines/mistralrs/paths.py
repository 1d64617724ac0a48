"""Words of mistral.rs's command line that name files which it reads (0.9.2). Pure data.

Adapters are not listed: what names one may be a repository as well.
"""

from blazar.domain.told_paths import whole

_WHOLE = """
--chat-template -j --jinja-explicit --imatrix --calibration-file --topology -t --tokenizer --mmproj --matformer-config-path
--legacy-lora-order --xlora-order
"""

PATHS = dict.fromkeys(_WHOLE.split(), whole)
