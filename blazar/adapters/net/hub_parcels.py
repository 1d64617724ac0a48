"""What a pull of a repository brings: of all its files those that one model is made of, each with what it is to the model.

Asks nobody. Which files belong together is `domain/repository.py`'s to say; a reference that leaves a choice open is refused with
the choices.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from blazar.application.ports.remote import Offer, Part, RemoteFile
from blazar.domain import repository, teaching
from blazar.domain.errors import BadWeights, ChoiceOpen, NotFound
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from blazar.domain.weight_names import SUFFIX, is_projector, models_among


class Contents(NamedTuple):
    """All files of a repository by path, and the GGUF models among them."""

    files: Mapping[str, RemoteFile]
    offers: tuple[Offer, ...]


class Chosen(NamedTuple):
    """`quant` is the label of the offer that was taken, "" where there was none."""

    parts: tuple[Part, ...]
    quant: str = ""
    notes: tuple[str, ...] = ()


def chosen(ref: RemoteRef, there: Contents, meant: Offer | None) -> Chosen:
    """`meant` is the offer that the reference's tag names. Never without parts."""
    if ref.file:
        return _named(ref, there)
    if meant is not None:
        return _of_offer(meant, there)
    if ref.tag:
        raise NotFound(teaching.remote_no_gguf(ref.repo))
    if len(there.offers) > 1:
        raise ChoiceOpen(ref.repo, [(offer.quant, offer.size) for offer in there.offers])
    if there.offers:
        found = _of_offer(there.offers[0], there)
        also = repository.model_folder(there.files) is not None
        return found._replace(notes=(*found.notes, *([teaching.remote_folder_passed_over(ref.repo)] if also else ())))
    return _without_gguf(ref, there)


def _without_gguf(ref: RemoteRef, there: Contents) -> Chosen:
    if (folder := repository.model_folder(there.files)) is not None:
        return Chosen(_folder(ref, folder, there))
    if repository.adapter_folder(there.files):
        raise NotFound(teaching.remote_peft_only(ref.repo))
    if repository.PIPELINE in there.files or repository.CONFIG not in there.files:
        single = repository.checkpoints(there.files)
        if len(single) > 1:
            raise ChoiceOpen(ref.repo, [(name, there.files[name].size) for name in single], files=True)
        if single:
            return Chosen((Part(Role.WEIGHTS, there.files[single[0]]),))
    if repository.PIPELINE in there.files:
        raise NotFound(teaching.remote_pipeline_only(ref.repo))
    raise NotFound(teaching.remote_no_weights(ref.repo))


def _named(ref: RemoteRef, there: Contents) -> Chosen:
    """The one file that a reference names, with all that it cannot be without."""
    low = ref.file.lower()
    path = ref.file if ref.file in there.files else next((one for one in there.files if one.lower() == low), "")
    if not path:
        raise NotFound(teaching.remote_no_file(ref.repo, ref.file, _weight_files(there.files)))
    file = there.files[path]
    if is_projector(path.rpartition("/")[2]):
        return Chosen((Part(Role.PROJECTOR, file),))
    if path.endswith(SUFFIX):
        model = next((one for one in models_among(there.files) if path in one.files), None)
        files = tuple(there.files[one] for one in model.files) if model else (file,)
        return _of_offer(Offer("", "", files, model.missing if model else 0), there)
    if repository.is_of_peft(path, there.files):
        raise NotFound(teaching.remote_peft_only(ref.repo))
    folder = repository.model_folder(there.files)
    if folder is not None and path in folder.weights:
        return Chosen(_folder(ref, folder, there))
    return Chosen((Part(Role.ADAPTER if repository.is_adapter(path) else Role.WEIGHTS, file),))


def _of_offer(offer: Offer, there: Contents) -> Chosen:
    first = offer.files[0].name
    if offer.missing:
        raise NotFound(teaching.fit_shards_lacking(offer.quant or first, offer.missing))
    if repository.is_adapter(first):
        return Chosen(tuple(Part(Role.ADAPTER, file) for file in offer.files), offer.quant)
    parts = [Part(Role.WEIGHTS, file) for file in offer.files]
    known = [path for path in there.files if is_projector(path.rpartition("/")[2])]
    projector, others = repository.projector_of(first, known)
    notes: list[str] = []
    if projector is not None:
        parts.append(Part(Role.PROJECTOR, there.files[projector]))
        if others:
            notes.append(teaching.remote_projector_taken(projector, others))
    return Chosen(tuple(parts), offer.quant, tuple(notes))


def _folder(ref: RemoteRef, folder: repository.Folder, there: Contents) -> tuple[Part, ...]:
    """Refused before the first byte where an import would refuse it after the last one."""
    if folder.missing:
        raise NotFound(teaching.fit_shards_lacking(ref.repo, folder.missing))
    if len(folder.beside) > repository.MOST_BESIDE:
        raise BadWeights(ref.repo, teaching.companions_many(repository.MOST_BESIDE))
    for name in folder.beside:
        if not name.endswith(repository.SAFETENSORS) and there.files[name].size > repository.LARGEST_BESIDE:
            raise BadWeights(f"{ref.repo}/{name}", teaching.companion_large(repository.LARGEST_BESIDE))
    return tuple(Part(Role.FOLDER, there.files[name], name) for name in (*folder.weights, *folder.beside))


def _weight_files(paths: Iterable[str]) -> Sequence[str]:
    return sorted(path for path in paths if path.endswith((SUFFIX, repository.SAFETENSORS)))
