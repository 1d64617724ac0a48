"""Every configuration key: its default, another value and where that lands, wrong values and the exact sentences that refuse them.

The rows stand in tests/fixtures/every_key.toml. A key without one fails here. `BLAZAR_GOLDEN=write` writes anew what comes of them;
read the difference against the setup document before it is kept.
"""

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import blazar
from blazar.application.config.environment import variables
from blazar.application.config.knob import knob_of
from blazar.application.config.layers import Origin, load_config
from blazar.application.config.model import GROUPS, MODEL_KEYS, Config, Override, section_of
from blazar.application.config.tuning import INSIDE, TUNINGS
from blazar.application.config.variables import VARIABLES
from blazar.application.config.waiting import WAITING
from blazar.domain import teaching
from tests.support.every_key import (
    FILE,
    MODEL,
    OUTCOME,
    OVERRIDE,
    PATH,
    QUESTION,
    REPEATED,
    Row,
    came,
    children,
    declared,
    gateway,
    page,
    refusal,
    rows,
)
from tests.support.shared import shared

DECLARED = declared()


def written() -> list[Row]:
    """The table with what comes of it now, in the order of the declaration."""
    order = {name: at for at, name in enumerate(DECLARED)}
    asked = sorted((row for row in rows() if row.name in order), key=lambda row: order[row.name])
    table = [
        Row(row.name, {**{key: row.text[key] for key in QUESTION if key in row.text}, **came(row)}) for row in asked
    ]
    FILE.write_text(page(table), encoding="utf-8")
    return table


TABLE = written() if os.environ.get("BLAZAR_GOLDEN") == "write" else rows()
BY_NAME = {row.name: row for row in TABLE}
every_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)


def among(*names: str) -> Any:
    """Rows of those names, as far as they have one: another test says which are missing."""
    return pytest.mark.parametrize(
        "row", [BY_NAME[name] for name in names if name in BY_NAME], ids=lambda row: row.name
    )


def plain(value: Any) -> Any:
    """As TOML says it."""
    return json.loads(json.dumps(value))


def why(sentence: str, row: Row) -> str:
    """A refusal from the key on, which its line does not change."""
    head, mark, rest = sentence.partition(f"'{row.spelled}")
    assert mark, f"the sentence does not name {row.spelled}: {sentence}"
    assert re.fullmatch(rf"{re.escape(PATH)} line \d+: ", head)
    return rest


# --- The table is complete -------------------------------------------------------------------------------------------


def test_every_key_has_its_row() -> None:
    """What is declared has a row, and no row is of a key that is gone."""
    missing = [name for name in DECLARED if name not in BY_NAME]
    gone = [name for name in BY_NAME if name not in DECLARED]
    assert not missing, (
        f"{', '.join(missing)}: no row in {FILE.name}. Add one (its head says how): default, a valid other value, a wrong one; "
        "then let BLAZAR_GOLDEN=write fill in where it lands, and read that"
    )
    assert not gone, f"{', '.join(gone)}: rows in {FILE.name} of keys that are not declared; take them out"


def test_the_table_is_written_in_one_way() -> None:
    """In the order of the declaration, so that what BLAZAR_GOLDEN=write writes differs in what has changed and nothing else."""
    order = [name for name in DECLARED if name in BY_NAME]
    assert FILE.read_text(encoding="utf-8") == page([BY_NAME[name] for name in order])


@every_row
def test_a_row_says_everything(row: Row) -> None:
    """Another value, a wrong one, and a variable for each that the key has."""
    assert set(row.text) <= {*QUESTION, *OUTCOME}
    assert row.text["valid"]
    assert row.text["refused"], "a wrong value is missing"
    assert set(row.text.get("variables", {})) == set(knob_of(DECLARED[row.name]).env)


# --- What a key is ---------------------------------------------------------------------------------------------------


@every_row
def test_a_default_is_the_rows(row: Row) -> None:
    """A key that must be said has none; one that is unset has none either."""
    field = DECLARED[row.name]
    assert field.is_required() is row.text.get("required", False)
    if not field.is_required():
        assert plain(field.default) == row.text.get("default")


