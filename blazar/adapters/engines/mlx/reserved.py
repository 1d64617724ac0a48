"""Words that a person may not add to mlx-lm's command line: what Blazar says itself, and what would go around it.

Its parser takes every beginning of a flag that is no other flag's, so that all beginnings are reserved as well.
"""

# Where it listens and who may talk to it; what it serves; a log level that writes every request into its log.
_WHOLE = "--host --port --allowed-origins --model --log-level --help"


def _beginnings(flag: str) -> set[str]:
    return {flag[:length] for length in range(len("--x"), len(flag) + 1)}


RESERVED = frozenset({"-h"}.union(*(_beginnings(flag) for flag in _WHOLE.split())))
