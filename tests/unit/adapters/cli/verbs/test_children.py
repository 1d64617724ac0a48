"""What runs, through the daemon."""

from typing import Any

import pytest

from blazar.domain import teaching
from tests.support.command_line import Cli, FakeRoot, StubDaemon

ROW: dict[str, Any] = {
    "name": "tiny",
    "key": "tiny#1",
    "state": "serving",
    "engine": "b1",
    "provenance": "archive",
    "context_length": 2048,
    "slots": 1,
    "in_flight": 1,
    "waiting": 3,
    "port": 4000,
    "size": 2**29,
    "planned": 3 * 2**28,
    "measured": 2**30,
    "until_seconds": 75,
    "cache_hint": 0.83,
}


@pytest.fixture(autouse=True)
def running(root: FakeRoot, stub: StubDaemon) -> None:
    """All of these verbs need one."""
    root.use(stub)


def test_ps_marks_a_child_with_old_settings(cli: Cli, stub: StubDaemon) -> None:
    """Who has changed the configuration sees which child does not follow it yet."""
    stub.answers["GET", "/api/ps"] = (200, {"models": [{**ROW, "outdated": True}, {**ROW, "outdated": False}]})
    _, first, second = cli("ps").out.splitlines()
    assert "serving (old settings)" in first
    assert "old settings" not in second


def test_ps_shows_everything_that_matters(cli: Cli, stub: StubDaemon) -> None:
    """Engine and provenance (D20), window, slots, requests, port, GiB (B20), planned beside measured, countdown."""
    other = {**ROW, "key": "x", "waiting": 0, "until_seconds": None, "planned": 0, "cache_hint": None}
    other["blazar_sleeping"] = True
    stub.answers["GET", "/api/ps"] = (200, {"models": [ROW, other]})
    head, first, second = cli("ps").out.splitlines()
    titles = "NAME STATE ENGINE PROVENANCE CTX SLOTS BUSY PORT SIZE PLANNED MEASURED HIT UNTIL"
    assert head.split() == titles.split()
    assert first.split() == [
        "tiny#1",
        "serving",
        "b1",
        "archive",
        "2048",
        "1",
        "1",
        "(+3)",
        "4000",
        "0.50",
        "GiB",
        "0.75",
        "GiB",
        "1.00",
        "GiB",
        "83%",
        "1m",
        "15s",
    ]
    assert " ".join(second.split()) == "x serving (sleeping) b1 archive 2048 1 1 4000 0.50 GiB - 1.00 GiB - stays"
    assert cli("ps", "-q").out == "tiny\ntiny\n"
    assert cli("ps", "--json").json()["models"][0] == ROW


def test_ps_of_an_older_or_other_daemon_still_prints(cli: Cli, stub: StubDaemon) -> None:
    """Fields that are missing are dashes, never a traceback."""
    stub.answers["GET", "/api/ps"] = (200, {"models": [{"name": "tiny"}]})
    assert " ".join(cli("ps").out.splitlines()[1].split()) == "tiny - - - - - 0 - 0.00 GiB - - - stays"


def test_nothing_loaded_is_a_hint(cli: Cli, stub: StubDaemon) -> None:
    """On stderr, with an empty stdout."""
    stub.answers["GET", "/api/ps"] = (200, {"models": []})
    said = cli("ps")
    assert (said.code, said.out) == (0, "")
    assert "blazar load" in said.err
    assert cli("ps", "-q").out == ""


@pytest.mark.parametrize(("keys", "sentence"), [(["tiny"], "cleared: tiny"), ([], "no crash breaker was open")])
def test_ps_reset_clears_breakers(cli: Cli, stub: StubDaemon, keys: list[str], sentence: str) -> None:
    """And says which."""
    stub.answers["POST", "/api/ps"] = (200, {"reset": keys})
    assert sentence in cli("ps", "--reset").out
    assert stub.bodies("/api/ps") == [{"reset": True}]


def test_load_waits_and_says_how_long_it_took(cli: Cli, stub: StubDaemon) -> None:
    """keep_alive travels as the API takes it."""
    stub.answers["GET", "/api/ps"] = (200, {"models": []})
    stub.answers["POST", "/api/load"] = (200, {"model": "tiny", "load_seconds": 1.26})
    assert cli("load", "tiny").out == "'tiny' is loaded (1.3 s)\n"
    assert cli("load", "tiny", "--keep-alive", "-1", "--json").json()["model"] == "tiny"
    assert cli("load", "tiny", "--keep-alive", "10m", "-q").out == ""
    assert stub.bodies("/api/load") == [
        {"model": "tiny"},
        {"model": "tiny", "keep_alive": -1},
        {"model": "tiny", "keep_alive": "10m"},
    ]