@every_row
def test_another_value_is_held(row: Row) -> None:
    """Read from the file, it is no longer the default, and belongs to the file."""
    loaded = load_config(row.config(row.text["valid"]), PATH)
    assert plain(row.held(loaded)) != row.text.get("default")
    if "." not in row.name:
        assert loaded.origins[row.name] == Origin("file", f"line {len(row.lines(row.text['valid']))}")


@every_row
def test_another_value_lands_where_its_row_says(row: Row) -> None:
    """And nowhere else: no other engine kind is told of it, and no other part of the gateway changes."""
    value = row.text["valid"]
    assert children(row, value) == {what: row.text.get(what, {}) for what in ("argv", "env")}
    assert gateway(row, value) == row.text.get("gateway", {})


@every_row
def test_a_key_that_lands_nowhere_waits_for_its_reader(row: Row) -> None:
    """In WAITING, itself or with the table that it belongs to; one that lands somewhere does not stand there."""
    parts = row.name.removeprefix(OVERRIDE).split(".")
    listed = any(".".join(parts[:length]) in WAITING for length in range(1, len(parts) + 1))
    lands = any(row.text.get(what) for what in ("argv", "env", "gateway"))
    assert lands is not listed, (
        f"{row.name} {'lands, take it out of' if lands else 'lands nowhere: add it to'} application/config/waiting.py"
    )


@every_row
def test_wrong_values_are_refused_with_their_sentence(row: Row) -> None:
    """Line, key, what it must be; one sentence a mistake."""
    refused = row.text["refused"]
    assert {value: refusal(row.config(value)) for value in refused} == refused
    assert all(why(sentence, row) for sentence in refused.values())


# --- Variables -------------------------------------------------------------------------------------------------------

with_variables = among(*(key for _, key in variables()))
FREE = frozenset({"RUST_LOG"})
"""Nothing that it can say is refused: it speaks to other programs too."""


@with_variables
def test_a_variable_means_the_same_as_the_file(row: Row) -> None:
    """And is who set the key."""
    value = row.held(load_config(row.config(row.text["valid"]), PATH))
    for name, texts in row.text["variables"].items():
        (said,) = (text for text, sentence in texts.items() if not sentence)
        loaded = load_config("", PATH, {name: said})
        assert (row.held(loaded), loaded.origins[row.name]) == (value, Origin("environment", name))


@with_variables
def test_a_variable_is_refused_with_its_sentence(row: Row) -> None:
    """It names the variable, for there is no line."""
    for name, texts in row.text["variables"].items():
        wrong = {text: sentence for text, sentence in texts.items() if sentence}
        assert {text: refusal("", {name: text}) for text in wrong} == wrong
        assert bool(wrong) is (name not in FREE)
        assert all(sentence.startswith(f"environment variable {name}: '{row.name}' ") for sentence in wrong.values())


READERS = {
    # Modules that read it; none: what it is for is not built yet.
    "BLAZAR_HOST": ("adapters/cli/locate.py",),
    "BLAZAR_KEYS": ("adapters/cli/locate.py", "adapters/engines/environment.py", "application/config/bootstrap.py"),
    "BLAZAR_API_KEY": ("adapters/cli/locate.py",),
    "BLAZAR_DEBUG": ("__main__.py",),
    # Spelled there for its readers: composition/registries.py and two verbs.
    "BLAZAR_REGISTRY_BASE": ("domain/references.py",),
    "BLAZAR_REGISTRY_TOKEN": ("composition/registries.py",),
    "BLAZAR_GH_BASE": ("adapters/net/places.py",),
    "BLAZAR_REPO": ("application/engines/pick_release.py",),
    "BLAZAR_INSTALL_BASE_URL": ("adapters/net/places.py",),
    # The finder reads it; the others name it where what it says cannot be used.
    "BLAZAR_ENGINE_PATH": (
        "adapters/engines/finder.py",
        "application/engines/enrol_engines.py",
        "application/ops/diagnose.py",
    ),
    "BLAZAR_SYSTEMCTL": (),
    "BLAZAR_ENGINE_GATE": ("composition/making.py", "domain/gate.py"),
}


