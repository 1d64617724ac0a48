"""Words that a person may not add to sd-server's command line: what Blazar says itself, and what would go around it.

Files beside the model (--control-net, --ip-adapter with its --clip_vision, --tae, …) are free: they are what extra words are
for.
"""

# Where it listens, and a page that it would serve.
_DOOR = "-l --listen-ip --listen-port --serve-html-path"
# What it serves: routing and the catalog are about exactly this component set.
_MODEL = """
-m --model --diffusion-model --vae --clip_l --clip-l --clip_g --clip-g --t5xxl
--llm --qwen2vl --llm_vision --llm-vision --qwen2vl_vision --qwen2vl-vision
"""
# Counted by the planner; the setting is `threads`.
_PROCESSORS = "-t --threads"
# With it the log holds every prompt.
_LOG = "-v --verbose"
# Words that print something and end the process.
_QUESTIONS = "-h --help --version --list-devices"

_GROUPS = {"door": _DOOR, "model": _MODEL, "threads": _PROCESSORS, "log": _LOG, "questions": _QUESTIONS}
BECAUSE = {flag: why for why, flags in _GROUPS.items() for flag in flags.split()}
"""Each with the reason that a person is told."""
RESERVED = frozenset(BECAUSE)
"""Every spelling."""
