"""Names of files that come from elsewhere: which are the same, and which not every system can give a file. Text only."""

import unicodedata

_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)))
)
"""What Windows opens instead of a file of that name, whatever its extension."""


def folded(name: str) -> str:
    """Alike for names that are one file where case, or how an accent is composed, does not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_portable(part: str) -> bool:
    """Whether one component of a path means the same file everywhere, and can be written in every alphabet's encoding.

    Dots and spaces at the end are dropped by Windows; a lone surrogate stands for bytes that are no text.
    """
    if part.endswith((".", " ")) or part.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        return False
    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in part)
