"""Keys from the command line: through a daemon, or in the file."""

from dataclasses import replace

import pytest

from blazar.domain import teaching
from blazar.domain.parcels import Origin
from tests.support.command_line import Cli, FakeRoot, StubDaemon, model

ROW = {"name": "guest", "key": "plm_…cffd", "models": ["m", "n"], "rpm": 3, "tpm": None, "weight": 0.5}
REFUSED = {"error": {"message": teaching.no_keys_configured(), "type": "blazar_error", "param": None, "code": 403}}


def test_without_a_daemon_a_key_is_made_in_the_file(cli: Cli, root: FakeRoot) -> None:
    """Its secret stands alone on stdout, so that a script may take it; what is to be known beside."""
    root.models.rows = {"m": model("m")}
    said = cli("keys", "add", "laptop", "--model", "m", "--rpm", "3", "--weight", "2")
    assert (said.code, said.out) == (0, "plm_secret\n")
    assert said.err == teaching.key_added("laptop") + "\n"
    assert root.keys.asked == [("laptop", {"models": ["m"], "rpm": 3, "weight": 2.0})]
    said = cli("keys", "rotate", "laptop", "--quiet")
    assert (said.out, said.err) == ("plm_other\n", "")
    assert cli("keys", "rotate", "laptop", "--json").json()["key"] == "plm_other"


