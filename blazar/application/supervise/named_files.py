"""Files and folders that a command line names, looked for before the child starts: told of one that is not there, it would end itself."""

from collections.abc import Iterable
from pathlib import PurePath

from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, Malformed
from blazar.domain.launch import Brief
from blazar.domain.told_paths import Told

ADAPTERS = frozenset({"--lora", "--lora-scaled"})
"""Flags whose files are read, too: over another file the child ends itself with a line that names neither file nor setting."""


def look_for(told: Iterable[Told], brief: Brief, files: WeightFiles, folder: str) -> None:
    """Raises `Malformed` for the first that is not there, or is no adapter where one has to be.

    What is no whole path counts from `folder`, where children run ("": unknown).
    """
    beside = brief.beside
    parts = {beside.draft, beside.projector, *beside.components.values()}
    for path, flag, key in told:
        aside = bool(folder) and not PurePath(path).is_absolute()
        whole = str(PurePath(folder, path)) if aside else path
        if not files.missing((whole,)):
            if flag.replace("_", "-") in ADAPTERS:
                _vet(Told(path, flag, _said_by(path, key, brief)), whole, brief.model.arch, files)
            continue
        said_by = _said_by(path, key, brief)
        if path in parts and not brief.settings.get(said_by):
            raise Malformed(teaching.part_of_model_missing(path, flag), "model")
        raise Malformed(teaching.told_path_missing(path, flag, said_by, folder if aside else ""), said_by)


def _vet(told: Told, whole: str, arch: str, files: WeightFiles) -> None:
    try:
        files.vet_adapter(whole, arch)
    except BadModelFile as bad:
        raise Malformed(teaching.told_adapter_unusable(told.path, told.flag, told.key, bad.why), told.key) from None


def _said_by(path: str, key: str, brief: Brief) -> str:
    """What a person has to change: a kind may say a path by another setting than the one that it stands in."""
    if brief.settings.get(key):
        return key
    return next((name for name, value in brief.settings.items() if value == path), key)
