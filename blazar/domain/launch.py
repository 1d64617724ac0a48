"""Configuration, model, plan, build and machine to one command line, with the reason of every word. Pure: opens and starts nothing.

An engine kind brings a flag table and `resolve`, which turns what configuration leaves open into the settings that the table
reads. What is the same for all kinds stands here: extra words, flags that a build does not know, reasons.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from blazar.domain import teaching
from blazar.domain.argv import Decision, Flag, compile_argv
from blazar.domain.errors import Malformed
from blazar.domain.fit.machine import Machine as Placement
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.verdict import Verdict
from blazar.domain.kinds import Task
from blazar.domain.manifest import Manifest
from blazar.domain.records import Machine, Model


class Beside(NamedTuple):
    """Files that belong to the model and are not its weights: absolute paths, "" where there is none.

    `draft_family` says what the draft is for: simple, eagle3, mtp, dflash, dspark. `components` of a diffusion model are by role
    (diffusion_model, vae, llm, t5xxl, clip_l, …).
    """

    projector: str = ""
    draft: str = ""
    draft_family: str = ""
    components: Mapping[str, str] = {}


class Places(NamedTuple):
    """Folders and files of ours that a child may be told of; absolute, "" where it gets none."""

    sessions: str = ""  # slot checkpoints
    lookup_cache: str = ""  # the n-gram cache of this model
    socket: str = ""  # where it listens instead of a port


@dataclass(frozen=True, slots=True)
class Brief:
    """What one launch is compiled from.

    `settings` is the effective flat configuration of the model (`Config.settings_for`; keys of `[sglang]`, `[mistralrs]` and
    `[mlx]` as `sglang.KEY`), `origins` who set them, as people read it ("config.toml, line 7"); a default has none. `verdict` is
    the fit plan on `placement`; None where nobody could count. `ctx` is one request's window, `ctx_size` what the engine is to
    divide (D30), `wish` a request's own. `vision`: this child gets the projector.
    """

    settings: Mapping[str, Any]
    model: Model
    machine: Machine
    manifest: Manifest = field(default_factory=Manifest)
    tag: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    task: Task = Task.CHAT
    vision: bool = False
    shape: ModelShape | None = None
    verdict: Verdict | None = None
    placement: Placement | None = None
    ctx: int = 0
    ctx_size: int = 0
    beside: Beside = field(default_factory=Beside)
    places: Places = field(default_factory=Places)
    platform: str = "linux"


class Drafts(NamedTuple):
    """Who guesses tokens ahead, as memory sees it: how many at once, the file of a second model, or heads of the model's own."""

    most: int = 0
    file: str = ""
    heads: bool = False


class Resolved(NamedTuple):
    """What a kind makes of a brief: settings by the flag table's keys, why they are what they are, variables, warnings.

    A key without a reason explains itself by its origin. `silent` are flags that are not said because another one of ours
    decides the same; `given` are flags that give way to words of a person's own, with the key that holds those. `choices` are
    decisions that left no word.
    """

    told: Mapping[str, Any]
    reasons: Mapping[str, str] = {}
    env: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    silent: Collection[str] = frozenset()
    given: Mapping[str, str] = {}
    choices: tuple[Decision, ...] = ()


def together(*parts: Resolved) -> Resolved:
    """Several resolutions as one; of what is said twice the later holds."""
    told, reasons, env, given = dict[str, Any](), dict[str, str](), dict[str, str](), dict[str, str]()
    for part in parts:
        told |= part.told
        reasons |= part.reasons
        env |= part.env
        given |= part.given
    return Resolved(
        told,
        reasons,
        env,
        tuple(note for part in parts for note in part.notes),
        frozenset(flag for part in parts for flag in part.silent),
        given,
        tuple(choice for part in parts for choice in part.choices),
    )


def as_configured(brief: Brief) -> Resolved:
    """Settings as they are, for a kind that leaves nothing open."""
    return Resolved(brief.settings)


