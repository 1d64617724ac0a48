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
