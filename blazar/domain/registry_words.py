"""What a registry says beside the weights, as an overlay and the keys that it means. Pure: what cannot be said here is left out and told.

Stricter than nothing, milder than `create`: there a person wrote the words and can correct them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.overlay import LONGEST, ROLES, STOPS, Overlay, read_parameters, settings_of, template_of
from blazar.domain.parcels import Words

MOST_STOPS: Final = 256
"""Each is looked for behind every token, and is two words of a command line."""
LONGEST_STOP: Final = 1024
"""Characters: all of them together are far from what a command line may hold (2 MiB on Linux)."""
_LOOKED_AT: Final = 4 * MOST_STOPS


def sifted(words: Words) -> tuple[Words, tuple[str, ...]]:
    """What of it can be written to a file, and the names of what cannot: half of a surrogate pair is no character (JSON can hold one).

    At the door, before weights are fetched. A conversation without one of its messages is another one: they go together.
    """
    left = [name for name in ("template", "system", "licence") if not _is_writable(getattr(words, name))]
    kept = words._replace(
        template="" if "template" in left else words.template,
        system="" if "system" in left else words.system,
        licence="" if "licence" in left else words.licence,
    )
    parameters = {name: value for name, value in words.parameters.items() if _is_writable(name) and _is_writable(value)}
    left += [name if _is_writable(name) else "a parameter" for name in words.parameters if name not in parameters]
    if not all(_is_writable(text) for message in words.messages for text in message.values()):
        left.append("messages")
        kept = kept._replace(messages=())
    return kept._replace(parameters=parameters), tuple(dict.fromkeys(left))


def _is_writable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_writable, value))
    try:
        return not isinstance(value, str) or value.encode() is not None
    except UnicodeEncodeError:
        return False


class Laid(NamedTuple):
    """`overlay` is None where there is nothing to say; `settings` are keys of its override."""

    overlay: Overlay | None
    settings: Mapping[str, Any] = {}
    notes: tuple[str, ...] = ()


def laid(words: Words, template: str, adapters: tuple[str, ...] = ()) -> Laid:
    """`template` is that of the weights, "" where they have none: it serves where the registry's cannot be read by engines. `adapters` are files of LoRAs that came along."""
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
        adapters=adapters,
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
        template_of(_bounded(given))
    except Malformed:
        notes.append(teaching.pull_template_left() if own else teaching.pull_template_lacking())
        return ""
    return given


def _bounded(template: str) -> str:
    """What is too long is not read either: the time that it takes grows with it."""
    if len(template) > LONGEST:
        raise Malformed(teaching.overlay_too_long(LONGEST))
    return template


def _parameters(given: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Each by itself: one that cannot be said does not take the others along."""
    found, left = dict[str, Any](), list[str]()
    for name, value in given.items():
        if name == STOPS:
            stops = _stops(value if isinstance(value, list) else [value], left, notes)
            found |= {STOPS: stops} if stops else {}
            continue
        try:
            found |= read_parameters({name: value})
        except Malformed:
            left.append(name)
    if left:
        notes.append(teaching.pull_parameters_left(tuple(dict.fromkeys(left))))
    return found


def _stops(words: Sequence[Any], left: list[str], notes: list[str]) -> list[str]:
    """As many as an engine bears, each once."""
    words = list({repr(word): word for word in words}.values())
    found = dict[str, None]()
    for word in words[:_LOOKED_AT]:
        try:
            read = read_parameters({STOPS: [word]}).get(STOPS, ())
        except Malformed:
            read = ()
        if not read or len(read[0]) > LONGEST_STOP:
            left.append(STOPS)
        elif len(found) < MOST_STOPS:
            found[read[0]] = None
    if len(words) > _LOOKED_AT or len(found) == MOST_STOPS < len(words):
        notes.append(teaching.pull_stops_left(len(found)))
    return list(found)
