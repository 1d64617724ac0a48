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
from blazar.domain.launch import Places, flags_of
from blazar.domain.names import file_stem
from blazar.domain.records import Model

POLICIES = ("lazy", "attach", "skip")
LOOKUPS = ("lookup_cache_static", "lookup_cache_dynamic")
FLAGS = frozenset({"--mmproj", "-mm"})
"""A person's own words for a projector."""
VARIABLES = frozenset({"LLAMA_ARG_MMPROJ", "LLAMA_ARG_MMPROJ_URL"})
"""What `engine_env` may name a projector in: the twins of its flags (common/arg.cpp)."""


class Belongings(NamedTuple):
    """What was found. `projector` is a path, "" where this child gets none; `encoder` is the same as memory sees it.

    `blind` says why the child takes no pictures; "": it does.
    """

    places: Places
    projector: str = ""
    encoder: Projector | None = None
    notes: tuple[str, ...] = ()
    blind: str = ""


class Meant(NamedTuple):
    """Which projector configuration means. `file` is one that an override names, else `beside` has one looked for with the weights."""

    policy: str
    file: str
    beside: bool


def belongings(
    model: Model, prepared: Preparation, files: WeightFiles, places: Places, *, vision: bool | None = False
) -> Belongings:
    """Raises `Malformed` for a lookup cache that is not there.

    `places` are folders: that of sessions, and that of all lookup caches. `vision`: pictures are asked for, so that a projector which
    waits for the first of them is attached; None: this child takes none, whatever lies beside it.
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
    if vision is None or "projector" in prepared.extra.files or VARIABLES & settings["engine_env"].keys():
        return Belongings(found, notes=tuple(notes))
    seen = _sight(model, settings, files, vision=vision)
    return seen._replace(places=found, notes=(*notes, *seen.notes))


def sees(model: Model, settings: Mapping[str, Any], files: WeightFiles) -> bool:
    """Whether a child of it would be given a projector for pictures, as far as configuration and files say."""
    if FLAGS.intersection(flags_of(settings["extra_args"])):
        return True
    return not _sight(model, settings, files, vision=True).blind


def _sight(model: Model, settings: Mapping[str, Any], files: WeightFiles, *, vision: bool) -> Belongings:
    policy, file, beside = meant(settings)
    if policy == "skip":
        return Belongings(Places(), blind=teaching.projector_skipped(model.name))
    try:
        lies = "" if _there(file, files) else files.projector_file(model.files)
        file = file or (lies if beside else "")
        encoder = files.projector_in(file) if file else None
    except (BadModelFile, BadShape, NotFound) as why:
        blind = teaching.projector_unreadable(model.name, str(why))
        return Belongings(Places(), notes=(blind,) if file or beside else (), blind=blind)
    if not file:
        blind = teaching.projector_ignored(model.name, lies) if lies else teaching.projector_missing(model.name)
        return Belongings(Places(), blind=blind)
    if policy == "attach":
        return Belongings(Places(), file, encoder)
    if not vision:
        return Belongings(Places(), blind=teaching.projector_waits(file))
    return Belongings(Places(), file, encoder, (teaching.projector_attached(file),))


def _there(file: str, files: WeightFiles) -> bool:
    """Whether a file is named; raises `NotFound` for one that is gone."""
    if file and files.missing((file,)):
        raise NotFound(teaching.told_path_missing(file, "--mmproj", "mmproj", ""))
    return bool(file)


def policy_of(settings: Mapping[str, Any]) -> str:
    """When a model gets its projector; an override's word wins."""
    own = settings["mmproj"]
    return own if own in POLICIES else settings["mmproj_policy"] or "lazy"


def meant(settings: Mapping[str, Any]) -> Meant:
    """What `mmproj`, `mmproj_auto` and `mmproj_policy` come to."""
    own = settings["mmproj"]
    file = str(own) if own and own not in POLICIES else ""
    return Meant(policy_of(settings), file, not file and settings["mmproj_auto"])
