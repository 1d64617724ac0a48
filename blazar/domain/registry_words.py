"""What a registry says beside the weights, as an overlay and the keys that it means. Pure: what cannot be said here is left out and told.

Stricter than nothing, milder than `create`: there a person wrote the words and can correct them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.overlay import ROLES, STOPS, Overlay, read_parameters, settings_of, template_of
from blazar.domain.parcels import Words


class Laid(NamedTuple):
    """`overlay` is None where there is nothing to say; `settings` are keys of its override."""

    overlay: Overlay | None
    settings: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()


def laid(words: Words, template: str) -> Laid:
    """`template` is that of the weights, "" where they have none: it serves where the registry's cannot be read by engines."""
    notes = list[str]()
    said = Overlay(
        template=_template(words.template, notes, own=bool(template)),
        system=words.system,
        parameters=_parameters(words.parameters, notes),
        messages=tuple(
            (message["role"], message["content"])
            for message in words.messages
            if message.get("role") in ROLES and isinstance(message.get("content"), str)
        ),
    )
    if not said.says:
        return Laid(None, notes=tuple(notes))
    try:
        settings = settings_of(said, template)
    except Malformed as why:  # too long for a command line, most of all
        notes.append(teaching.pull_words_left(str(why)))
        said = said._replace(template="", system="", messages=())
        if not said.says:
            return Laid(None, notes=tuple(notes))
        settings = settings_of(said, template)
    return Laid(said, settings, tuple(notes))


def _template(given: str, notes: list[str], *, own: bool) -> str:
    try:
        template_of(given)
    except Malformed:
        notes.append(teaching.pull_template_left() if own else teaching.pull_template_lacking())
        return ""
    return given


def _parameters(given: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Each by itself: one that cannot be said does not take the others along."""
    found, left = dict[str, Any](), list[str]()
    for name, value in given.items():
        values = value if name == STOPS and isinstance(value, list) else [value]
        for one in values:
            try:
                read = read_parameters({name: [one] if name == STOPS else one})
            except Malformed:
                left.append(name)
                continue
            for key, typed in read.items():
                found[key] = list(dict.fromkeys([*found.get(key, []), *typed])) if key == STOPS else typed
    if left:
        notes.append(teaching.pull_parameters_left(tuple(dict.fromkeys(left))))
    return found
