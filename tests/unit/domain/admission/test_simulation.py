"""The simulation in `bench/` plays the queue that the daemon uses: every request ends, and a log is understood."""

import json
from datetime import UTC, datetime

import pytest

from bench.simulate_admission import main, read, replay, simulate, were


def a_log(path, rows):
    """An audit log of (arrival, end, status, queue depth) in seconds."""
    lines = [
        {
            "ts": datetime.fromtimestamp(1_700_000_000 + end, UTC).isoformat(timespec="milliseconds"),
            "trace": "plm-1-1",
            "key": "laptop",
            "method": "POST",
            "path": "/v1/chat/completions",
            "model": "m",
            "status": status,
            "ms": (end - arrival) * 1000,
            "priority": "normal",
            "queue_depth": depth,
        }
        for arrival, end, status, depth in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


ONE_SLOT = [(0.0, 4.0, 200, 0), (1.0, 6.0, 200, 0), (2.0, 7.0, 200, 1), (3.0, 3.5, 503, 512)]
"""Four seconds each begun when the one before ended: 4, 2 and 1 seconds of work, and one that was turned away."""


def test_every_request_of_a_simulated_day_ends_once():
    """Under either discipline; the urgent are served within their bound."""
    found = simulate(20_000, 10, 500, seed=3)
    for which in (0, 1):
        outcomes = [pair[which] for pair in found.values()]
        assert sum(len(one.waits) + one.late[0] + one.full[0] for one in outcomes) == 20_000
    ours, fifo = found["high", "interactive"]
    assert max(ours.waits) <= 2.0
    assert ours.late[0] + ours.full[0] < fifo.late[0] + fifo.full[0]


def test_a_log_is_read_with_its_times_and_weights(tmp_path):
    """What names no model, or was the caller's own mistake, is left out."""
    path = a_log(tmp_path / "audit.jsonl", [*ONE_SLOT, (5.0, 5.1, 400, 0)])
    rows = list(read(path, {"laptop": 2.0}))
    assert [(round(row.ended - row.arrived, 3), row.refused) for row in rows] == [
        (4.0, False),
        (5.0, False),
        (5.0, False),
        (0.5, True),
    ]
    assert {row.work.weight for row in rows} == {2.0}
    assert were(rows[:1]) == 1
    assert were(rows) == 2


def test_a_replay_knows_how_long_they_waited_and_what_more_slots_would_have_done(tmp_path):
    """One slot: waits of 0, 3 and 4 seconds; with two, whoever came third waits for the first one's end, and nobody is refused."""
    rows = list(read(a_log(tmp_path / "audit.jsonl", ONE_SLOT), {}))
    then, now = replay(rows, 1, 2)
    assert [round(wait, 3) for wait in then.waits] == [0.0, 3.0, 4.0]
    assert then.late[0] == 1
    assert [round(wait, 3) for wait in now.waits] == [0.0, 0.0, 1.0, 1.0]
    assert (now.late[0], now.full[0]) == (0, 0)


@pytest.mark.parametrize("words", [[], ["--slots", "2", "--were", "m=1", "--weight", "laptop=2"]])
def test_a_replay_prints_a_line_a_model(tmp_path, capsys, words):
    """Before and after beside each other."""
    path = a_log(tmp_path / "audit.jsonl", ONE_SLOT)
    assert main(["--replay", str(path), *words]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["model", "requests", "slots"]
    assert line.split()[:2] == ["m", "4"]


def test_a_day_prints_a_line_a_level(capsys):
    """Nine of them, and how long it took."""
    assert main(["--requests", "900", "--models", "3", "--keys", "9"]) == 0
    printed = capsys.readouterr().out
    assert "900 requests, 3 models" in printed
    assert sum(line.split()[:1] in (["high"], ["normal"], ["low"]) for line in printed.splitlines()) == 9