def test_variables_that_are_no_keys_have_their_readers() -> None:
    """Found by their names in the program; help texts and the documentation's table only speak of them."""
    speaks = {"application/config/variables.py", "adapters/cli/parser.py", "adapters/cli/verbs/fit.py"}
    root = Path(blazar.__file__).parent
    found: dict[str, list[str]] = {variable.name: [] for variable in VARIABLES}
    for module in sorted(root.rglob("*.py")):
        name = module.relative_to(root).as_posix()
        words = {
            node.value
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        }
        for variable in found.keys() & words if name not in speaks else ():
            found[variable].append(name)
    assert {name: tuple(modules) for name, modules in found.items()} == READERS


def test_every_variable_of_the_setup_document_is_there() -> None:
    """Those that the product itself reads; the installer's are the installer's."""
    text = shared("spec/7-setup.md").read_text(encoding="utf-8")
    product = text[: text.index("Installer (read by")]
    named = set(re.findall(r"^([A-Z_]+)\t", product, re.MULTILINE)) | set(re.findall(r"env (BLAZAR_[A-Z_]+)", text))
    named |= set(re.findall(r"(BLAZAR_[A-Z_]+) env overrides", text))
    assert len(named) > 20
    assert named <= {name for name, _ in variables()} | {variable.name for variable in VARIABLES}


# --- Groups ----------------------------------------------------------------------------------------------------------

GROUPED = [(group, key) for group, section in GROUPS.items() for key in section.model_fields if key in BY_NAME]
GROUPED += [(table, key) for table, keys in INSIDE.items() for key in sorted(keys) if key in BY_NAME]
grouped = pytest.mark.parametrize(("group", "key"), GROUPED)


def in_group(group: str, row: Row) -> str:
    """What the file says at the root, with the key in a group's table."""
    *beside, said = row.lines(row.text["valid"])
    return "\n".join([*beside, f"[{group}]", said]) + "\n"


@grouped
def test_a_key_may_be_written_in_its_group(group: str, key: str) -> None:
    """It is the flat key."""
    row = BY_NAME[key]
    assert load_config(in_group(group, row), PATH).config == load_config(row.config(row.text["valid"]), PATH).config


@grouped
def test_a_key_that_is_set_both_ways_is_refused(group: str, key: str) -> None:
    """At the line in the group. A key that is called like its group cannot be written twice: TOML itself refuses it."""
    row = BY_NAME[key]
    flat = row.lines(row.text["valid"])
    text = "\n".join([*flat, f"[{group}]", flat[-1]]) + "\n"
    if key == group:
        assert "is not valid TOML" in refusal(text)
    else:
        assert refusal(text) == teaching.config_set_twice(PATH, len(flat) + 2, key, group)


@among(*(name for name in Config.model_fields if section_of(name)))
def test_a_key_in_a_wrong_group_is_refused(row: Row) -> None:
    """The sentence names its home, or the root where it has none (D26)."""
    section = section_of(row.name)
    home = section.group if section else ""
    for group in GROUPS.keys() - {home}:
        text = f"[{group}]\n{row.key} = {row.text['valid']}\n"
        place = f"under [{home}] or at the root" if home else "at the root"
        assert refusal(text) == f"{PATH} line 2: '{row.key}' does not belong under [{group}]: write it {place}"


@pytest.mark.parametrize("table", ["keys", "remotes", "mcp", "semantic_cache", "warm_peg", "sglang", "mlx"])
def test_a_table_in_a_group_is_refused(table: str) -> None:
    """None of them has a group."""
    entry = f"[[gateway.{table}]]" if table in REPEATED else f"[gateway.{table}]"
    assert refusal(f"{entry}\n") == teaching.config_wrong_group(PATH, 1, table, "gateway", "")


# --- Overrides -------------------------------------------------------------------------------------------------------

