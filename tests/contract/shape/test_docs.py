"""The documentation says what the code does: generated pages are current, and nothing public is left out."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from blazar.adapters.cli.config_words import CONFIG_EXAMPLES, CONFIG_GET_EXAMPLES, CONFIG_SET_EXAMPLES
from blazar.adapters.cli.parser import build_parser, parse
from blazar.adapters.http.routes import ROUTES
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config, Override
from blazar.application.config.tables import ApiKey
from blazar.domain.instance.machine import TRANSITIONS
from scripts import render_docs

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", render_docs.PAGES)
def test_a_page_is_current(name):
    """A page that the code has left behind names the command that renews it."""
    assert page(name) == render_docs.PAGES[name](), f"docs/{name} is stale: run {render_docs.COMMAND}"


def test_every_key_is_documented():
    """Each configuration key, override and field of a key has a row."""
    text = page("configuration.md")
    for name in (*Config.model_fields, *Override.model_fields, *ApiKey.model_fields):
        assert re.search(rf"^\| `{name}` \||\[\[?{name}[\].]", text, re.MULTILINE), name


def test_the_examples_of_the_configuration_page_load():
    """What the page shows can be pasted into the file."""
    blocks = re.findall(r"```toml\n(.*?)```", page("configuration.md"), re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        assert load_config(block, "docs/configuration.md").config != Config()


def test_the_examples_of_config_help_work():
    """Every command line parses, the file loads, and both are shown: by `--help` and on the page."""
    texts = CONFIG_EXAMPLES + CONFIG_GET_EXAMPLES + CONFIG_SET_EXAMPLES
    commands = re.findall(r"^ +blazar (config .*?)(?:  |$)", texts, re.MULTILINE)
    assert len(commands) == 24
    for command in commands:
        assert parse(command.partition(" >")[0].split()).action.startswith("config-")
    file = CONFIG_EXAMPLES.partition("config.toml:\n")[2]
    config = load_config(file, "config.toml").config
    assert (config.port, config.settings_for("smollm2-135m")["ctx"], len(config.keys)) == (11434, 4096, 1)
    verbs = {name: verb for name, verb, _ in render_docs._verbs(build_parser())}
    inner = {name: verb for name, verb, _ in render_docs._verbs(verbs["config"])}
    shown = {"get": CONFIG_GET_EXAMPLES, "set": CONFIG_SET_EXAMPLES}
    for verb, examples in ((verbs["config"], CONFIG_EXAMPLES), *((inner[name], text) for name, text in shown.items())):
        assert examples in verb.format_help()
        assert all(line.removeprefix("  ") in page("cli.md") for line in examples.splitlines()[1:])


def test_every_route_is_documented():
    """Each row of the route table has a row, once, under one dialect."""
    text = page("endpoints.md")
    for route in ROUTES:
        assert text.count(f"| `{route.method} {route.path}` |") == 1, route


def test_every_verb_is_documented():
    """Each verb and subverb has a section on the page and in the manual."""
    text, manual = page("cli.md"), page("man/blazar.1")
    names = list(render_docs._verbs(build_parser()))
    assert len(names) > 20
    for name, verb, _ in names:
        for words in [f"{name} {inner}" for inner, _, _ in render_docs._verbs(verb)] or [name]:
            assert f"\n## blazar {words}\n" in text, words
            assert f"blazar {words}".replace("-", r"\-") in manual, words


def test_every_transition_is_drawn():
    """Drawing and table show each row of the machine."""
    text = page("instance-states.md")
    for (state, event), step in TRANSITIONS.items():
        assert f"{state} --> {step.to}: {event}\n" in text
        assert f"| {state} | {event} | {step.to} |" in text


def test_every_dependency_is_justified():
    """A package in pyproject.toml has exactly one row, and no row stands for a package that is gone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(word for extra in project["optional-dependencies"].values() for word in extra),
    ]
    names = {re.split(r"[><=;\[ ]", word)[0] for word in wanted} - {"blazar"}
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page("dependencies.md"), re.MULTILINE)) == sorted(names)


def test_a_page_does_not_depend_on_the_terminal(monkeypatch):
    """Width and colours of whoever runs the script leave no trace, and its environment is left as it was."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert render_docs.man_page() == page("man/blazar.1")
    assert os.environ["COLUMNS"] == "40"
    assert "NO_COLOR" not in os.environ


def test_a_stale_page_is_named(tmp_path, monkeypatch, capsys):
    """`--check` fails with the page and the command, and passes after the pages were written."""
    monkeypatch.setattr(render_docs, "DOCS", tmp_path)
    monkeypatch.setattr(render_docs, "stale", lambda: [n for n in render_docs.PAGES if not (tmp_path / n).exists()])
    assert render_docs.main(["--check"]) == 1
    assert "docs/configuration.md is stale: run make docs" in capsys.readouterr().err
    assert render_docs.main([]) == 0
    assert render_docs.main(["--check"]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(
        Path(n).name for n in render_docs.PAGES
    )


def test_staleness_is_a_difference_in_text(tmp_path):
    """A missing page and a changed one are stale; an equal one is not."""
    assert render_docs.stale(tmp_path) == list(render_docs.PAGES)
    (tmp_path / "cli.md").write_text(render_docs.cli_page())
    (tmp_path / "endpoints.md").write_text(render_docs.endpoints_page() + " ")
    assert render_docs.stale(tmp_path) == [name for name in render_docs.PAGES if name != "cli.md"]
