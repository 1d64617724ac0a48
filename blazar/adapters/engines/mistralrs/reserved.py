"""Words that a person may not add to `mistralrs serve`: what Blazar says itself, and what would go around it.

Every spelling stands here. Flags that merely tune the model (files of it included: --lora, --topology, --tokenizer) are free.
"""

# Where the child listens and who may talk to it: the gateway alone knows.
_DOOR = "-p --port --host --mcp-port --no-ui"
# What it serves: routing, the identity check and the catalog are about exactly these files.
_MODEL = "-m --model-id -f --quantized-file --format --quant --from-uqff"
# Tools, programs and files that the server would open for its clients.
_EXTRAS = """
--mcp-config --tool-dispatch-url --max-tool-rounds --agent --agentic --agent-permission --code-exec-permission
--enable-search --search-embedding-model --enable-code-execution --enable-shell --code-exec-python --code-exec-timeout
--code-exec-workdir --shell-path --shell-timeout --shell-workdir --skills-dir --sandbox --sandbox-profile --sandbox-network
--sb-max-memory-mb --sb-max-cpu-secs --sb-max-procs --token-source
"""
# It would write every request and answer into a file.
_LOG = "-l --log"
# Words that print something and end the process.
_QUESTIONS = "-h --help -V --version"

_GROUPS = {"door": _DOOR, "model": _MODEL, "extras": _EXTRAS, "log": _LOG, "questions": _QUESTIONS}
BECAUSE = {flag: why for why, flags in _GROUPS.items() for flag in flags.split()}
"""Each with the reason that a person is told."""
RESERVED = frozenset(BECAUSE)
"""Every spelling."""
