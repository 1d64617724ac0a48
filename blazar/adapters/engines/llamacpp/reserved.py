"""Words that a person may not add to llama-server's command line: what Blazar says itself, and what would go around it.

Every spelling stands here, because a reserved flag must not slip through under its short name. Flags that merely tune the
model (files of it included: --mmproj, --lora, --control-vector) are free.
"""

# Where the child listens and who may talk to it: the gateway alone knows port and key (D21, case J21).
_DOOR = """
--host --port --reuse-port --api-prefix --api-key --api-key-file --ssl-key-file --ssl-cert-file
--cors-origins --cors-methods --cors-headers --cors-credentials --no-cors-credentials
"""
# What it serves: routing, the identity check and the catalog are about exactly this file under this name.
_MODEL = """
-m --model -a --alias --tags -mu --model-url -dr --docker-repo -hf -hfr --hf-repo -hff --hf-file -hft --hf-token
-mmu --mmproj-url --spec-draft-hf -hfd -hfrd --hf-repo-draft
--models-dir --models-preset --models-max --models-autoload --no-models-autoload
--embd-gemma-default --fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec
--fim-qwen-14b-spec --fim-qwen-30b-default --gpt-oss-20b-default --gpt-oss-120b-default
--vision-gemma-4b-default --vision-gemma-12b-default
"""
# Files and programs that the server would open for its clients (D14), and pages beside the API.
_EXTRAS = """
--path --media-path --slot-save-path --tools --tools-runtime --mcp-servers-config --mcp-servers-json
-ag --agent -no-ag --no-agent --ui --webui --no-ui --no-webui --ui-config --webui-config
--ui-config-file --webui-config-file --ui-mcp-proxy --webui-mcp-proxy --no-ui-mcp-proxy --no-webui-mcp-proxy
"""
# Its log is read for progress and for the last words of one that died; prompts must not be written anywhere.
_LOG = "--log-disable --log-file --log-jsonl --no-log-jsonl --log-prompts-dir"
# Words that print something and end the process.
_QUESTIONS = "-h --help --usage --version --license -cl --cache-list --completion-bash --list-devices"

_GROUPS = {"door": _DOOR, "model": _MODEL, "extras": _EXTRAS, "log": _LOG, "questions": _QUESTIONS}
BECAUSE = {flag: why for why, flags in _GROUPS.items() for flag in flags.split()}
"""Each with the reason that a person is told."""
RESERVED = frozenset(BECAUSE)
"""Every spelling."""

_LISTS = """
-r --reverse-prompt --dry-sequence-breaker -l --logit-bias --override-kv --lora --lora-scaled --control-vector
--control-vector-scaled -ot --override-tensor -cmoe --cpu-moe -ncmoe --n-cpu-moe -ncffn --n-cpu-ffn --spec-type --mtp --dflash
--eagle3 --spec-default -otd --override-tensor-draft --spec-draft-override-tensor -cmoed --cpu-moe-draft --spec-draft-cpu-moe
-ncmoed --n-cpu-moe-draft --spec-draft-ncmoe --spec-draft-n-cpu-moe
"""
REPEATS = frozenset(_LISTS.split())
"""What the engine collects instead of taking the last one (b11434, common/arg.cpp)."""
