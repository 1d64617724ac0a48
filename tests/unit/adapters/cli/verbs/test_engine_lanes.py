"""Installing Python packages and forks, and what the registry offers."""

from dataclasses import replace

import pytest

from blazar.adapters.cli.root import Pruning
from blazar.application.engines.install_lane import Offered, Offers, Wish
from blazar.domain.building import Backend
from blazar.domain.capability import ForkLane
from blazar.domain.kinds import EngineKind
from tests.support.command_line import Cli, FakeRoot, engine

SHA = "0123456789abcdef0123456789abcdef01234567"
LANE = ForkLane("novel", EngineKind.LLAMACPP, "owner/llama.cpp", SHA, ("novel", "novel-moe"), "MIT", "cmake")
FORK = replace(engine("novel-01234567", active=False), source=f"owner/llama.cpp@{SHA}", architectures=("novel",))


def test_a_python_package_is_installed_by_its_kind(cli: Cli, root: FakeRoot) -> None:
    """With pip's progress on stderr, harmless; stdout has the result alone."""
    said = cli("engine", "install", "--kind", "mlx", "--backend", "cpu", "--tag", "mlx-lm-0.32.2")
    assert root.engines.lanes.asked == [(EngineKind.MLX, "mlx-lm-0.32.2", "cpu")]
    assert said.out == "installed engine 'mlx-lm-0.32.2', which is active now\n"
    assert said.err.startswith("Collecting mlx-lm")
    assert "\x1b" not in said.err


def test_scripts_hear_the_result_alone(cli: Cli, root: FakeRoot) -> None:
    """--json is one document, --quiet nothing; no progress either way."""
    said = cli("engine", "install", "--kind", "sglang", "--json")
    assert (said.json()["tag"], said.err) == ("mlx-lm-0.32.2", "")
    said = cli("engine", "install", "--kind", "mlx", "--quiet")
    assert (said.out, said.err) == ("", "")


def test_a_lane_is_installed_by_its_name(cli: Cli, root: FakeRoot) -> None:
    """A line for every tenth; the sentence says what it serves and where it is from."""
    root.engines.lanes.row = FORK
    root.engines.pruning = Pruning(("novel-76543210",), (), 2)
    said = cli("engine", "install", "--lane", "novel")
    assert root.engines.lanes.asked == [("novel", Wish())]
    assert said.out.splitlines()[0] == (
        f"installed fork 'novel-01234567' (owner/llama.cpp@{SHA}): it serves novel where no official build does"
    )
    assert "novel-76543210" in said.out.splitlines()[1]
    assert said.err.splitlines()[:3] == [f"owner/fork@01234567: {percent} %" for percent in (0, 10, 20)]
    assert said.err.splitlines()[-1] == "novel-01234567"


def test_a_fork_is_installed_by_its_commit(cli: Cli, root: FakeRoot) -> None:
    """All that a person may say of it goes along."""
    root.engines.lanes.row = FORK
    words = ("--fork", f"me/x@{SHA}", "--arch", "a", "--arch", "b", "--sha256", "ab", "--tag", "mine")
    cli("engine", "install", *words, "--backend", "cuda")
    assert root.engines.lanes.asked == [(f"me/x@{SHA}", ["a", "b"], Wish("ab", "mine", Backend.CUDA))]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("f.zip", "--lane", "x"), "FILE and --lane"),
        (("--lane", "x", "--fork", "y"), "--lane and --fork"),
        (("f.zip", "--kind", "mlx"), "the Python package mlx-lm"),
        (("f.zip", "--backend", "cpu"), "--backend is for"),
        (("f.zip", "--arch", "x"), "--arch says"),
        (("--arch", "x"), "--arch says"),
        (("--lane", "x", "--arch", "x"), "--arch says"),
        (("--lane", "x", "--tag", "t"), "--tag is not for a lane"),
        (("--lane", "x", "--sha256", "ab"), "--sha256 is for one archive"),
        (("--kind", "mlx", "--sha256", "ab"), "--sha256 is for one archive"),
        (("--kind", "mlx", "--asset", "cpu"), "--asset chooses among"),
        (("--lane", "x", "--backend", "metal"), "'metal'"),
        (("--kind", "mlx", "--backend", "tpu"), "tpu"),
    ],
)
def test_words_that_do_not_go_together(cli: Cli, root: FakeRoot, words: tuple[str, ...], said: str) -> None:
    """Wrong usage, and nothing is done: an option that is passed over would be believed."""
    answer = cli("engine", "install", *words)
    assert (answer.code, root.engines.lanes.asked, root.engines.installed) == (2, [], [])
    assert said in answer.err


def test_an_update_of_a_python_package(cli: Cli, root: FakeRoot) -> None:
    """The new one serves, the old one stays; the same one is up to date."""
    lanes = root.engines.lanes
    said = cli("engine", "update", "--kind", "mlx")
    assert said.out == "engine 'mlx-lm-0.32.2' is up to date\n"
    lanes.before = engine("mlx-lm-0.31.0", active=False)
    assert cli("engine", "update", "--kind", "mlx").out.startswith("updated mlx: engine 'mlx-lm-0.32.2' is active")
    row = cli("engine", "update", "--kind", "mlx", "--json").json()
    assert (row["tag"], row["before"], row["updated"]) == ("mlx-lm-0.32.2", "mlx-lm-0.31.0", True)
    assert lanes.asked == [(EngineKind.MLX,)] * 3


def test_what_the_registry_offers(cli: Cli, root: FakeRoot) -> None:
    """One line a lane; what was left out is a warning on stderr."""
    elsewhere = Offered(LANE._replace(name="mac", build=""), "", possible=False)
    root.engines.lanes.offers = Offers(
        (Offered(LANE, "novel-01234567", possible=True), elsewhere), ("lane 'x' is left out",)
    )
    said = cli("engine", "list", "--available")
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0] == ["LANE", "KIND", "SERVES", "SOURCE", "LICENSE", "INSTALLED"]
    assert lines[1] == [
        "novel",
        "llamacpp",
        "novel",
        "novel-moe",
        "owner/llama.cpp@0123456789ab",
        "MIT",
        "novel-01234567",
    ]
    assert said.out.splitlines()[2].endswith("not for this machine")
    assert said.err == "warning: lane 'x' is left out\n"
    assert cli("engine", "list", "--available", "-q").out == "novel\nmac\n"
    found = cli("engine", "list", "--available", "--json").json()
    assert found["lanes"][0]["commit"] == SHA
    assert found["notes"] == ["lane 'x' is left out"]


def test_a_registry_without_lanes(cli: Cli) -> None:
    """Nothing on stdout."""
    said = cli("engine", "list", "--available")
    assert (said.code, said.out, said.err) == (0, "", "the capability registry lists no lanes\n")
