"""Words that a person may not add to mlx-lm's command line: what Blazar says itself, and what would go around it.

Its parser takes every beginning of a flag that is no other flag's, so that all beginnings are reserved as well.
"""

from blazar.domain.argv import beginnings

# Where it listens and who may talk to it; what it serves; a log level that writes every request into its log.
_GROUPS = {
    "door": "--host --port --allowed-origins",
    "model": "--model",
    "log": "--log-level",
    "questions": "--help",
}


BECAUSE = {"-h": "questions"} | {
    part: why for why, flags in _GROUPS.items() for flag in flags.split() for part in beginnings(flag)
}
"""Each with the reason that a person is told."""
RESERVED = frozenset(BECAUSE)
"""Every spelling."""
