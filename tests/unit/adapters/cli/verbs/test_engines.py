"""The engine verbs."""

import re
from dataclasses import replace
from pathlib import Path

from blazar.adapters.cli.root import Pruning
from blazar.application.engines.remove_engine import Removed
from blazar.domain.kinds import EngineKind, Provenance
from tests.support.command_line import Cli, FakeRoot, engine


def test_listing(cli: Cli, root: FakeRoot) -> None:
    """The active build is marked and its provenance shown (D20)."""
    said = cli("engine", "list")
    assert said.out == ""
    assert "no llamacpp engine is installed" in said.err
    root.engines.rows = {"b1": engine("b1"), "b0": engine("b0", active=False)}
    lines = [line.split() for line in cli("engine", "list").out.splitlines()]
    assert lines[0] == ["TAG", "KIND", "ACTIVE", "PINNED", "VERSION", "PROVENANCE", "INSTALLED", "SERVER"]
    assert lines[1][:5] == ["b1", "llamacpp", "yes", "1", "archive"]
    assert lines[2][:4] == ["b0", "llamacpp", "1", "archive"]
    assert cli("engine", "ls", "-q").out == "b1\nb0\n"
    assert [row["active"] for row in cli("engine", "list", "--json").json()["engines"]] == [True, False]


def test_manual_mode_is_said_below_the_list(cli: Cli, root: FakeRoot) -> None:
    """Of several active builds one serves everything; scripts read rows only."""
    root.engines.rows = {"b1": engine("b1")}
    root.engines.single = "b1"
    assert cli("engine", "list").out.splitlines()[-1] == "'b1' serves everything (engine_routing.mode is manual)"
    assert cli("engine", "list", "-q").out == "b1\n"


def test_install_use_and_rm(cli: Cli, root: FakeRoot) -> None:
    """Each says what is so now."""
    said = cli("engine", "install", "f.zip", "--sha256", "ab", "--tag", "b2")
    assert said.out == "installed engine 'b2', which is active now\n"
    assert root.engines.installed == [(str(Path.cwd() / "f.zip"), "ab", "b2")]
    assert cli("engine", "use", "b2").out.startswith("engine 'b2' is active")
    assert cli("engine", "rm", "b2").out == "removed engine 'b2'\n"


def test_a_build_that_is_not_there(cli: Cli) -> None:
    """The same sentence for use and rm."""
    for verb in ("use", "rm"):
        said = cli("engine", verb, "nope")
        assert (said.code, said.err) == (1, "error: no engine build 'nope' is installed (installed: none)\n")


def test_a_listing_says_when_and_what_is_started(cli: Cli, root: FakeRoot) -> None:
    """A date, not an age; the words of a wheel, which has no program of its own."""
    wheel = replace(engine("embedded-1"), command=("python", "-m", "engine"), installed_at=1.8e9)
    root.engines.rows = {"embedded-1": wheel}
    line = cli("engine", "list").out.splitlines()[1]
    assert line.endswith("python -m engine")
    assert re.search(r" 20\d\d-\d\d-\d\d \d\d:\d\d ", line)


def test_a_named_engine_that_cannot_be_used_is_a_warning(cli: Cli, root: FakeRoot) -> None:
    """The listing is of those that are there; on stderr, so that scripts read rows only."""
    root.engines.trouble = "BLAZAR_ENGINE_PATH: /bin/ls is no llama-server"
    said = cli("engine", "list", "--json")
    assert (said.code, said.err) == (0, "warning: BLAZAR_ENGINE_PATH: /bin/ls is no llama-server\n")
    assert said.json() == {"engines": []}


def test_installing_another_kind(cli: Cli, root: FakeRoot) -> None:
    """Any kind that there is; another word is wrong usage."""
    cli("engine", "install", "f.zip", "--sha256", "ab", "--kind", "sdcpp")
    assert root.engines.kinds == [EngineKind.SDCPP]
    assert cli("engine", "install", "f.zip", "--kind", "vllm").code == 2


