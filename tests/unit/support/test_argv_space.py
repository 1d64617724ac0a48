"""The space of one llama.cpp child's configurations, and what the compiler makes of it where nothing is started."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.application.config.model import Config, Override
from blazar.application.supervise.launch_plan import SUPPLIED
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Provenance
from blazar.domain.launch import Places, flags_of
from blazar.domain.manifest import Manifest, ValueKind
from tests.contract.live.test_argv_pairs_live import MANIFESTS, ROWS, rows
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.fakes.hardware import FakeDeviceLister
from tests.fakes.weights import MemoryWeightFiles, some_facts, some_shape
from tests.support import argv_space
from tests.support.argv_space import NEVER_SAID, NO_WORDS, NOT_STARTED, PAIRED, SPACE, Setup
from tests.support.manifests import golden
from tests.support.pairwise import Row, missing_pairs

MODEL = a_model("smollm2", files=("/m/smollm2.gguf",), ctx_train=8192)
THINGS = {name: f"/t/{name.strip('<>')}" for name in argv_space.THINGS} | {argv_space.WORKER: "127.0.0.1:50052"}
PLACES = Places("/t/sessions", "/t/caches", "/run/blazar")
ADDING = {flag.name for flag in LLAMACPP_FLAGS if flag.adds}


LACKED = {"cpu_ffn_n", "cpu_moe_n", "devices", "loras", "rpc_servers", "server_tools_runtime", "tensor_preset"}
"""Keys of which the wheel has a value no field for."""


class Recording(dict[str, Any]):
    """Settings that know which of them were read."""

    def __init__(self, settings: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(settings)
        self.read = read

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)


def a_setup(manifest: Manifest) -> Setup:
    there = [*MODEL.files, *THINGS.values(), "/t/sessions", "/t/caches/smollm2.ngram"]
    files = MemoryWeightFiles({path: some_facts(path) for path in there})
    files.shapes[MODEL.files[0]] = some_shape(trained=8192)
    engine = an_engine(active=True, provenance=Provenance.ARCHIVE)
    return Setup(engine, manifest, MODEL, files, THINGS, PLACES, FakeDeviceLister())


def words_of(row: Row, setup: Setup) -> tuple[str, ...]:
    plan = argv_space.planner_for(row, setup).plan(MODEL).plan
    return plan.words[len(setup.engine.words) :]


def options(words: tuple[str, ...], manifest: Manifest) -> Iterator[tuple[str, str | None]]:
    """Each flag with its value; fails for a word that is neither."""
    rest = iter(words)
    for word in rest:
        option = manifest.find(word)
        assert option is not None, f"{word} is no flag of the build, in {' '.join(words)}"
        yield word, None if option.kind is ValueKind.NONE else next(rest)


def test_the_space_holds_every_key_that_changes_a_command_line() -> None:
    """Each key of the flag table that configuration has, and each that planning reads, stands in it or says why it does not."""
    keys = argv_space.table_keys() - SUPPLIED
    read: set[str] = set()
    chance = random.Random(3)
    setup = a_setup(golden("llama-server-b11434"))
    for _ in range(40):
        planner = argv_space.planner_for(argv_space.at_random(chance), setup)
        settings = planner.settings_for
        object.__setattr__(planner, "settings_for", lambda name, of=settings: Recording(of(name), read))
        planner.plan(MODEL)
    assert SPACE.keys() - {PAIRED} <= Config().settings_for("m").keys()
    assert keys | read <= SPACE.keys() | NO_WORDS.keys()
    assert not SPACE.keys() & NO_WORDS.keys()


@pytest.mark.parametrize("lane", ROWS)
def test_every_two_values_that_can_meet_do(lane: str) -> None:
    """In the very rows that are started; what a row leaves out is what `allowed` forbids, and nothing else."""
    space = argv_space.parameters(golden(MANIFESTS[lane]), worker=lane == "archive")
    numbered = [{key: space[key].index(value) for key, value in row.items()} for row in rows(lane)]
    places = {key: range(len(values)) for key, values in space.items()}

    def possible(row: Row) -> bool:
        return argv_space.allowed({key: space[key][index] for key, index in row.items()})

    assert missing_pairs(numbered, places, possible) == []
    assert all(argv_space.allowed(row) for row in rows(lane))


def words_in(annotation: Any) -> set[str]:
    """Those of every list of words in a type."""
    if get_origin(annotation) is Literal:
        return {word for word in get_args(annotation) if isinstance(word, str)}
    return set().union(*(words_in(part) for part in get_args(annotation)))


def test_every_word_of_a_key_is_tried_or_says_why_not() -> None:
    """Also those of overrides; and no reason outlives its word."""
    for key in SPACE.keys() - {PAIRED}:
        field = Config.model_fields.get(key) or Override.model_fields[key]
        left = words_in(field.annotation) - {value for value in SPACE[key] if isinstance(value, str)} - {""}
        assert left == NOT_STARTED.get(key, {}).keys(), key
    cache = words_in(Config.model_fields["cache_type"].annotation)
    assert cache == {*SPACE["cache_type"], *SPACE["cache_type_k"]} == {*SPACE["cache_type"], *SPACE["cache_type_v"]}


def test_every_flag_of_the_table_is_said_in_some_row() -> None:
    """Of those that the build has; what no row leads to says why."""
    known, said = golden(MANIFESTS["archive"]), set[str]()
    setup = a_setup(known)
    for row in rows("archive"):
        said.update(flags_of(words_of(row, setup)))
    silent = {flag.name for flag in LLAMACPP_FLAGS if flag.name in known} - said
    assert silent == NEVER_SAID.keys()


def test_a_row_begins_at_the_defaults() -> None:
    """The first value of a key is what configuration says where nobody says anything, but for a window that fits a test."""
    plain = Config().settings_for("m")
    different = {key for key, values in SPACE.items() if key != PAIRED and values[0] != plain[key]}
    assert different == {"default_ctx"}


@pytest.mark.parametrize("lane", ROWS)
def test_the_live_test_knows_how_many_rows_there_are(lane: str) -> None:
    """It starts so many; one more would not be tried."""
    assert len(rows(lane)) == ROWS[lane]


@pytest.mark.parametrize("stem", ["llama-server-b11434", "embedded"])
def test_whatever_is_configured_is_said_in_the_build_s_own_words(stem: str) -> None:
    """500 configurations: only flags that it has, each once unless the engine adds them up, values that it lists, always the same."""
    manifest = golden(stem)
    chance, setup = random.Random(11), a_setup(manifest)
    space = argv_space.parameters(manifest, worker=stem != "embedded")
    for number in range(500):
        row = {
            key: value if value in space[key] else space[key][0] for key, value in argv_space.at_random(chance).items()
        }
        words = words_of(row, setup)
        said = list(options(words, manifest))
        names = Counter(manifest.find(name) for name, _ in said)
        twice = {option.names for option, count in names.items() if option is not None and count > 1}
        assert not [names for names in twice if not ADDING.intersection(names)], " ".join(words)
        for name, value in said:
            option = manifest.find(name)
            assert option is not None
            assert not option.choices or set((value or "").split(",")) <= set(option.choices), (name, value)
        assert number % 10 or words == words_of(dict(reversed(row.items())), setup)


def test_what_the_embedded_build_cannot_be_told_and_must_be_is_refused() -> None:
    """Each value that its live rows leave out, by the flag's name; and nothing else is left out."""
    manifest = golden("embedded")
    space, setup = argv_space.parameters(manifest, worker=True), a_setup(manifest)
    for key, values in SPACE.items():
        for value in values:
            row = {key: value, "server_tools": "all"}
            if value in space[key]:
                continue
            with pytest.raises(Malformed, match="--"):
                words_of(row, setup)
    assert {key for key in SPACE if space[key] != SPACE[key]} == LACKED


def test_things_of_a_row_are_files_that_are_there(tmp_path: Path) -> None:
    """No stand-in is left in a configuration."""
    for row in rows("archive"):
        text = argv_space.config_text(row, "m", dict.fromkeys(argv_space.THINGS, str(tmp_path)))
        assert not [name for name in argv_space.THINGS if name in text]
