"""The table of every configuration key (`tests/fixtures/every_key.toml`): how its rows are read, and where a key lands.

A row is a question (a default, a value, what has to stand beside it) and what comes of it: words and variables of a child of each
engine kind, parts of the gateway that are another, and the sentences that refuse wrong values.
"""

import asyncio
import json
import re
import shlex
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.files.folders import Folders
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.application.config.knob import Keys, table_in
from blazar.application.config.layers import Loaded, load_config
from blazar.application.config.live import LiveConfig
from blazar.application.config.log_filter import LogFilter, parse_filter
from blazar.application.config.model import SECTIONS, Config, Override
from blazar.application.engines.prune_engines import superfluous
from blazar.application.ops.channel_rows import update_rows
from blazar.application.supervise.endpoint import endpoint_for
from blazar.composition.answering import cache_settings, lane_limits
from blazar.composition.daemon import routing_rules, supervision_limits
from blazar.composition.exporting import collector_of, scrubbing
from blazar.composition.forks import fork_days, registry_url
from blazar.composition.foundation import Foundation
from blazar.composition.lifespan import running
from blazar.composition.listener import bind
from blazar.composition.raw_lanes import handling
from blazar.composition.registries import registry_hosts
from blazar.composition.releasing import downloads_of, sources_of
from blazar.composition.samplers import held_in
from blazar.composition.securing import certificates_of
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Malformed
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.routing import Subject, lane_for
from tests.fakes.engines import an_engine
from tests.fakes.telemetry import a_served
from tests.support.golden_argv import FIXTURES, Case

FILE = FIXTURES / "every_key.toml"
PATH = "config.toml"
OVERRIDE = "model_overrides."
MODEL = "m"

REPEATED: Mapping[str, Mapping[str, str]] = {
    "keys": {"name": '"a"', "key": '"plm_a"'},
    "remotes": {"name": '"peer"', "url": '"https://peer.example"'},
    "mcp": {"name": '"s"', "command": '["server"]'},
    "failover": {"name": '"n"', "alias": '"chain"', "targets": '[{ model = "x" }]'},
    "failover.targets": {"model": '"x"'},
}
"""Tables that stand in the file once for every entry, and what an entry must have."""
EITHER = ("mcp.command", "mcp.url")
"""One of them must be there."""


