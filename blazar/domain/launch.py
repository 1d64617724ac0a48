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
from blazar.domain.manifest import Manifest, ValueKind
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

    `joins`: its parser takes a flag and its value in one word. `repeats` are flags that may be said several times, `because` has
    the reasons why others are reserved.
    """

    @property
    def flags(self) -> tuple[Flag, ...]: ...

    @property
    def reserved(self) -> Collection[str]: ...

    @property
    def because(self) -> Mapping[str, str]: ...

    @property
    def repeats(self) -> Collection[str]: ...

    @property
    def server(self) -> str: ...

    @property
    def joins(self) -> bool: ...

    @property
    def extra_keys(self) -> Sequence[str]: ...

    @property
    def resolve(self) -> Callable[[Brief], Resolved]: ...


Tiers = Sequence[tuple[str, tuple[str, ...]]]
"""Settings with words of a person's own, and the words; the winning one last."""


def compile_launch(rules: Rules, brief: Brief) -> Compiled:
    """Everything that the child will be told.

    Raises `Malformed` for extra words that are reserved or unknown to the build, and for a flag that it lacks and must have.
    """
    tiers = [(key, tuple(brief.settings[key])) for key in rules.extra_keys if brief.settings[key]]
    for key, words in tiers:
        check_extra(words, key, brief, rules)
    resolved = rules.resolve(brief)
    ours, given_way, added = _ours(rules.flags, resolved, tiers, brief)
    argv = compile_argv(ours, resolved.told, brief.manifest)
    if argv.refused:
        raise _lacking(argv.refused[0], ours, resolved, brief)
    absent = (*(teaching.flag_unknown_to_engine(name, brief.tag) for name in argv.unknown),)
    ways = tuple((flag, key, teaching.flag_given_way(flag.name, key)) for flag, key in given_way)
    decisions = (
        *(Decision(words, flag.key, _reason(flag, resolved, brief)) for flag, words in argv.said),
        *(Decision((), flag.key, sentence) for flag, _, sentence in ways),
        *resolved.choices,
        *(Decision(words, key, teaching.flag_because(key, brief.origins.get(key, ""))) for key, words in tiers),
    )
    several = (*_said_in_two(tiers, rules), *_said_again(tiers, rules, brief))
    notes = (*resolved.notes, *absent, *(sentence for *_, sentence in ways), *added, *several)
    return Compiled((*argv.words, *(word for _, words in tiers for word in words)), resolved.env, decisions, notes)


def _lacking(flag: str, ours: Sequence[Flag], resolved: Resolved, brief: Brief) -> Malformed:
    """Why a build without that flag starts nothing: the setting that somebody wrote is named, with where it stands."""
    said = (row.key for row in ours if row.emit(row.name, resolved.told.get(row.key))[:1] == (flag,))
    key = next(said, "")
    if key in brief.origins:
        because = teaching.flag_because(key, brief.origins[key])
        return Malformed(teaching.flag_needed_by(because, key, flag, brief.tag), key)
    return Malformed(teaching.flag_needed(flag, brief.tag), "engine")


def _ours(
    flags: tuple[Flag, ...], resolved: Resolved, tiers: Tiers, brief: Brief
) -> tuple[tuple[Flag, ...], list[tuple[Flag, str]], list[str]]:
    """The rows that are said, those that would have something to say but give way, with the key that says it, and what is added up."""
    theirs = {flag: key for key, words in tiers for flag in flags_of(words)}
    ours: list[Flag] = []
    given_way: list[tuple[Flag, str]] = []
    added: list[str] = []
    for flag in flags:
        said_by = resolved.given.get(flag.name) or _said_by(flag, theirs, brief)
        speaks = bool(flag.emit(flag.name, resolved.told.get(flag.key)))
        if said_by and speaks and flag.adds:
            added.append(teaching.extra_arg_added(flag.name, flag.key, said_by))
        if said_by is None or flag.adds:
            if flag.name not in resolved.silent:
                ours.append(flag)
        elif speaks:
            given_way.append((flag, said_by))
    return tuple(ours), given_way, added


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


