"""The doctor verb."""

import json

from tests.support.command_line import Cli, FakeRoot, StubDaemon

FOUND = {
    "sections": [
        {"name": "SYSTEM", "rows": [{"check": "memory", "status": "ok", "detail": "fine", "remedy": ""}]},
        {"name": "ENGINES", "rows": [{"check": "b1", "status": "fail", "detail": "gone", "remedy": "remove it"}]},
    ]
}


def test_without_a_daemon_it_looks_itself(cli: Cli, root: FakeRoot) -> None:
    """Every row with what to do; exit 1 when something fails."""
    root.found = FOUND
    said = cli("doctor")
    assert said.code == 1
    assert said.out.splitlines() == [
        "SYSTEM",
        "  ok    memory  fine",
        "ENGINES",
        "  fail  b1      gone",
        "              → remove it",
    ]


def test_quiet_shows_what_is_not_well(cli: Cli, root: FakeRoot) -> None:
    """And nothing at all where all is well."""
    root.found = FOUND
    assert "memory" not in cli("doctor", "--quiet").out
    root.found = {"sections": FOUND["sections"][:1]}
    said = cli("doctor", "--quiet")
    assert (said.code, said.out) == (0, "")


def test_with_a_daemon_it_asks(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """The daemon sees its children too."""
    stub.answers["GET", "/api/doctor"] = (200, FOUND)
    root.use(stub)
    said = cli("doctor", "--json")
    assert said.code == 1
    assert json.loads(said.out) == FOUND


def test_what_was_named_here_stands_beside_the_daemons_report(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """The daemon runs with a file of its own: one does not speak for the other, and a failure here fails the verb."""
    fine = {"sections": [{**FOUND["sections"][0]}]}
    stub.answers["GET", "/api/doctor"] = (200, fine)
    root.use(stub)
    root.remarked = {"SYSTEM": [{"check": "--config", "status": "fail", "detail": "line 1: x", "remedy": ""}]}
    said = cli("doctor")
    assert (said.code, said.out.splitlines()) == (
        1,
        ["SYSTEM", "  ok    memory    fine", "  fail  --config  line 1: x"],
    )