class Row(NamedTuple):
    """One key by the name that settings have (`sglang.tp_size`; an override-only key is `model_overrides.KEY`)."""

    name: str
    text: Mapping[str, Any]

    @property
    def table(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def spelled(self) -> str:
        """As a refusal names it."""
        return self.name.replace(OVERRIDE, f"{OVERRIDE}{MODEL}.")

    @property
    def scene(self) -> str:
        return str(self.text.get("scene", ""))

    def lines(self, value: str) -> list[str]:
        """The file that says this value and what has to stand beside it; without a value, only the latter. The key is the last line."""
        said = [f"{self.key} = {value}"] if value else []
        beside = [*self.text.get("beside", ()), *(self.text.get("together", ()) if value else ())]
        if self.table not in REPEATED:
            within = [*self.text.get("within", ()), *said]
            return (
                beside + ([f"[{self.table.replace(OVERRIDE[:-1], OVERRIDE + MODEL)}]"] if self.table else []) + within
            )
        if not value and (self.text.get("required") or self.name in EITHER):
            return beside  # no entry at all
        required = [f"{key} = {text}" for key, text in REPEATED[self.table].items() if key != self.key]
        return [*beside, *_opened(self.table), *self.text.get("within", required), *said]

    def config(self, value: str = "") -> str:
        return "\n".join(self.lines(value)) + "\n"

    def held(self, loaded: Loaded) -> Any:
        """What the configuration has under this name; of entries, the first one's."""
        place: Any = loaded.config
        if self.name.startswith(OVERRIDE):
            return getattr(place.model_overrides[MODEL], self.key)
        for part in self.name.split("."):
            place = getattr(place[0] if isinstance(place, tuple) else place, part)
        return place


def _opened(table: str) -> list[str]:
    if table != "failover.targets":
        return [f"[[{table}]]"]
    return ["[[failover]]", 'name = "n"', 'alias = "chain"', "[[failover.targets]]"]


def rows() -> list[Row]:
    """The table as it is kept."""
    return [Row(name, text) for name, text in tomllib.loads(FILE.read_text(encoding="utf-8")).items()]


def declared() -> dict[str, Any]:
    """Every key by its row's name with its field, in the order of the documentation."""
    found = {name: field for section in SECTIONS for name, field in _fields(section, "")}
    only = {OVERRIDE + name: field for name, field in Override.model_fields.items() if name not in Config.model_fields}
    return found | only


def _fields(table: type[Keys], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, field in table.model_fields.items():
        inner = table_in(field.annotation)
        if inner is None:
            yield prefix + name, field
        else:
            yield from _fields(inner, f"{prefix}{name}.")


def refusal(text: str, env: Mapping[str, str] | None = None) -> str:
    """The one sentence that refuses it; "" where it is taken."""
    try:
        load_config(text, PATH, env)
    except BadConfig as bad:
        (sentence,) = bad.problems
        return sentence
    return ""


# --- What a child is told --------------------------------------------------------------------------------------------

_CARD = {"vendor": "nvidia", "gib": 24, "kind": "cuda", "compute_capability": "8.9"}
_FOLDER = ["/data/models/m/model.safetensors"]
_SHAPE = {"blocks": 32, "heads": 32, "kv_heads": 8}
SCENES: Mapping[EngineKind, Mapping[str, Any]] = {
    # A model of each kind on one card of a machine that holds it with ease.
    EngineKind.LLAMACPP: {
        "model": {"ctx_train": 32768, "gib": 1, "shape": {"blocks": 16}, "projector": "/models/mmproj.gguf"},
        "manifest": "llama-server-b11434",
        "places": {"sessions": "/data/sessions", "lookup_cache": "/data/speccache"},
        "files": [
            *("/data/sessions", "/data/speccache/m.ngram", "/models/mmproj.gguf", "/m/own.gguf"),
            *("/c/static", "/c/dynamic", "/l/a.gguf", "/d/draft.gguf"),
        ],
    },
    EngineKind.SGLANG: {
        "model": {
            "weights": "safetensors",
            "files": _FOLDER,
            "gib": 8,
            "arch": "llama",
            "ctx_train": 131072,
            "shape": _SHAPE,
        },
        "manifest": "sglang-0.5.23",
    },
    EngineKind.MISTRALRS: {
        "model": {"files": ["/data/models/m.gguf"], "gib": 8, "arch": "llama", "ctx_train": 131072, "shape": _SHAPE},
        "manifest": "mistralrs-0.9.2",
    },
    EngineKind.MLX: {"model": {"weights": "mlx", "files": _FOLDER, "gib": 4}, "manifest": "mlx-lm-0.32.2"},
    EngineKind.SDCPP: {
        "model": {"weights": "diffusion", "files": ["/data/models/m/dit.gguf"], "gib": 6},
        "manifest": None,  # the recorded build is older than half of the keys
        "beside": {
            "components": {"diffusion_model": "/data/models/m/dit.gguf", "vae": "/data/models/m/vae.safetensors"}
        },
    },
}
_CARDS = {"ram_gib": 128, "cores": 8, "gpus": [_CARD, _CARD], "cuda": "12.8"}
_DRAFT = {"draft": "/d/draft.gguf", "draft_family": "eagle3"}
OTHER_SCENES: Mapping[str, Mapping[str, Any]] = {
    "": {},
    # Two cards, and a model that neither holds alone.
    "cards": {
        "model": {"ctx_train": 32768, "gib": 30, "shape": {"blocks": 48}},
        "machine": _CARDS,
    },
    # A draft was pulled for the model.
    "draft": {"beside": _DRAFT},
    "draft and cards": {"beside": _DRAFT, "machine": _CARDS},
}
_PATHS = re.compile(r"/[\w./-]+")
_MACHINE = {"ram_gib": 64, "cores": 8, "gpus": [_CARD], "cuda": "12.8"}


class Told(NamedTuple):
    """What a child gets: words in the groups in which they belong together, and variables as NAME=VALUE."""

    words: tuple[str, ...]
    env: tuple[str, ...]


@cache
def told(kind: EngineKind, config: str, scene: str) -> Told:
    """The launch that the planner makes of it."""
    question = {"kind": kind, "config": config, "machine": _MACHINE, **SCENES[kind]}
    other = OTHER_SCENES[scene]
    # Cards and a large model are llama.cpp's; a draft is anybody's.
    question |= other if kind is EngineKind.LLAMACPP else {}
    question["beside"] = {**SCENES[kind].get("beside", {}), **other.get("beside", {})}
    # Whatever a row names is there: what is not there is refused, which is another test's matter.
    question["files"] = [*question.get("files", ()), *_PATHS.findall(f"{config} {question['beside']}")]
    came = Case(Path(kind, "every key"), question).compiled()
    assert "refused" not in came, came["refused"]
    words = tuple(shlex.join(one["words"]) for one in came["decisions"] if one["words"])
    return Told(words, tuple(f"{name}={value}" for name, value in sorted(came["env"].items())))


def changes(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """`- what is gone`, then `+ what is new`."""
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    return [f"- {one}" for one in before if one in gone] + [f"+ {one}" for one in after if one in new]


def children(row: Row, value: str) -> dict[str, dict[str, list[str]]]:
    """`argv` and `env`: by engine kind, what a child is told otherwise because of this value."""
    found: dict[str, dict[str, list[str]]] = {"argv": {}, "env": {}}
    for kind in EngineKind:
        if kind not in row.text.get("kinds", SCENES):
            continue
        before, after = (told(kind, row.config(said), row.scene) for said in ("", value))
        found["argv"][kind] = changes(before.words, after.words)
        found["env"][kind] = changes(before.env, after.env)
    return {what: {kind: list_ for kind, list_ in by.items() if list_} for what, by in found.items()}


# --- What the gateway is ---------------------------------------------------------------------------------------------


class Built(NamedTuple):
    """A configuration and the first parts that the daemon makes of it."""

    config: Config
    foundation: Foundation


def _listens(built: Built) -> list[Any]:
    """A fixed port is not bound: it may be taken."""
    host, port = built.config.host, built.config.port
    with bind(host, 0) as listener:
        return [listener.getsockname()[0], port or "a free one"]


def _audited(built: Built) -> bool:
    file = built.foundation.folders.log / "audit.jsonl"
    file.unlink(missing_ok=True)

    async def serve() -> None:
        async with running(built.foundation.parts()):
            built.foundation.meter.on_served(a_served())

    asyncio.run(serve())
    return file.exists()


def _logged(built: Built) -> LogFilter:
    return parse_filter(built.config.log_level or "")


def _routed(built: Built) -> str:
    pin = built.config.settings_for(MODEL)["engine"]
    engines = [an_engine("b1", active=True), an_engine("b2", active=False)]
    return lane_for(Subject(Weights.GGUF, pin=pin), engines, {EngineKind.LLAMACPP}).engine.tag


def _secured(built: Built) -> str:
    """No such files: the sentence names them."""
    try:
        certificates_of(built.config)
    except Malformed as error:
        return str(error)
    return ""


def _endpoint(built: Built) -> list[Any]:
    at = endpoint_for(built.config.settings_for(MODEL), MODEL, LLAMACPP, "/run/blazar")
    return [at.socket, at.auth]


def _pruned(built: Built) -> list[str]:
    """Of three builds, those that the next install takes away."""
    builds = [an_engine(f"b{number}", installed_at=float(number), active=number == 3) for number in (1, 2, 3)]
    return superfluous(builds, EngineKind.LLAMACPP, built.config.keep_tags)


def _releases(built: Built) -> dict[str, Any]:
    """Channel, flavor, by how many connections a large file comes, whether a gigabyte at once is too fast, and whether it looks."""

    def too_fast(_: float) -> None:
        raise TimeoutError

    sources, downloads = sources_of(built.config, {}), downloads_of(built.config, {}, built.foundation.throttle)
    limited = False
    try:
        downloads.rules.pay(10**9, too_fast)
    except TimeoutError:
        limited = True
    looks = [row.detail for row in update_rows(built.config.engine_check_secs, ())]
    found = {"channel": sources.channel, "asset": sources.asset, "connections": downloads.rules.connections(1 << 30)}
    return {**found, "limited": limited, "looks": looks != [teaching.doctor_updates_off()]}


PARTS: Mapping[str, Callable[[Built], Any]] = {
    "listener": _listens,
    # What an entry does not say is left out.
    "doors.keys": lambda built: [
        {name: value for name, value in key._asdict().items() if value is not None}
        for key in built.foundation.doors().keys
    ],
    "doors.cors_origins": lambda built: built.foundation.doors().cors_origins,
    "doors.allowed_hosts": lambda built: built.foundation.doors().allowed_hosts,
    "log": _logged,
    "audit": _audited,
    "lane": lambda built: lane_limits(built.config)._asdict(),
    "semantic_cache": lambda built: cache_settings(built.config)._asdict(),
    # What a request with tools for a model without a place for them would get.
    "raw": lambda built: {
        **handling(built.config, "m")._asdict(),
        "marked": built.config.settings_for("m")["ollama_compat"],
    },
    "collector": lambda built: collector_of(built.config),
    "scrubbed": lambda built: scrubbing(built.foundation.live)("me@example.org"),
    "certificate": _secured,
    "sampling": lambda built: held_in(built.config).get("m", {}),
    "supervisor": lambda built: {
        **supervision_limits(built.config)._asdict(),
        "pinned": sorted(supervision_limits(built.config).pinned),
    },
    "preload": lambda built: built.config.wanted_at_start,
    "engine": _routed,
    "pruned": _pruned,
    "releases": _releases,
    "routing": lambda built: routing_rules(built.foundation.live)._asdict(),
    "forks": lambda built: {
        "days": fork_days(built.foundation.live),
        "registry": registry_url(built.config.capability_registry_url),
    },
    "endpoint": _endpoint,  # socket, and whether the child asks for a secret
    "pulls.hosts": lambda built: registry_hosts(built.config),
    "probe": lambda built: dict(built.foundation.live.engine_env),
}


@cache
def parts(config: str) -> dict[str, Any]:
    """Every part that configuration decides; what has several numbers is `part.number`."""
    loaded = load_config(config, PATH)
    with tempfile.TemporaryDirectory() as folder:
        folders = Folders(Path(folder) / PATH, Path(folder) / "data").ensure()
        log = DaemonLog(folders.run / "daemon.log", parse_filter("off"), MonotonicClock()).open()
        try:
            built = Built(LiveConfig(loaded).config, Foundation(loaded, folders, log, "http://127.0.0.1:1"))
            found = {name: make(built) for name, make in PARTS.items()}
        finally:
            log.close()
    flat: dict[str, Any] = {}
    for name, part in found.items():
        numbers = (
            part if name in ("forks", "lane", "raw", "releases", "routing", "semantic_cache", "supervisor") else None
        )
        flat |= {f"{name}.{key}": one for key, one in numbers.items()} if numbers else {name: part}
    plain: dict[str, Any] = json.loads(json.dumps(flat))
    return plain


def gateway(row: Row, value: str) -> dict[str, Any]:
    """Parts that are another because of this value."""
    before, after = parts(row.config()), parts(row.config(value))
    return {name: part for name, part in after.items() if part != before[name]}


# --- The file --------------------------------------------------------------------------------------------------------


def came(row: Row) -> dict[str, Any]:
    """What comes of a row's question, as the table has it."""
    value = str(row.text["valid"])
    found: dict[str, Any] = {**children(row, value), "gateway": gateway(row, value)}
    found["refused"] = {bad: refusal(row.config(bad)) for bad in row.text["refused"]}
    found["variables"] = {
        name: {said: refusal("", {name: said}) for said in texts}
        for name, texts in row.text.get("variables", {}).items()
    }
    return {what: outcome for what, outcome in found.items() if outcome}


QUESTION = ("default", "required", "kinds", "scene", "beside", "together", "within", "valid")
OUTCOME = ("argv", "env", "gateway", "refused", "variables")


def page(table: Sequence[Row]) -> str:
    """The table as it is written: the keys in their order, a question and its outcome each."""
    head = "".join(f"# {line}\n" for line in HEAD)
    return head + "".join(f"\n[{_quoted(row.name)}]\n{_row(row.text)}" for row in table)


HEAD = (
    "One row for every configuration key; tests/support/every_key.py reads it, tests/contract/shape/test_every_key.py holds it.",
    "default: none where the key is unset. valid: another value, as it is written in the file; beside and within: lines that it needs at",
    "the root and in its table; together: lines that are not good without it either. kinds: engine kinds that can take it (left out: all).",
    "scene: left out or one of OTHER_SCENES. What comes of valid: argv, env (by engine kind: - gone, + new) and gateway (parts that become",
    "another). A row without any of them stands in application/config/waiting.py. refused: a wrong value and its sentence. variables: what a variable",
    'says and the sentence that refuses it; "" where it means the same as valid.',
    "A new key: a row with default, valid and refused (sentences may be empty), then BLAZAR_GOLDEN=write pytest on that test, then read.",
)


def _row(text: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_toml(text[key])}\n" for key in QUESTION if key in text]
    for key in OUTCOME:
        for name, outcome in text.get(key, {}).items():
            lines += _outcome(f"{key}.{_quoted(name)}", outcome)
    return "".join(lines)


def _outcome(place: str, outcome: Any) -> Iterator[str]:
    if isinstance(outcome, dict):
        yield from (line for name, one in outcome.items() for line in _outcome(f"{place}.{_quoted(name)}", one))
    else:
        yield f"{place} = {_toml(outcome)}\n"


def _quoted(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        # A literal, unless it cannot be one: most values hold quotes of their own.
        return f"'{value}'" if "'" not in value and '"' in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_quoted(key)} = {_toml(one)}" for key, one in value.items()) + " }" if value else "{}"
        )
    return json.dumps(value)
