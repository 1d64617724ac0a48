"""The response headers that the lane adds of its own, and the one that it takes over from a child. Decides no status and no body."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from blazar.application.ports.upstream import Headers
from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic_betas import header_warnings

_MOMENT: Final = re.compile(rb"[0-9A-Za-z,: +-]{1,40}")


def warning_headers(warnings: Sequence[str]) -> Headers:
    """What was ignored or rewritten (D11), as it is known when the head leaves."""
    # Warnings name fields as the caller wrote them: a line break in one would be a header of the caller's own.
    return [
        (b"x-blazar-warning", "".join(c if " " <= c <= "~" else "?" for c in warning).encode("ascii"))
        for warning in warnings
    ]


def dialect_warnings(dialect: Dialect, headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """What a request's own headers ask for in vain."""
    if dialect is not Dialect.ANTHROPIC:
        return ()
    version, betas = headers.get(b"anthropic-version", b""), headers.get(b"anthropic-beta", b"")
    return header_warnings(version.decode("latin-1"), betas.decode("latin-1")) if version or betas else ()


def queue_header(waited: float) -> Headers:
    """How long it stood in line (D11), in vain or not."""
    return ((b"x-blazar-queue-ms", b"%d" % (waited * 1000)),) if waited >= 0.001 else ()


def receipt_headers(constraint: str) -> Headers:
    """Which constraint the answer was made under: json_schema, json_object or gbnf (D19); none for an empty one."""
    return ((b"x-blazar-structured-output", constraint.encode()),) if constraint else ()


def retry_after_in(headers: Headers) -> str:
    """When a child wants to be asked again, seconds or a date as it said it; empty where it said nothing of the kind."""
    value = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    return value.decode() if _MOMENT.fullmatch(value) else ""
