"""What a load is asked to be, for the spawn, the dry run and `blazar fit` alike: configuration, extra words, files beside the model.

One way from settings to a verdict, so that what is shown is what is started. Reads headers through the port and places nothing.
A projector counts where something attaches it: `--mmproj` in `extra_args`, or a policy that says so. Who asks before anything is
configured (`blazar fit` of a file, of a repository) may count the one that lies beside the weights, and the verdict says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar

from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.extra_words import Extra, read_extra
from blazar.application.supervise.fit_settings import (
    Extras,
    Window,
    cap_for,
    extended,
    fit_settings,
    slots_for,
    unified,
    window_for,
)
from blazar.domain import teaching
from blazar.domain.argv import scaled
from blazar.domain.errors import BadModelFile, BadShape, NotFound
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import NO_DEVICE, Draft, Settings
from blazar.domain.fit.shape import ModelShape, Projector
from blazar.domain.fit.verdict import Verdict
from blazar.domain.fit.weights import MOE_PRESET

Found = TypeVar("Found")

_FOR_ITSELF: Mapping[str, Any] = {
    "ctx": 0,
    "parallel": 0,
    "adopted": 0,
    "cache_type_k": "",
    "cache_type_v": "",
    "gpu_layers": None,
    "cpu_moe_n": 0,
    "cpu_ffn_n": 0,
    "override_tensor": (),
    "tensor_preset": "",
    "tensor_split": (),
    "devices": (),
    "lora_bytes": (),
    "projector": None,
    "projector_device": "",
    "draft": None,
    "drafted": 0,
}
"""What a draft does not inherit; window and slots follow the model's as they are decided (common/speculative.cpp)."""


class Asked(NamedTuple):
    """One load as the planner is asked for it. `cap` above 0 leaves the window open, up to it; `window` is what configuration says.

    `longest` is the window that YaRN makes of the trained one; 0: it leaves it as it is.
    """

    settings: Settings
    cap: int
    window: Window
    notes: tuple[str, ...]
    longest: int = 0

    def plan(self, shape: ModelShape, machine: Machine, *, advise: bool = True) -> Verdict:
        """The planner's answer, with what has to be known beside it; its levers only where they are wanted."""
        verdict = plan(self.stretched(shape), machine, self.settings, self.cap, advise=advise)
        return replace(verdict, notes=verdict.notes + self.notes)

    def stretched(self, shape: ModelShape) -> ModelShape:
        """The model with the window that it is used up to."""
        return replace(shape, trained_ctx=self.longest) if self.longest else shape


