"""The tree of everything that can go wrong, with its facts.

BlazarError
├── Refusal            the caller can change something                4xx, exit 1
│   ├── Malformed      a field, a body, a name, an option (field)
│   ├── NotFound       model, engine, route; ChoiceOpen: several are meant, or none of those that are there (choices)
│   ├── Conflict       name taken, engine in use, last engine
│   ├── Unauthorized · Forbidden · TooLarge · TooSlow
│   ├── Unserved       no lane for these weights; ArchitectureUnserved: none for the architecture (502)
│   │                  EngineBroken: its build cannot run (502)
│   ├── DoesNotFit     not enough memory
│   ├── Busy           no slot in time, breaker open, starting, stopping (retry_after)
│   ├── OverQuota      a limit of the caller's key is used up (limit, retry_after)
│   ├── StoreTrouble   the catalog or a folder of ours is full, read-only, damaged, too new
│   │                  NoRoom: a download is larger than what is free (507)
│   └── Unreachable · BindConflict · DataDirLocked     the command line's own
└── Fault              ours or the child's                            5xx
    ├── ChildDied · ChildSilent · SpawnFailed
    ├── RegistryTrouble        a registry that somebody named cannot be reached or used
    ├── AnswerBroken   an answer that is not what was asked for, with enforcement on (codes)
    └── EngineSaid     the child answered with an error (status, text)

`str(error)` is the sentence from `teaching`; HTTP statuses and exit codes are tables in the two shells.
"""

from collections.abc import Callable, Sequence

from blazar.domain import teaching
from blazar.domain.choices import Choice, judged, told_choices
from blazar.domain.harmless import harmless, public


class BlazarError(Exception):
    """Anything a user may be told; `str()` is the sentence."""


class Refusal(BlazarError):
    """The caller can change something."""


class Fault(BlazarError):
    """Ours or the child's doing; the caller may only try again."""


