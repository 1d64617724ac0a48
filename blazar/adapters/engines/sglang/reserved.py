"""Words that a person may not add to SGLang's command line: what Blazar says itself, and what would go around it.

Its parser takes every beginning of a flag that is no other flag's, so that all beginnings are reserved as well. Flags that
merely tune the model or what it may use of the machine are free.
"""

from blazar.domain.argv import beginnings

# Where the child listens and who may talk to it: the gateway alone knows. A load of several machines is none of ours.
_DOOR = """
--host --port --fastapi-root-path --smg-grpc-mode --grpc-mode --grpc-port --smg-http-sidecar-port --grpc-http-sidecar-port
--sidecar --sidecar-args --api-key --admin-api-key --ssl-keyfile --ssl-certfile --ssl-ca-certs --ssl-keyfile-password
--enable-ssl-refresh --nnodes --node-rank --dist-init-addr --nccl-init-addr
"""
# What it serves: routing, the identity check and the catalog are about exactly this folder under this name.
_MODEL = "--model-path --model --served-model-name --revision --download-dir"
# A file of further flags, which nobody would have judged.
_MORE = "--config"
# Files and tools that the server would open for its clients, and templates that a request may bring along.
_EXTRAS = "--file-storage-path --tool-server --trust-request-chat-template"
# Prompts must not be written anywhere.
_LOG = """
--log-requests --log-requests-level --log-requests-format --log-requests-target --export-metrics-to-file
--export-metrics-to-file-dir --crash-dump-folder --debug-tensor-dump-output-folder --debug-tensor-dump-input-file
"""
_QUESTIONS = "--help"


_GROUPS = {"door": _DOOR, "model": _MODEL, "more": _MORE, "extras": _EXTRAS, "log": _LOG, "questions": _QUESTIONS}
_WHOLE = {flag: why for why, flags in _GROUPS.items() for flag in flags.split()}
WHOLE = frozenset(_WHOLE)
BECAUSE = {"-h": "questions"} | {part: why for flag, why in _WHOLE.items() for part in beginnings(flag)} | _WHOLE
"""Each with the reason that a person is told; a beginning that several share has one of theirs."""
RESERVED = frozenset(BECAUSE)
"""Every spelling."""