def _said_in_two(tiers: Tiers, rules: Rules) -> Iterator[str]:
    """The engine takes the last; that there are two should be known."""
    for index, (key, words) in enumerate(tiers):
        for flag in dict.fromkeys(flags_of(words)):
            for later, more in tiers[index + 1 :]:
                if flag in flags_of(more) and flag not in rules.repeats:
                    yield teaching.extra_arg_twice(flag, key, later)


def _said_again(tiers: Tiers, rules: Rules, brief: Brief) -> Iterator[str]:
    """The same within one list, whatever the spellings; a flag and its opposite are two answers to one question."""
    for key, words in tiers:
        flags = [flag for flag in flags_of(words) if flag not in rules.repeats]
        for index, last in enumerate(flags):
            same = [one for one in flags[:index] if _equal(one, last, brief)]
            if same and not any(_equal(last, one, brief) for one in flags[index + 1 :]):
                yield teaching.extra_arg_repeated(same[-1], last, key)


def _equal(one: str, other: str, brief: Brief) -> bool:
    return one.replace("_", "-") == other.replace("_", "-") or brief.manifest.same(one, other)


_NUMBER = re.compile(r"-[\d.]")


def flags_of(words: Sequence[str]) -> list[str]:
    """The words that are flags, without a joined value. ODD: a negative number is a value (case I4)."""
    return [
        word.partition("=")[0]
        for word in words
        if word.startswith("-") and word not in ("-", "--") and not _NUMBER.match(word)
    ]


def said_values(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each flag with the value after it, joined or in a word of its own; "" where there is none."""
    for at, word in enumerate(words):
        for flag in flags_of((word,)):
            _, joined, value = word.partition("=")
            then = next(iter(words[at + 1 :]), "")
            yield flag, value if joined else "" if flags_of((then,)) else then


def check_extra(words: Sequence[str], key: str, brief: Brief, rules: Rules) -> None:
    """Judge the words that a person adds to a command line. Raises `Malformed` naming the flag.

    A build that could not be asked (an empty manifest) is trusted.
    """
    known = brief.manifest
    for at, word in enumerate(words):
        for flag in flags_of((word,)):
            if reserved := _reserved(flag, rules):
                raise Malformed(teaching.extra_arg_reserved(flag, rules.because.get(reserved, "door"), key), key)
            if _SPACED.match(word) and flag not in known:
                raise Malformed(teaching.extra_arg_spaced(word[:80], key), key)
            if word != flag and flag in known and not rules.joins:
                raise Malformed(teaching.extra_arg_joined(word, flag, rules.server), key)
            if known and flag not in known:
                raise Malformed(teaching.extra_arg_unknown(flag, brief.tag), key)
            then = next(iter(words[at + 1 :]), "")
            if word == flag and _takes_value(flag, brief, rules) and _is_no_value(then, brief, rules):
                raise Malformed(teaching.extra_arg_needs_value(flag, then, key), key)


_SPACED = re.compile(r"--?[A-Za-z][\w-]* ")
"""A flag and its value in one word: no engine splits it."""


def _reserved(flag: str, rules: Rules) -> str:
    """The spelling that is reserved; llama-server reads --api_key as --api-key."""
    plain = flag.partition(" ")[0]
    return next((one for one in (plain, plain.replace("_", "-")) if one in rules.reserved), "")


def _takes_value(flag: str, brief: Brief, rules: Rules) -> bool:
    """Where the help says so; of parsers that join, brackets around it mean that it may be left out."""
    option = brief.manifest.find(flag)
    if option is None or flag in option.negative or option.kind is ValueKind.NONE:
        return False
    return not (rules.joins and option.value.startswith("["))


def _is_no_value(word: str, brief: Brief, rules: Rules) -> bool:
    """Nothing at all, or a flag that the build or we know: what else begins with a dash may be meant as a value."""
    flags = flags_of((word,))
    return not word or any(flag in brief.manifest or _reserved(flag, rules) for flag in flags)