def test_a_load_of_what_is_loaded_says_so(cli: Cli, stub: StubDaemon) -> None:
    """Nothing was waited for; a child that was only loading, or that was replaced meanwhile, is another matter."""
    child = {"model": "tiny", "key": "tiny", "pid": 7, "state": "serving", "load_seconds": 1.26}
    stub.answers["POST", "/api/load"] = (200, child)
    for before, already in ((child, True), ({**child, "pid": 6}, False), ({**child, "state": "loading"}, False)):
        stub.answers["GET", "/api/ps"] = (200, {"models": [before]})
        assert ("already" in cli("load", "tiny:latest").out) is already
        assert cli("load", "tiny", "--json").json()["already"] is already


def test_explain_quotes_the_command_line_and_no_sentence(cli: Cli, stub: StubDaemon) -> None:
    """What can be pasted, and what can be read."""
    answer = {"argv": ["llama-server", "--model", "/a b.gguf"], "notes": ["it is small", "it's slow"]}
    stub.answers["GET", "/api/explain?model=tiny"] = (200, answer)
    assert cli("explain", "tiny").out.splitlines() == [
        "argv   llama-server --model '/a b.gguf'",
        "notes  it is small",
        "       it's slow",
    ]


def test_explain_tells_the_plan_in_a_few_lines(cli: Cli, stub: StubDaemon) -> None:
    """Sentence, places and types; what is empty is left out, and --json has everything."""
    parts = dict.fromkeys(("weights", "kv", "recurrent", "compute", "projector", "draft", "lora"), 0)
    card = parts | {"device": "CUDA0", "used": 2**30, "free": 2**31, "weights": 3 * 2**28, "kv": 2**28}
    verdict = {
        "sentence": "fits: 1.0 GiB on CUDA0",
        "devices": [parts | {"device": "host", "used": 0, "free": 2**31}, card],
        "chosen": {"cache_type_k": "q8_0", "cache_type_v": "q4_0"},
        "levers": [],
        "notes": ["the cache is quantised"],
    }
    answer = {"model": "tiny", "fit": {"fits": True, "need": 2**30, "verdict": verdict}}
    stub.answers["GET", "/api/explain?model=tiny"] = (200, answer)
    assert [line.split(maxsplit=2) for line in cli("explain", "tiny").out.splitlines()[1:]] == [
        ["fit", "fits", "yes"],
        ["fit", "need", "1.00 GiB"],
        ["fit", "plan", "fits: 1.0 GiB on CUDA0"],
        ["fit", "on", "CUDA0    1.00 GiB of 2.00 GiB free: weights 0.75 GiB, kv 0.25 GiB"],
        ["fit", "cache", "type  q8_0 (keys), q4_0 (values)"],
        ["fit", "notes", "the cache is quantised"],
    ]
    assert cli("explain", "tiny", "--json").json() == answer


def test_explain_names_a_child_that_runs_beside_a_refusal(cli: Cli, stub: StubDaemon) -> None:
    """In a sentence; where the difference is told, that names the child already."""
    answer = {"model": "tiny", "refusal": "no", "running": {"pid": 7, "engine": "b1"}, "difference": None}
    stub.answers["GET", "/api/explain?model=tiny"] = (200, answer)
    said = cli("explain", "tiny").out.splitlines()
    assert said[-1] == teaching.explain_runs(7, "b1")
    assert not any(line.startswith("running") for line in said)


def test_evict_says_what_stopped(cli: Cli, stub: StubDaemon) -> None:
    """Every instance that the name meant; none is fine too."""
    stub.answers["POST", "/api/evict"] = (200, {"evicted": ["tiny", "tiny#1"]})
    assert cli("evict", "tiny").out == "evicted tiny, tiny#1\n"
    stub.answers["POST", "/api/evict"] = (200, {"evicted": []})
    assert cli("unload", "tiny#1", "--force").out == "'tiny#1' was not loaded\n"
    assert stub.bodies("/api/evict") == [{"model": "tiny"}, {"model": "tiny#1", "force": True}]


def test_explain_asks_with_an_escaped_name(cli: Cli, stub: StubDaemon) -> None:
    """`#` and `&` in a name are part of the name."""
    stub.answers["GET", "/api/explain?model=a%231%26b"] = (200, {"model": "a", "argv": ["x", "--y", "z w"]})
    assert cli("explain", "a#1&b").out == "model  a\nargv   x --y 'z w'\n"


def test_refusals_are_the_daemons_own_words(cli: Cli, stub: StubDaemon) -> None:
    """One string on the wire and in the shell."""
    stub.answers["POST", "/api/evict"] = (404, {"error": {"message": "model 'x' not found", "code": 404}})
    said = cli("evict", "x")
    assert (said.code, said.out, said.err) == (1, "", "error: model 'x' not found\n")


def test_ps_marks_answers_that_nobody_listens_to(cli: Cli, stub: StubDaemon) -> None:
    """Who sees it busy sees that it works for nobody, and how many wait for that."""
    rows = [{**ROW, "abandoned": 1}, {**ROW, "abandoned": 1, "waiting": 0}, {**ROW, "abandoned": 0}]
    stub.answers["GET", "/api/ps"] = (200, {"models": rows})
    _, both, alone, none = cli("ps").out.splitlines()
    assert " 1 (1 abandoned, +3) " in both
    assert " 1 (1 abandoned) " in alone
    assert " 1 (+3) " in none