def test_what_an_install_pushes_out_is_said(cli: Cli, root: FakeRoot) -> None:
    """What went, with the key that says so; what could not go is a warning, and no failure."""
    root.engines.pruning = Pruning(("b1", "b0"), ("it serves tiny right now",), 2)
    said = cli("engine", "install", "f.zip", "--sha256", "ab")
    assert said.out.splitlines()[1:] == ["removed older builds: b1, b0 (keep_tags = 2)"]
    assert (said.code, said.err) == (0, "warning: an older build stays for now: it serves tiny right now\n")
    assert cli("engine", "install", "f.zip", "--sha256", "ab", "--json").json()["pruned"] == ["b1", "b0"]


def test_rollback(cli: Cli, root: FakeRoot) -> None:
    """Of llama.cpp unless another kind is named."""
    root.engines.rows = {"b0": engine("b0")}
    assert cli("engine", "rollback").out.startswith("engine 'b0' is active")
    assert cli("engine", "rollback", "--kind", "mlx", "--json").json()["tag"] == "b0"
    assert root.engines.kinds == [EngineKind.LLAMACPP, EngineKind.MLX]


def test_pin_and_unpin(cli: Cli, root: FakeRoot) -> None:
    """Shown in the listing."""
    root.engines.rows = {"b1": engine("b1")}
    assert cli("engine", "pin", "b1").out == ("engine 'b1' is pinned: no update, pruning or retirement touches it\n")
    assert cli("engine", "list").out.splitlines()[1].split()[:4] == ["b1", "llamacpp", "yes", "yes"]
    assert cli("engine", "unpin", "b1").out == "engine 'b1' is not pinned any more\n"
    assert cli("engine", "pin", "b1", "--json").json()["pinned"] is True
    assert cli("engine", "pin", "nope").code == 1


def test_what_follows_from_a_removal_is_said(cli: Cli, root: FakeRoot) -> None:
    """Which build is active now; models that nothing serves any more are a warning."""
    root.engines.rows = {tag: engine(tag) for tag in ("b1", "b2", "b3")}
    root.engines.after = Removed("llamacpp", "b0")
    assert cli("engine", "rm", "b1").out == "removed engine 'b1'; 'b0' is the active one of its kind now\n"
    root.engines.after = Removed("sdcpp", "", ("painter",))
    said = cli("engine", "rm", "b2")
    assert (said.code, said.out) == (0, "removed engine 'b2'\n")
    assert said.err == (
        "warning: no installed engine serves painter any more: blazar engine install --kind sdcpp brings one back\n"
    )
    assert cli("engine", "rm", "b3", "--json").json()["unserved"] == ["painter"]


def test_models_that_insist_on_what_is_gone_are_a_warning_of_their_own(cli: Cli, root: FakeRoot) -> None:
    """With both ways out; scripts find all of them under `unserved`."""
    root.engines.rows = {tag: engine(tag) for tag in ("m1", "m2")}
    root.engines.after = Removed("mistralrs", "", ("g", "st"), ("g",))
    assert cli("engine", "rm", "m1").err == (
        "warning: no installed engine serves st any more: blazar engine install --kind mistralrs brings one back\n"
        "warning: model_overrides.g.engine names mistralrs, of which no build is left: blazar engine install --kind mistralrs "
        "brings one back, blazar config unset model_overrides.g.engine lets others serve\n"
    )
    assert cli("engine", "rm", "m2", "--json").json()["unserved"] == ["g", "st"]


def test_which_builds_a_pin_is_about(cli: Cli, root: FakeRoot) -> None:
    """Those that are pinned, and those that can be: what was not installed by us cannot, nor what is already."""
    root.engines.rows = {
        "b1": replace(engine("b1"), pinned=True),
        "b0": engine("b0", active=False),
        "local": replace(engine("local", active=False), provenance=Provenance.LOCAL),
    }
    assert cli("engine", "list", "-q", "--pinned").out == "b1\n"
    assert cli("engine", "list", "-q", "--pinnable").out == "b0\n"
    root.engines.rows = {"b0": engine("b0")}
    assert cli("engine", "list", "--pinned").err == "no build is pinned\n"
    assert cli("engine", "list", "-q", "--pinned").out == ""


def test_a_build_that_cannot_run_is_marked(cli: Cli, root: FakeRoot) -> None:
    """In the table and in JSON."""
    root.engines.rows = {"b1": engine("b1")}
    root.engines.flaws = {"b1": "its program is gone"}
    assert cli("engine", "list").out.splitlines()[1].endswith("BROKEN: its program is gone")
    assert cli("engine", "list", "--json").json()["engines"][0]["flaw"] == "its program is gone"
