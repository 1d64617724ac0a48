"""A sentence that repeats what somebody else wrote, fit to be shown. Judges nothing; text that needs none of it stays as it is."""

import re

LONGEST = 2000
"""Characters: the longest sentence that is no repetition of a file, one with the names of all tables, has a fifth of them."""

_SECRET = re.compile(r"\bplm_[A-Za-z0-9_-]+")
_LONG_SECRET = re.compile(r"plm_[A-Za-z0-9_-]{20,}")


_WHO = re.compile(
    r"(?<=//)[^/@:]*:(?!\d{1,5}/)[^@]*@|(?:(?<=//)|^(?:[A-Za-z][A-Za-z0-9+.-]*:/?)?(?!/))[^/]*@|(?<=/)[^/@]*:[^/]*@"
)
"""Passwords with a slash in them are no address, and refused; they are repeated all the less."""
_ASKED = re.compile(r"[?#].*", re.DOTALL)
_IN_A_SENTENCE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>()]+?(?=[:,.;]*(?:[\s'\"<>()]|$))")


def public(address: str) -> str:
    """A reference or an address as everybody may read it: who asks (a password) and what for (a signature) is left out."""
    return _WHO.sub("", _ASKED.sub("", address))


def public_sentence(sentence: str) -> str:
    """The same of each address in a sentence."""
    return _IN_A_SENTENCE.sub(lambda match: public(match[0]), sentence) if "://" in sentence else sentence


def without_secrets(text: str) -> str:
    """What is kept of a request, or logged: a key that somebody put where a path or a model's name belongs is still a key.

    By a length that secrets have, so that a model may be called `plm_7b`.
    """
    return _LONG_SECRET.sub("plm_…", text) if "plm_" in text else text


def harmless(sentence: str) -> str:
    """Without secrets in the form that ours have (D26), with escapes in the place of what steers a terminal, at a bearable length."""
    if len(sentence) > LONGEST:
        sentence = f"{sentence[:LONGEST]}…"
    if not sentence.isprintable():
        sentence = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in sentence)
    return _SECRET.sub("plm_…", sentence)