def test_with_a_daemon_it_is_made_there(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """What is not said is not sent."""
    stub.answers["POST", "/api/keys"] = (201, {"name": "x", "key": "plm_new"})
    stub.answers["POST", "/api/keys/x/rotate"] = (200, {"name": "x", "key": "plm_newer"})
    stub.answers["DELETE", "/api/keys/a%20b"] = (200, {"deleted": "a b"})
    root.use(stub)
    assert cli("keys", "add", "x", "--tpm", "9").out == "plm_new\n"
    assert cli("keys", "rotate", "x").out == "plm_newer\n"
    assert cli("keys", "rm", "a b").out == teaching.key_removed("a b") + "\n"
    assert stub.bodies("/api/keys") == [{"name": "x", "tpm": 9}]
    assert root.keys.asked == []


def test_a_listing_shows_limits_and_no_secret(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """A dash is no limit."""
    stub.answers["GET", "/api/keys"] = (200, {"keys": [ROW, {**ROW, "name": "me", "models": [], "rpm": None}]})
    root.use(stub)
    lines = [line.split() for line in cli("keys", "list").out.splitlines()]
    assert lines[0] == ["NAME", "KEY", "MODELS", "RPM", "TPM", "DAILY", "CONCURRENT", "WEIGHT"]
    assert lines[1] == ["guest", "plm_…cffd", "m,", "n", "3", "-", "-", "-", "0.5"]
    assert lines[2] == ["me", "plm_…cffd", "all", "-", "-", "-", "-", "0.5"]
    assert cli("keys", "ls", "-q").out == "guest\nme\n"
    assert cli("keys", "list", "--json").json()["keys"][0] == ROW


def test_no_keys_say_what_that_means(cli: Cli, root: FakeRoot) -> None:
    """On stderr: stdout holds results only."""
    said = cli("keys", "list")
    assert (said.code, said.out, said.err) == (0, "", teaching.no_keys_yet() + "\n")
    assert cli("keys", "list", "--json").json() == {"keys": []}
    assert cli("keys", "list", "--quiet").out == ""
    root.keys.names = ["a"]
    assert cli("keys", "list", "--quiet").out == "a\n"


def test_usage_is_a_line_a_day(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """As the daemon has it, or as it is written down."""
    day = {"day": "2026-01-02", "requests": 1, "prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
    said = cli("keys", "usage", "a")
    assert (said.code, said.out, said.err) == (0, "", teaching.key_unused("a") + "\n")
    root.keys.days = [day]
    assert cli("keys", "usage", "a", "--days", "7").out.splitlines()[1].split() == ["2026-01-02", "1", "2", "3", "5"]
    assert root.keys.asked == [("a", 30), ("a", 7)]
    stub.answers["GET", "/api/keys/a/usage?days=3"] = (200, {"name": "a", "days": [day]})
    root.use(stub)
    assert cli("keys", "usage", "a", "--days", "3", "--json").json() == {"name": "a", "days": [day]}


def test_the_first_key_of_a_running_daemon_is_made_in_its_file(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """A gateway without keys lets nobody make one; the file is how one gets it, and the daemon follows."""
    stub.answers["POST", "/api/keys"] = (403, REFUSED)
    stub.answers["GET", "/api/config"] = (200, {"path": str(root.places.config_file), "behind": False})
    root.use(stub)
    assert cli("keys", "add", "me").out == "plm_secret\n"
    assert root.keys.names == ["me"]


def test_another_file_is_not_the_daemons(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """A key in it would open nothing and close nothing."""
    stub.answers["POST", "/api/keys"] = (403, REFUSED)
    stub.answers["GET", "/api/config"] = (200, {"path": "/etc/other.toml", "behind": False})
    root.use(stub)
    said = cli("keys", "add", "me")
    assert (said.code, said.out) == (1, "")
    assert "/etc/other.toml" in said.err
    assert root.keys.names == []


def test_a_daemon_elsewhere_gets_its_first_key_there(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """This machine's file is not its file."""
    stub.answers["POST", "/api/keys"] = (403, REFUSED)
    root.use(stub, explicit=True)
    said = cli("keys", "add", "me")
    assert said.code == 1
    assert teaching.first_key_elsewhere(stub.url) in said.err
    assert root.keys.names == []


@pytest.mark.parametrize("words", [("list",), ("add", "x"), ("rm", "x"), ("rotate", "x"), ("usage", "x")])
def test_what_the_daemon_refuses_is_told_in_its_words(
    cli: Cli, root: FakeRoot, stub: StubDaemon, words: tuple[str, ...]
) -> None:
    """A scoped key, a last key: nothing is tried behind its back."""
    told = {"error": {"message": "not you", "type": "blazar_error", "param": None, "code": 403}}
    for method, path in (
        ("GET", "/api/keys"),
        ("POST", "/api/keys"),
        ("DELETE", "/api/keys/x"),
        ("POST", "/api/keys/x/rotate"),
        ("GET", "/api/keys/x/usage?days=30"),
    ):
        stub.answers[method, path] = (403, told)
    root.use(stub)
    said = cli("keys", *words)
    assert (said.code, said.err) == (1, "error: not you\n")
    assert (root.keys.names, root.keys.asked) == ([], [])


def test_a_key_for_a_model_that_is_not_here_is_made_and_told(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """It may come later; of another server's models nothing is known, and a list that cannot be had hides no secret."""
    stub.answers["POST", "/api/keys"] = (201, {"name": "x", "key": "plm_new"})
    stub.answers["GET", "/v1/models"] = (200, {"data": [{"id": "here"}]})
    stub.answers["POST", "/api/show"] = (404, {"error": "no"})
    root.use(stub)
    said = cli("keys", "add", "x", "--model", "HERE", "--model", "nope", "--model", "far:x")
    assert (said.code, said.out) == (0, "plm_new\n")
    assert said.err.splitlines() == [
        teaching.warning(teaching.key_models_unknown(["nope"])),
        teaching.key_added("x"),
    ]
    stub.answers["GET", "/v1/models"] = (401, {"error": "no"})
    said = cli("keys", "add", "x", "--model", "nope")
    assert (said.code, said.out, said.err) == (0, "plm_new\n", teaching.key_added("x") + "\n")


def test_a_reference_that_a_model_was_pulled_by_is_one_that_is_here(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """The daemon finds it; without one the catalog's rows say where they came from."""
    told = teaching.key_added("x") + "\n"
    root.models.rows = {"m": replace(model("m"), origin=Origin("hf:me/Tiny-GGUF:Q4_0", "f" * 64))}
    said = cli("keys", "add", "x", "--model", "hf.co/me/Tiny-GGUF")
    assert (said.code, said.err) == (0, told)
    stub.answers["POST", "/api/keys"] = (201, {"name": "x", "key": "plm_new"})
    stub.answers["GET", "/v1/models"] = (200, {"data": []})
    stub.answers["POST", "/api/show"] = (200, {})
    root.use(stub)
    said = cli("keys", "add", "x", "--model", "hf.co/me/Tiny-GGUF")
    assert (said.code, said.err) == (0, told)
