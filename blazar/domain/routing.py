"""Which build serves which weights, and why not the others. Policy is the tables; nothing here starts or probes anything.

In this order: an override's pin, manual mode, the matrix of formats. Each of them chooses among engines that can serve the
weights and makes none: diffusion sets and text never share an engine, and quantised weights have one home.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import ArchitectureUnserved, Unserved
from blazar.domain.kinds import RANK, EngineKind, LaneClass, Provenance, Weights
from blazar.domain.records import Engine

MANUAL = "manual"


class Subject(NamedTuple):
    """What of a model routing looks at.

    `arch` is its architecture as the catalog spells it ("": unknown), `pin` its override: an exact tag, else a kind. `lacking`
    are tags of builds that were seen to end over this architecture, `curated` registry lanes that would serve it.
    """

    weights: Weights
    arch: str = ""
    pin: str = ""
    lacking: frozenset[str] = frozenset()
    curated: tuple[str, ...] = ()


class Rules(NamedTuple):
    """The table `[engine_routing]`."""

    mode: str = "auto"
    policy: str = "quality"


class Lane(NamedTuple):
    """Kinds in order of preference, and the reason for both the order and the gaps."""

    kinds: tuple[EngineKind, ...]
    why: str


# The first two rows look alike on disk: whoever tells weights apart asks for MLX first, because nothing else decodes it.
LANES: dict[Weights, Lane] = {
    Weights.MLX_QUANT: Lane((EngineKind.MLX,), "only mlx-lm decodes MLX quantisation"),
    Weights.QUANTIZED: Lane((EngineKind.SGLANG,), "every other engine was seen to answer garbage on AWQ, GPTQ and FP8"),
    Weights.GGUF: Lane((EngineKind.LLAMACPP, EngineKind.MISTRALRS), "llama.cpp is the home of the format"),
    Weights.SAFETENSORS: Lane((EngineKind.SGLANG, EngineKind.MISTRALRS), "SGLang batches better where it runs"),
    Weights.DIFFUSION: Lane(
        (EngineKind.SDCPP,), "diffusion components are no text model, and text is none of its business"
    ),
}

# What a policy changes; for all others the format alone decides.
BY_POLICY: dict[tuple[Weights, str], Lane] = {
    (Weights.SAFETENSORS, "latency"): Lane(
        (EngineKind.MISTRALRS, EngineKind.SGLANG), "mistral.rs starts sooner and answers one request at once"
    ),
}


class Rejected(NamedTuple):
    """A lane (a kind or a build's tag) that was not taken, with the sentence that says why. Kinds have no class."""

    lane: str
    reason: str
    lane_class: LaneClass | None = None


class Route(NamedTuple):
    """The build that serves, why, and every other lane with its reason."""

    engine: Engine
    why: str
    rejected: tuple[Rejected, ...]


def route_format(weights: Weights, policy: str = "quality") -> Lane:
    """Who may serve these weights, in order."""
    return BY_POLICY.get((weights, policy), LANES[weights])


def lane_class(engine: Engine) -> LaneClass:
    """Forks are for what mainstream lacks, wherever else they may rank."""
    return LaneClass.FORK if engine.provenance is Provenance.FORK else LaneClass.MAINSTREAM


def lacks(engine: Engine, subject: Subject) -> bool:
    """Whether it is known not to serve the architecture: it ended over it, or it says what it serves and this is not there."""
    if engine.tag in subject.lacking:
        return True
    return bool(subject.arch and engine.architectures) and subject.arch not in engine.architectures


def lane_for(
    subject: Subject, engines: Sequence[Engine], driven: Collection[EngineKind], rules: Rules | None = None
) -> Route:
    """The build that serves. `driven` are kinds that there is a driver for.

    Raises `Unserved` with the sentence that says what to do; `ArchitectureUnserved` where only the architecture is in the way.
    """
    rules = rules or Rules()
    lane = route_format(subject.weights, rules.policy)
    if subject.pin:
        chosen, why = _pinned(subject, lane, engines, driven), teaching.lane_pinned_away(subject.pin)
    elif rules.mode == MANUAL and (single := active_engine(engines)) is not None:
        chosen, why = _manual(subject, lane, single, engines, driven), teaching.lane_manual(single.tag)
    else:
        chosen, why = _by_format(subject, lane, engines, driven)
    return Route(chosen, why, rejections(subject, engines, driven, rules, chosen))


def _by_format(
    subject: Subject, lane: Lane, engines: Sequence[Engine], driven: Collection[EngineKind]
) -> tuple[Engine, str]:
    usable = [kind for kind in lane.kinds if kind in driven]
    if (chosen := _best(usable, subject, engines)) is None:
        raise _nothing(subject, lane.kinds, engines, driven)
    first = next(iter(_builds(usable, engines, LaneClass.MAINSTREAM)), None)
    return chosen, lane.why if chosen is first else teaching.lane_for_architecture(subject.arch, chosen.tag)


def active_engine(engines: Sequence[Engine]) -> Engine | None:
    """The single one that manual mode knows: of the active builds the one that a person chose last.

    Where nobody ever chose: the best rank, then the newest.
    """
    active = (engine for engine in engines if engine.active)
    return max(active, key=lambda one: (one.used_at, -RANK[one.provenance], one.installed_at), default=None)


def _builds(kinds: Sequence[EngineKind], engines: Sequence[Engine], wanted: LaneClass) -> list[Engine]:
    """Builds of one class, kind after kind: the active one, then by rank (D20), then newest first."""

    def preference(one: Engine) -> tuple[int, bool, int, float, str]:
        return kinds.index(one.kind), not one.active, RANK[one.provenance], -one.installed_at, one.tag

    return sorted((one for one in engines if one.kind in kinds and lane_class(one) is wanted), key=preference)


def _best(kinds: Sequence[EngineKind], subject: Subject, engines: Sequence[Engine]) -> Engine | None:
    """The first mainstream build; where it lacks the architecture, whoever advertises it, mainstream before forks.

    A lack that is known by its list alone is tried when nobody advertises: a list may be older than the build.
    """
    mainstream = _builds(kinds, engines, LaneClass.MAINSTREAM)
    if mainstream and not lacks(mainstream[0], subject):
        return mainstream[0]
    for engine in (*mainstream, *_builds(kinds, engines, LaneClass.FORK)):
        if engine.tag not in subject.lacking and subject.arch in engine.architectures:
            return engine
    return mainstream[0] if mainstream and mainstream[0].tag not in subject.lacking else None


def _pinned(subject: Subject, lane: Lane, engines: Sequence[Engine], driven: Collection[EngineKind]) -> Engine:
    pin, tags = subject.pin, [engine.tag for engine in engines]
    exact = next((engine for engine in engines if engine.tag == pin), None)
    if exact is None and pin not in set(EngineKind):
        raise Unserved(teaching.pin_names_nothing(pin, [*EngineKind], tags))
    kind = exact.kind if exact is not None else EngineKind(pin)
    _gate(subject, lane, kind, tags, teaching.lane_pinned_away(pin))
    if kind not in driven:
        raise Unserved(teaching.lane_no_driver(kind))
    if exact is not None:
        return _alive(exact, subject, engines)
    if (chosen := _best([kind], subject, engines)) is not None:
        return chosen
    if any(engine.kind is kind for engine in engines):
        raise _nothing(subject, [kind], engines, driven)
    raise Unserved(teaching.pin_not_installed(kind, tags))


def _manual(
    subject: Subject, lane: Lane, single: Engine, engines: Sequence[Engine], driven: Collection[EngineKind]
) -> Engine:
    suited = _builds([kind for kind in lane.kinds if kind in driven], engines, LaneClass.MAINSTREAM)
    ways = teaching.ways_out_of_manual(suited[0].tag if suited else "")
    _gate(
        subject, lane, single.kind, [engine.tag for engine in engines], teaching.by_manual_mode(single.tag), ways=ways
    )
    if single.kind not in driven:
        raise Unserved(teaching.lane_no_driver(single.kind))
    return _alive(single, subject, engines)


def _alive(engine: Engine, subject: Subject, engines: Sequence[Engine]) -> Engine:
    """The build that somebody insists on, unless it has ended over this architecture before."""
    if engine.tag in subject.lacking:
        raise architecture_unserved(subject, engines)
    return engine


def _gate(subject: Subject, lane: Lane, kind: EngineKind, tags: Sequence[str], chosen: str, *, ways: str = "") -> None:
    """Neither a pin nor manual mode makes an engine able to serve what it cannot; `chosen` says who asked for it.

    `ways` are others than a pin out of it.
    """
    if kind in lane.kinds:
        return
    if subject.weights is Weights.DIFFUSION:
        raise Unserved(teaching.diffusion_elsewhere(chosen, kind, tags) + ways)
    if kind is EngineKind.SDCPP:
        raise Unserved(teaching.text_on_diffusion(chosen, subject.weights, lane.kinds, tags) + ways)
    raise Unserved(teaching.chosen_cannot_serve(chosen, kind, subject.weights, lane.kinds, tags) + ways)


def architecture_unserved(subject: Subject, engines: Sequence[Engine]) -> ArchitectureUnserved:
    """What is said where engines of the right kind are installed and none of them knows the architecture."""
    dead = [engine.tag for engine in engines if engine.tag in subject.lacking]
    tags = [engine.tag for engine in engines]
    return ArchitectureUnserved(teaching.architecture_unserved(subject.arch, dead, tags, subject.curated))


_UNSERVED = {
    Weights.MLX_QUANT: teaching.mlx_unserved,
    Weights.QUANTIZED: teaching.quantized_unserved,
    Weights.DIFFUSION: teaching.diffusion_unserved,
}
"""Weights that have one home, and what is said where it is missing."""


def _nothing(
    subject: Subject, kinds: Sequence[EngineKind], engines: Sequence[Engine], driven: Collection[EngineKind]
) -> Unserved:
    tags = [engine.tag for engine in engines]
    there = [engine for engine in engines if engine.kind in kinds]
    if there and not any(engine.kind in driven for engine in there):
        return Unserved(teaching.lane_no_driver(there[0].kind))
    if any(engine.tag in subject.lacking for engine in there):
        return architecture_unserved(subject, engines)
    if forks := [engine.tag for engine in there if engine.kind in driven]:
        # Anything else of a kind that is driven would have been taken.
        return Unserved(teaching.only_forks(forks, kinds[0], tags))
    if subject.weights is Weights.GGUF:
        return Unserved(teaching.no_engine(kinds[0], tags))
    if (say := _UNSERVED.get(subject.weights)) is not None:
        return Unserved(say(tags))
    return Unserved(teaching.no_lane(subject.weights, kinds, tags))


def rejections(
    subject: Subject,
    engines: Sequence[Engine],
    driven: Collection[EngineKind],
    rules: Rules | None = None,
    chosen: Engine | None = None,
) -> tuple[Rejected, ...]:
    """Every lane but `chosen` with the first reason that holds; all of them when nothing can serve.

    Of the kind that serves, and of every kind where none does, each build has its own reason.
    """
    rules = rules or Rules()
    lane = route_format(subject.weights, rules.policy)
    single = active_engine(engines) if rules.mode == MANUAL else None
    found: list[Rejected] = []
    for kind in EngineKind:
        builds = [one for wanted in LaneClass for one in _builds([kind], engines, wanted)]
        impossible = _impossible(kind, subject, lane, driven)
        if impossible or not builds:
            found.append(Rejected(kind, impossible or teaching.lane_no_build(kind)))
        elif chosen is None or kind is chosen.kind:
            found += [
                Rejected(one.tag, _build_reason(one, subject, single, chosen), lane_class(one))
                for one in builds
                if one is not chosen
            ]
        else:
            found.append(Rejected(kind, _kind_reason(builds[0], subject, single, chosen, lane)))
    return tuple(found)


def _impossible(kind: EngineKind, subject: Subject, lane: Lane, driven: Collection[EngineKind]) -> str:
    if kind not in lane.kinds:
        return teaching.lane_cannot(kind, subject.weights, lane.why)
    return teaching.lane_no_driver(kind) if kind not in driven else ""


def _away(subject: Subject, single: Engine | None) -> str:
    """Why the choice was none: the pin, or the one engine of manual mode."""
    if subject.pin:
        return teaching.lane_pinned_away(subject.pin)
    return teaching.lane_manual(single.tag) if single is not None else ""


def _unable(engine: Engine, subject: Subject) -> str:
    """What keeps this build from serving the architecture, as far as is known."""
    if engine.tag in subject.lacking:
        return teaching.lane_died_over(engine.tag, subject.arch)
    return teaching.lane_lacks(engine.tag, subject.arch) if lacks(engine, subject) else ""


def _build_reason(engine: Engine, subject: Subject, single: Engine | None, chosen: Engine | None) -> str:
    if reason := _away(subject, single) or _unable(engine, subject):
        return reason
    if lane_class(engine) is LaneClass.FORK:
        return teaching.lane_fork_waits(engine.tag)
    if chosen is not None and not chosen.active:
        return teaching.lane_not_preferred(
            engine.tag, chosen.tag, teaching.lane_for_architecture(subject.arch, chosen.tag)
        )
    if (
        chosen is not None
        and engine.provenance is Provenance.EMBEDDED
        and RANK[chosen.provenance] < RANK[engine.provenance]
    ):
        return teaching.lane_stand_in(engine.tag)  # `engine use` refuses it beside a build of better rank
    # Where nothing serves, a mainstream build that nothing keeps from it would have been taken.
    return teaching.lane_not_active(engine.tag, chosen.tag if chosen is not None else "")


def _kind_reason(best: Engine, subject: Subject, single: Engine | None, chosen: Engine, lane: Lane) -> str:
    return (
        _away(subject, single)
        or _unable(best, subject)
        or (teaching.lane_fork_waits(best.tag) if lane_class(best) is LaneClass.FORK else "")
        or teaching.lane_not_preferred(best.kind, chosen.kind, lane.why)
    )