@dataclass(frozen=True, slots=True)
class Preparation:
    """One model's configuration with its extra words read. `settings` are its keys as the child will have them.

    `adopted` are slots that it is to have where nobody said how many, because requests have waited for them (D18).
    """

    settings: Mapping[str, Any]
    extra: Extra
    extras: Extras
    notes: tuple[str, ...]
    adopted: int = 0

    def asked(
        self, trained: int, machine: Machine, *, embeds: bool, wish: int = 0, beside: Projector | None = None
    ) -> Asked:
        """The load on that machine. `trained` (0: unknown) and a request's `wish` are windows in tokens.

        `beside` is a projector that lies with the weights and is to count although nothing attaches it.
        """
        extras, window = self.extras, self.window(trained, wish)
        notes = [*window.notes, *self.notes, *self._placed_otherwise(machine)]
        if beside and not extras.projector:
            extras = extras._replace(projector=beside)
            notes.append(teaching.fit_note("projector-with"))
        settings = fit_settings(self.settings, trained, wish, embeds=embeds, extras=extras)
        settings = replace(
            settings, adopted=self.adopted, **self.extra.load, devices=self._alone(machine) or settings.devices
        )
        cap = cap_for(self.settings, trained, wish)
        if "ctx" in self.extra.load:
            # What was told is all that there is: slots of ours would take their windows out of it, not bring them along.
            settings, cap = replace(settings, ctx=window.ctx_size, parallel=settings.parallel or 1), 0
        if extras.draft:
            settings = replace(settings, draft=self._draft(extras.draft.shape, settings))
        longest = extended(self.settings, trained)
        stretched = longest if longest != trained else 0
        return Asked(replace(settings, ctx=0) if cap else settings, cap, window, tuple(notes), stretched)

    def drafting(self, drafted: int, draft: ModelShape | None = None) -> "Preparation":
        """The same with so many tokens guessed at once, by that model; one that extra words name stays."""
        own = self.extras.draft or (Draft(draft, Settings()) if draft else None)
        return replace(self, extras=self.extras._replace(drafted=drafted, draft=own))

    def with_projector(self, projector: Projector) -> "Preparation":
        """The same with a projector that a policy attaches; one that extra words name stays."""
        return self if self.extras.projector else replace(self, extras=self.extras._replace(projector=projector))

    def with_window(self, ctx: int) -> "Preparation":
        """The same with a window that somebody chose."""
        return replace(self, settings={**self.settings, "ctx": ctx})

    def window(self, trained: int, wish: int = 0) -> Window:
        """One request's window and the engine's, before anything is planned."""
        slots = slots_for(self.settings) or 1
        if "ctx" not in self.extra.load:
            return window_for(self.settings, trained, slots, wish)
        # Told 0, the engine takes the trained one.
        total: int = self.extra.load["ctx"] or trained
        return Window(total if unified(self.settings, slots) else total // slots, total)

    def _alone(self, machine: Machine) -> tuple[str, ...]:
        """The one device that all of a model goes to where nothing is split: of those named, else of all, the main one."""
        if self.settings["split_mode"] != "none":
            return ()
        names = tuple(self.settings["devices"]) or tuple(device.name for device in machine.pool)
        return names[max(self.settings["main_gpu"], 0) :][:1]

    def _placed_otherwise(self, machine: Machine) -> tuple[str, ...]:
        """What the engine does with several devices and no plan counts."""
        mode, servers, notes = self.settings["split_mode"], self.settings["rpc_servers"], []
        several = len(self.settings["devices"] or machine.pool) > 1 and bool(machine.pool)
        if several and mode in ("row", "tensor"):
            notes.append(teaching.fit_note("split-rows"))
        elif several and mode != "none" and self.settings["main_gpu"] >= 0:
            notes.append(teaching.fit_note("main-gpu"))
        if servers and not any(device.kind == "rpc" for device in machine.pool):
            notes.append(teaching.rpc_worker_silent(servers))
        return tuple(notes)

    def _draft(self, shape: ModelShape, main: Settings) -> Draft:
        said = {**_FOR_ITSELF, **_draft_keys(self.settings), **self.extra.draft}
        if said["devices"] == (NO_DEVICE,):
            said |= {"devices": (), "gpu_layers": 0}
        return Draft(shape, replace(main, **said))


def _draft_keys(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What configuration says of a draft, whoever named it."""
    patterns = (item.partition("=") for item in settings["spec_draft_override_tensor"])
    return {
        "devices": tuple(name for name in settings["spec_draft_device"].split(",") if name),
        "gpu_layers": settings["spec_draft_ngl"],
        "cache_type_k": settings["spec_draft_type_k"],
        "cache_type_v": settings["spec_draft_type_v"],
        "cpu_moe_n": settings["spec_draft_n_cpu_moe"],
        "tensor_preset": MOE_PRESET if settings["spec_draft_cpu_moe"] else "",
        "override_tensor": tuple((pattern, buffer) for pattern, _, buffer in patterns),
    }


def prepare(settings: Mapping[str, Any], files: WeightFiles, words: Sequence[str], folder: str = "") -> Preparation:
    """Read one model's extra `words` and the headers of the files that they name.

    A file that cannot be read is not counted, and a note says so: the engine tells better what is wrong with it. What is no whole
    path among the words counts from `folder`, where children run. Raises `Malformed` for a value that the engine would end itself over.
    """
    extra = _seen_from(folder, read_extra(words, settings))
    notes = [teaching.extra_args_planned(extra.flags)] if extra.flags else []
    notes += [teaching.extra_args_counted(extra.added)] if extra.added else []
    adapters = tuple(scaled(item)[0] for item in settings["loras"])
    extras = Extras(
        projector=next(iter(_read(extra, "projector", files.projector_in, notes)), None),
        draft=next((Draft(shape, Settings()) for shape in _read(extra, "draft", _draft_in(files), notes)), None),
        lora_bytes=(
            *_counted(adapters, "loras", files.adapter_bytes, notes),
            *_read(extra, "adapters", files.adapter_bytes, notes),
        ),
    )
    return Preparation({**settings, **extra.keys}, extra, extras, tuple(notes))


def _seen_from(folder: str, extra: Extra) -> Extra:
    def whole(named: str | Sequence[str]) -> str | tuple[str, ...]:
        return (
            str(PurePath(folder, named))
            if isinstance(named, str)
            else tuple(str(PurePath(folder, one)) for one in named)
        )

    return extra._replace(files={what: whole(named) for what, named in extra.files.items()}) if folder else extra


def _draft_in(files: WeightFiles) -> Callable[[str], ModelShape]:
    return lambda path: files.shape(files.inspect(path).files)


def _read(extra: Extra, what: str, read: Callable[[str], Found], notes: list[str]) -> list[Found]:
    """What the files of extra words hold."""
    named = extra.files.get(what, ())
    paths = [named] if isinstance(named, str) else named
    return _counted(paths, extra.written.get(what, ""), read, notes)


def _counted(paths: Sequence[str], said_by: str, read: Callable[[str], Found], notes: list[str]) -> list[Found]:
    """What these files hold; of one that cannot be read, a note."""
    found = []
    for path in paths:
        try:
            found.append(read(path))
        except (BadModelFile, BadShape, NotFound) as why:
            notes.append(teaching.extra_file_uncounted(said_by, path, str(why)))
    return found


def embeds(settings: Mapping[str, Any], own: bool) -> bool:
    """Whether a child is started for embeddings (D38). `own`: the weights say that they are an embedding model's."""
    said: bool | None = settings["embeddings"]
    return own if said is None else said