class Malformed(Refusal):
    """What was sent cannot be understood. `field` names the part, where there is one."""

    def __init__(self, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.field = field


class BadName(Malformed):
    """Not a model name."""

    def __init__(self, name: str) -> None:
        super().__init__(teaching.bad_name(name), "model")
        self.name = name


class BadShape(Malformed):
    """Metadata or a tensor table that describes no model. `key` names the entry."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(teaching.bad_shape(key, why), key)
        self.key = key


class NotFound(Refusal):
    """There is no such thing."""


class SeveralModels(Malformed):
    """A reference that means more than one row."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        super().__init__(teaching.name_is_several(public(name) if "://" in name else name, names), "model")
        self.names = tuple(names)


class ModelNotFound(NotFound):
    """No row of that name."""

    field = "model"

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        super().__init__(teaching.model_not_found(public(name) if "://" in name else name, near))
        self.name, self.near = name, tuple(near)


class ChoiceOpen(NotFound):
    """A reference that leaves open which of several is meant, or means one that is not there (`asked`).

    `choices` are what to append to it, with the bytes of each: quantisations, or with `files` names of files.
    """

    field = "model"

    def __init__(
        self, repo: str, choices: Sequence[tuple[str, int] | Choice], *, files: bool = False, asked: str = ""
    ) -> None:
        self.repo, self.files, self.asked = repo, files, asked
        self.choices = tuple(Choice(*choice) for choice in choices)
        super().__init__(told_choices(repo, self.choices, files=files, asked=asked))

    @property
    def facts(self) -> dict[str, object]:
        """What stands beside the sentence in an answer of the API."""
        said = [choice._asdict() for choice in self.choices]
        return {"repo": self.repo, "choices": said, "files": self.files, "asked": self.asked}

    def judged(self, verdict: Callable[[int], str]) -> "ChoiceOpen":
        """The same with what fits; `verdict` says it of a size in bytes (`fit/about.py`)."""
        return ChoiceOpen(self.repo, judged(self.choices, verdict), files=self.files, asked=self.asked)


class EngineNotFound(NotFound):
    """No build of that tag."""

    def __init__(self, tag: str, installed: Sequence[str]) -> None:
        super().__init__(teaching.engine_not_found(tag, installed))
        self.tag = tag


class Conflict(Refusal):
    """The thing is there, or in use, and that forbids the wish."""


class Unauthorized(Refusal):
    """No key, or not one of ours."""

    def __init__(self) -> None:
        super().__init__(teaching.unauthorized())


class Forbidden(Refusal):
    """Known, but not allowed: a foreign Host, a scoped key."""


class TooLarge(Refusal):
    """A body above its bound."""


class TooSlow(Refusal):
    """A body that does not come."""


class Unserved(Refusal):
    """No installed engine can serve these weights."""


class ArchitectureUnserved(Unserved):
    """Engines of the right kind are installed, and each of them is known to end over the model's architecture (502)."""


class EngineBroken(Unserved):
    """The build that would serve is there and cannot run, as far as its files tell (502)."""


class DoesNotFit(Refusal):
    """Loading it would take more memory than there is."""


class Busy(Refusal):
    """Not now. `retry_after` is in seconds."""

    def __init__(self, sentence: str, retry_after: float = 1.0) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class OverQuota(Refusal):
    """A limit of the caller's key is used up. `retry_after` is in seconds."""

    def __init__(self, limit: str, sentence: str, retry_after: float) -> None:
        super().__init__(sentence)
        self.limit, self.retry_after = limit, retry_after


class BadModelFile(Malformed):
    """A weight file that cannot be used, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(teaching.not_a_model_file(path, why))
        self.path, self.why = path, why


class BrokenThere(BadModelFile):
    """The same of a file that is as its registry has it; the sentence names what was asked for."""

    def __init__(self, reference: str, file: str, why: str) -> None:
        Malformed.__init__(self, teaching.pull_broken_there(reference, file, why))
        self.path, self.why = file, why


class PartsMissing(Malformed):
    """A diffusion model without all that it needs to draw. `lacking` has alternatives as `vae or tae`."""

    def __init__(self, path: str, family: str, lacking: Sequence[str]) -> None:
        super().__init__(teaching.parts_missing(path, family, lacking), "with")
        self.family, self.lacking = family, tuple(lacking)


class WrongPart(Malformed):
    """A file that is the part `part` of diffusion models for sure, and is to be `role` ("": a model by itself)."""

    def __init__(self, path: str, role: str, part: str) -> None:
        if role:
            super().__init__(teaching.part_is_another(path, role, part), "with")
        else:
            super().__init__(teaching.part_alone(path, part), "path")
        self.role, self.part = role, part


class PartsOfNoSet(Malformed):
    """Parts were named for what is made of none."""

    def __init__(self, path: str, field: str = "path") -> None:
        super().__init__(teaching.parts_of_no_set(path), field)


class BadWeights(BadModelFile):
    """The same of weights that are no GGUF."""

    def __init__(self, path: str, why: str) -> None:
        Malformed.__init__(self, teaching.not_usable_weights(path, why))
        self.path, self.why = path, why


MOST_PROBLEMS = 200
"""Problems of a configuration that are told one by one."""


class BadConfig(Malformed):
    """The configuration cannot be used; every sentence, the first line first.

    What they repeat comes from a file that may be of any kind: as many as a person reads, nothing that steers a terminal, no secret.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        told = [harmless(problem) for problem in problems[:MOST_PROBLEMS]]
        more = teaching.config_more_problems(len(problems) - 1) if len(problems) > 1 else ""
        super().__init__(told[0] + more)
        if len(problems) > len(told):
            told.append(teaching.config_and_more(len(problems) - len(told)))
        self.problems = tuple(told)


class StoreTrouble(Refusal):
    """The catalog or a folder of ours cannot be read or written: disk full, read-only, damaged, too new."""


class NoRoom(StoreTrouble):
    """What is to be downloaded is larger than what is free: told before the first byte."""


class Unreachable(Refusal):
    """No daemon answers (command line, exit 4)."""


class BindConflict(Refusal):
    """The address is taken (exit 3)."""


class DataDirLocked(Refusal):
    """A second daemon on one data folder (exit 3)."""


class SpawnFailed(Fault):
    """A child could not be brought to serve: it died, stalled or could not be started."""


class ChildDied(Fault):
    """The child went away while it owed an answer."""


class ChildSilent(Fault):
    """The child kept a request past its header deadline."""


class AnswerBroken(Fault):
    """The answer is not what the request asked for, and whoever asked wants none rather than this one. `codes` are the sentinel's."""

    def __init__(self, found: Sequence[str], codes: Sequence[str]) -> None:
        super().__init__(teaching.sentinel_enforced(found))
        self.codes = tuple(codes)


class RegistryTrouble(Fault):
    """A registry elsewhere cannot be reached, or what it sends makes no sense."""


class RegistryGarbled(RegistryTrouble):
    """What it sends makes no sense: asking for something else there may still work."""


class EngineSaid(Fault):
    """The child answered with an error of its own; status and text are passed on as they are (D10).

    `field` is the part of the request that it named, `retry_after` its own header, if it sent one.
    """

    def __init__(self, status: int, text: str, field: str | None = None, retry_after: str = "") -> None:
        super().__init__(text)
        self.status, self.field, self.retry_after = status, field, retry_after