REPLACING = [name for name in Override.model_fields if name in Config.model_fields and name not in TUNINGS]


def overriding(row: Row, value: str) -> str:
    """The key for one model; what it needs stands at the root."""
    *beside, _ = row.lines(value)
    beside += [] if row.table or not row.text.get("within") else row.text["within"]
    if row.table:
        return (
            "\n".join([f"[{OVERRIDE}{MODEL}.{row.table}]", *row.text.get("within", ()), f"{row.key} = {value}"]) + "\n"
        )
    return "\n".join([*beside, f"[{OVERRIDE}{MODEL}]", f"{row.key} = {value}"]) + "\n"


@among(*MODEL_KEYS)
def test_a_setting_is_the_roots_where_no_override_says_otherwise(row: Row) -> None:
    """For every model."""
    loaded = load_config(row.config(row.text["valid"]), PATH)
    assert loaded.config.settings_for(MODEL)[row.name] == row.held(loaded)


@among(*REPLACING)
def test_an_override_replaces_the_roots_value(row: Row) -> None:
    """For that model alone, and is who set it."""
    value = row.text["valid"]
    loaded = load_config(overriding(row, value), PATH)
    wanted = row.held(load_config(row.config(value), PATH))
    assert getattr(loaded.config.model_overrides[MODEL], row.key) == wanted
    others = plain(loaded.config.settings_for("another").get(row.name))
    if row.name in MODEL_KEYS:
        assert loaded.config.settings_for(MODEL)[row.name] == wanted
        assert loaded.origins_for(MODEL)[row.name] == f"[model_overrides.{MODEL}]"
        assert others == row.text.get("default")


@among(*REPLACING)
def test_an_override_is_refused_as_the_root_is(row: Row) -> None:
    """With the same words, and the model's name before the key."""
    for value, sentence in row.text["refused"].items():
        text = overriding(row, value)
        line = len(text.splitlines())
        assert refusal(text) == f"{PATH} line {line}: '{OVERRIDE}{MODEL}.{row.name}{why(sentence, row)}"


@among(*(f"{table}.{key}" for table, keys in TUNINGS.items() for key in keys.model_fields))
def test_an_overrides_table_replaces_single_fields(row: Row) -> None:
    """What it does not say holds as the root's table says it."""
    value = row.text["valid"]
    loaded = load_config(overriding(row, value), PATH)
    settings, others = (loaded.config.settings_for(model) for model in (MODEL, "another"))
    assert settings[row.name] == row.held(load_config(row.config(value), PATH))
    assert plain(others[row.name]) == row.text.get("default")
    within = {f"{row.table}.{line.split(' = ')[0]}" for line in row.text.get("within", ())}
    assert {key for key in settings if settings[key] != others[key]} == {row.name, *within}


@among(*(name for name in BY_NAME if name.startswith(OVERRIDE)))
def test_a_key_of_overrides_alone_is_none_of_the_root(row: Row) -> None:
    """And is the model's setting."""
    told = f"there is no table [{row.key}]" if row.text["valid"].startswith("{") else f"unknown key '{row.key}'"
    assert refusal(f"{row.key} = {row.text['valid']}\n").startswith(f"{PATH} line 1: {told}")
    loaded = load_config(row.config(row.text["valid"]), PATH)
    assert loaded.config.settings_for(MODEL)[row.key] == row.held(loaded)
    assert loaded.origins_for(MODEL)[row.key] == f"[model_overrides.{MODEL}]"


@among(*(Config.model_fields.keys() - Override.model_fields.keys() - INSIDE["mistralrs"]))
def test_a_key_that_is_not_per_model_is_refused_in_an_override(row: Row) -> None:
    """Overrides are the keys marked per-model and their own (D26). Those of mistral.rs are the model's in its own table."""
    said = f"[{OVERRIDE}{MODEL}]\n{row.key} = {row.text['valid']}\n"
    assert refusal(said).startswith(f"{PATH} line 2: unknown key '{OVERRIDE}{MODEL}.{row.key}'")