class Compiled(NamedTuple):
    """The words after the program's own, variables beside the inherited ones, every choice with its reason, warnings."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...]


class Rules(Protocol):
    """What an engine kind brings to the compiler. `extra_keys` are settings with words of a person's own, the winning one last.

    `joins`: its parser takes a flag and its value in one word.
    """

    @property
    def flags(self) -> tuple[Flag, ...]: ...

    @property
    def reserved(self) -> Collection[str]: ...

    @property
    def server(self) -> str: ...

    @property
    def joins(self) -> bool: ...

    @property
    def extra_keys(self) -> Sequence[str]: ...

    @property
    def resolve(self) -> Callable[[Brief], Resolved]: ...


def compile_launch(rules: Rules, brief: Brief) -> Compiled:
    """Everything that the child will be told.

    Raises `Malformed` for extra words that are reserved or unknown to the build, and for a flag that it lacks and must have.
    """
    tiers = [(key, tuple(brief.settings[key])) for key in rules.extra_keys if brief.settings[key]]
    for key, words in tiers:
        check_extra(words, key, brief, rules)
    resolved = rules.resolve(brief)
    ours, given_way = _ours(rules.flags, resolved, tiers, brief)
    argv = compile_argv(ours, resolved.told, brief.manifest)
    if argv.refused:
        raise Malformed(teaching.flag_needed(argv.refused[0], brief.tag), "engine")
    absent = (*(teaching.flag_unknown_to_engine(name, brief.tag) for name in argv.unknown),)
    ways = tuple((flag, key, teaching.flag_given_way(flag.name, key)) for flag, key in given_way)
    decisions = (
        *(Decision(words, flag.key, _reason(flag, resolved, brief)) for flag, words in argv.said),
        *(Decision((), flag.key, sentence) for flag, _, sentence in ways),
        *resolved.choices,
        *(Decision(words, key, teaching.flag_because(key, brief.origins.get(key, ""))) for key, words in tiers),
    )
    notes = (*resolved.notes, *absent, *(sentence for *_, sentence in ways), *_said_in_two(tiers))
    return Compiled((*argv.words, *(word for _, words in tiers for word in words)), resolved.env, decisions, notes)


def _ours(
    flags: tuple[Flag, ...], resolved: Resolved, tiers: Sequence[tuple[str, tuple[str, ...]]], brief: Brief
) -> tuple[tuple[Flag, ...], list[tuple[Flag, str]]]:
    """The rows that are said, and those that would have something to say but give way, with the key that says it."""
    theirs = {flag: key for key, words in tiers for flag in flags_of(words)}
    ours, given_way = [], []
    for flag in flags:
        said_by = None if flag.adds else resolved.given.get(flag.name) or _said_by(flag, theirs, brief)
        if said_by is None:
            if flag.name not in resolved.silent:
                ours.append(flag)
        elif flag.emit(flag.name, resolved.told.get(flag.key)):
            given_way.append((flag, said_by))
    return tuple(ours), given_way


def _said_by(flag: Flag, theirs: Mapping[str, str], brief: Brief) -> str | None:
    return next((key for one, key in theirs.items() if _same(flag, one, brief)), None)


def _reason(flag: Flag, resolved: Resolved, brief: Brief) -> str:
    if flag.key in resolved.reasons:
        return resolved.reasons[flag.key]
    return flag.why or teaching.flag_because(flag.key, brief.origins.get(flag.key, ""))


def _same(flag: Flag, spelling: str, brief: Brief) -> bool:
    """Also where the build could not be asked, and for the other half of a pair (`--repack`, `--no-repack`)."""
    plain, other = (name.removeprefix("--no-").removeprefix("--") for name in (flag.name, spelling))
    return plain == other.replace("_", "-") or brief.manifest.same(flag.name, spelling)


def _said_in_two(tiers: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """The engine takes the last; that there are two should be known."""
    for index, (key, words) in enumerate(tiers):
        for flag in dict.fromkeys(flags_of(words)):
            for later, more in tiers[index + 1 :]:
                if flag in flags_of(more):
                    yield teaching.extra_arg_twice(flag, key, later)


_NUMBER = re.compile(r"-[\d.]")


def flags_of(words: Sequence[str]) -> list[str]:
    """The words that are flags, without a joined value. ODD: a negative number is a value (case I4)."""
    return [
        word.partition("=")[0]
        for word in words
        if word.startswith("-") and word not in ("-", "--") and not _NUMBER.match(word)
    ]


def check_extra(words: Sequence[str], key: str, brief: Brief, rules: Rules) -> None:
    """Judge the words that a person adds to a command line. Raises `Malformed` naming the flag.

    A build that could not be asked (an empty manifest) is trusted.
    """
    known = brief.manifest
    for word in words:
        for flag in flags_of((word,)):
            # llama-server reads --api_key as --api-key.
            if flag in rules.reserved or flag.replace("_", "-") in rules.reserved:
                raise Malformed(teaching.extra_arg_reserved(flag), key)
            if word != flag and flag in known and not rules.joins:
                raise Malformed(teaching.extra_arg_joined(word, flag, rules.server), key)
            if known and flag not in known:
                raise Malformed(teaching.extra_arg_unknown(flag, brief.tag), key)
