"""`engine install` without a file, `engine update`, `engine check`."""

from blazar.adapters.cli.root import Pruning
from blazar.application.engines.check_currency import Currency
from blazar.application.engines.install_release import Installed
from blazar.application.engines.pick_release import Picked
from blazar.application.engines.update_engine import Outcome, Update
from blazar.domain import teaching
from blazar.domain.assets import Choice
from blazar.domain.kinds import EngineKind
from blazar.domain.releases import Asset, Release
from tests.support.command_line import Cli, FakeRoot, engine

KIND = EngineKind.LLAMACPP
ASSET = Asset("llama-b2.tar.gz", "http://host/x", 10)
PICKED = Picked(KIND, Release("b2"), Choice(ASSET, (), "", "it computes on the processor"), "b2")
CURRENT = Currency(KIND, "b1", "b1", checked_at=1.8e9)
NEWER = Currency(KIND, "b1", "b2", available=True, stable="v0.6.0", checked_at=1.8e9)


def test_a_release_is_fetched(cli: Cli, root: FakeRoot) -> None:
    """What was asked for is passed on; which file and why is said, and how far it is on stderr."""
    root.engines.answer = Installed(engine("b2"), PICKED, already=False)
    said = cli("engine", "install", "--tag", "b2", "--asset", "cpu", "--sha256", "ab")
    assert root.engines.asked == [(KIND, "b2", "cpu", "ab")]
    assert said.out == (
        "installed engine 'b2', which is active now\nfrom llama-b2.tar.gz: it computes on the processor\n"
    )
    assert said.err == (
        "downloading llama-b2.tar.gz: 5.0 MiB of 10.0 MiB (50 %)\n"
        "downloading llama-b2.tar.gz: 10.0 MiB of 10.0 MiB (100 %)\n"
    )
    assert cli("engine", "install", "--quiet").out == ""
    assert cli("engine", "install", "--json").json()["asset"] == "llama-b2.tar.gz"


def test_one_that_is_there_already(cli: Cli, root: FakeRoot) -> None:
    """Is said to be."""
    root.engines.answer = Installed(engine("b2"), PICKED, already=True)
    assert cli("engine", "install", "--kind", "llamacpp").out == "engine 'b2' is installed already\n"


def test_words_that_do_not_go_together(cli: Cli) -> None:
    """An empty flavor, a flavor of a file: wrong usage."""
    assert cli("engine", "install", "--asset", " ").code == 2
    assert cli("engine", "install", "f.zip", "--sha256", "ab", "--asset", "cpu").code == 2


def test_an_update(cli: Cli, root: FakeRoot) -> None:
    """From which build to which, what the gate said, and what was pruned."""
    root.engines.answer = Update(Outcome.UPDATED, engine("b2"), engine("b1"), engine("b2"), "as fast as before")
    root.engines.pruning = Pruning(("b0",), (), 2)
    said = cli("engine", "update")
    assert root.engines.asked == [(KIND, True)]
    assert said.out.startswith("updated to engine 'b2' from 'b1'; blazar engine rollback goes back to it\nas fast as")
    assert "b0" in said.out
    assert said.err == "comparing\n"
    told = cli("engine", "update", "--no-gate", "--json").json()
    assert root.engines.asked[-1] == (KIND, False)
    assert (told["outcome"], told["before"], told["pruned"]) == ("updated", "b1", ["b0"])


def test_nothing_newer(cli: Cli, root: FakeRoot) -> None:
    """Is no error."""
    root.engines.answer = Update(Outcome.CURRENT, engine("b1"), engine("b1"))
    said = cli("engine", "update")
    assert (said.code, said.out) == (0, "engine 'b1' is up to date\n")


def test_what_the_gate_holds_back_is_exit_1(cli: Cli, root: FakeRoot) -> None:
    """A script must not take it for an update; the gate's sentence says why."""
    root.engines.answer = Update(Outcome.HELD_BACK, engine("b1"), engine("b1"), engine("b2"), "b2 is slower")
    said = cli("engine", "update")
    assert (said.code, said.out) == (1, "b2 is slower\n")


def test_a_check(cli: Cli, root: FakeRoot) -> None:
    """A table, and what follows from it; with --quiet what is newer, and nothing else."""
    root.engines.answer = (NEWER,)
    lines = cli("engine", "check").out.splitlines()
    assert lines[0].split() == ["KIND", "ACTIVE", "NEWEST", "STATE", "LOOKED", "UP"]
    assert lines[1].split()[:6] == ["llamacpp", "b1", "(stable", "v0.6.0)", "b2", "update"]
    assert lines[2].endswith("blazar engine update --kind llamacpp")
    assert cli("engine", "check", "-q").out == "llamacpp b2\n"
    assert cli("engine", "check", "--json").json()["updates"][0]["newest"] == "b2"
    root.engines.answer = (CURRENT,)
    assert cli("engine", "check", "-q").out == ""
    assert "current" in cli("engine", "check").out


def test_a_check_that_finds_nothing(cli: Cli, root: FakeRoot) -> None:
    """Nothing installed is fine; nothing that could be looked up is not."""
    root.engines.answer = ()
    said = cli("engine", "check")
    assert (said.code, said.out) == (0, "")
    root.engines.answer = (Currency(KIND, "b1", trouble="offline"),)
    said = cli("engine", "check")
    assert said.code == 1
    assert "offline" in said.out


def test_an_update_promises_no_rollback_to_what_it_pushed_out(cli: Cli, root: FakeRoot) -> None:
    """keep_tags = 1: the build of before is gone, and the sentence sends nobody to it."""
    root.engines.answer = Update(Outcome.UPDATED, engine("b2"), engine("b1"), engine("b2"))
    root.engines.pruning = Pruning(("b1",), (), 1)
    said = cli("engine", "update")
    assert said.out == "updated to engine 'b2' from 'b1'\nremoved older builds: b1 (keep_tags = 1)\n"


def test_a_check_that_could_not_look_everything_up(cli: Cli, root: FakeRoot) -> None:
    """Is a failure: a script would take silence about one kind for news about all. What is pinned is no news."""
    root.engines.answer = (NEWER._replace(pinned=True), Currency(EngineKind.SDCPP, "sd-1", trouble="offline"))
    said = cli("engine", "check")
    assert said.code == 1
    assert "blazar engine unpin b1" in said.out
    assert cli("engine", "check", "-q").out == ""


def test_a_kind_of_files_is_passed_over_with_a_note(cli: Cli, root: FakeRoot) -> None:
    """Nobody was asked, and that is well: exit code 0."""
    root.engines.answer, root.engines.rows = (), {"b1": engine("b1")}
    said = cli("engine", "check")
    assert (said.code, said.out, said.err) == (0, "", teaching.check_passed_over("llamacpp", "b1") + "\n")
    assert cli("engine", "check", "-q").err == ""
