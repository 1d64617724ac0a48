"""Files and folders beside a model that its llama-server is told of: looked for through the port, because a path that is not there would end it.

What only other engine kinds are told of is not looked for here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.preparation import Preparation
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, BadShape, Malformed, NotFound
from blazar.domain.fit.shape import Projector
from blazar.domain.launch import Places
from blazar.domain.names import file_stem
from blazar.domain.records import Model

POLICIES = ("lazy", "attach", "skip")
LOOKUPS = ("lookup_cache_static", "lookup_cache_dynamic")


class Belongings(NamedTuple):
    """What was found. `projector` is a path, "" where this child gets none; `encoder` is the same as memory sees it."""

    places: Places
    projector: str = ""
    encoder: Projector | None = None
    notes: tuple[str, ...] = ()


def belongings(model: Model, prepared: Preparation, files: WeightFiles, places: Places) -> Belongings:
    """Raises `Malformed` for a lookup cache that is not there.

    `places` are folders: that of sessions, and that of all lookup caches. A projector counts only where it is attached from the
    start; one that waits for the first picture belongs to another child.
    """
    settings, notes = prepared.settings, []
    for key in LOOKUPS:
        if settings[key] and files.missing((settings[key],)):
            raise Malformed(teaching.lookup_cache_missing(settings[key], key), key)
    sessions = places.sessions if settings["sessions"] else ""
    if sessions and files.missing((sessions,)):
        notes.append(teaching.sessions_folder_missing(sessions))
        sessions = ""
    cache = f"{places.lookup_cache}/{file_stem(model.name)}.ngram" if places.lookup_cache else ""
    found = Places(sessions=sessions, lookup_cache="" if cache and files.missing((cache,)) else cache)
    if policy_of(settings) != "attach" or "projector" in prepared.extra.files:
        return Belongings(found, notes=tuple(notes))
    try:
        file = _projector(model, settings, files)
        encoder = files.projector_in(file) if file else None
    except (BadModelFile, BadShape, NotFound) as why:
        return Belongings(found, notes=(*notes, teaching.fit_projector_unreadable("beside it", str(why))))
    return Belongings(found, file, encoder, tuple(notes))


def policy_of(settings: Mapping[str, Any]) -> str:
    """When a model gets its projector; an override's word wins."""
    own = settings["mmproj"]
    return own if own in POLICIES else settings["mmproj_policy"] or "lazy"


def _projector(model: Model, settings: Mapping[str, Any], files: WeightFiles) -> str:
    own = settings["mmproj"]
    if own and own not in POLICIES:
        return str(own)
    return files.projector_file(model.files) if settings["mmproj_auto"] else ""
