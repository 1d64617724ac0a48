"""API keys and what they used as plain values: the same in answers of the gateway and on the command line. Never a secret."""

from typing import Any

from blazar.application.ports.ledger import DayUsage
from blazar.domain.keys import Key, redacted


def key_row(key: Key) -> dict[str, Any]:
    """A key without its secret; a limit that it does not have is null."""
    return {
        "name": key.name,
        "key": redacted(key.key),
        "models": list(key.models),
        "rpm": key.rpm,
        "tpm": key.tpm,
        "daily_tokens": key.daily_tokens,
        "max_concurrent": key.max_concurrent,
        "weight": key.weight,
    }


def told_once(key: Key) -> dict[str, Any]:
    """The same with the secret: for who has just made it, and nobody else."""
    return {**key_row(key), "key": key.key}


def usage_row(day: DayUsage) -> dict[str, Any]:
    """One UTC day."""
    return {
        "day": day.day,
        "requests": day.requests,
        "prompt_tokens": day.prompt_tokens,
        "completion_tokens": day.completion_tokens,
        "total_tokens": day.prompt_tokens + day.completion_tokens,
    }
