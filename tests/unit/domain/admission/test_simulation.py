"""The simulation in `bench/` plays the queue that the daemon uses: every request ends, and a log is understood."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from bench.simulate_admission import configured, main, read, replay, simulate, were
from blazar.adapters.telemetry.audit import audit_line
from blazar.domain.admission.work import Priority, WorkClass
from tests.fakes.telemetry import a_served


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


def test_a_log_says_what_each_was_to_the_queue(tmp_path):
    """Class, bound, load and wait as they were; the line itself is what the daemon writes."""
    served = a_served(
        model="m", priority="high", work="raw_long", wait_bound=2.0, load_seconds=3.0, queue_seconds=1.0, seconds=9.0
    )
    path = tmp_path / "audit.jsonl"
    path.write_bytes(msgspec.json.encode(audit_line(1_700_000_009.0, served)) + b"\n")
    (row,) = read(path, {})
    assert (row.work.priority, row.work.kind, row.work.wait) == (Priority.HIGH, WorkClass.RAW_LONG, 2.0)
    assert (row.arrived, row.ended, row.waited) == (1_700_000_003.0, 1_700_000_009.0, 1.0)
    then, now = replay([row], 1, 1)
    assert (list(then.waits), list(now.waits)) == ([1.0], [0.0])


def a_crowd(path):
    """Two minutes in which one slot has twice the work that it can do; everybody waits as long as it takes."""
    a_log(path, [(float(at), 2.0 * at + 2, 200, 1) for at in range(120)])
    lines = [
        json.loads(line) | {"deadline_ms": 600_000, "queue_ms": 1000.0 * at}
        for at, line in enumerate(path.read_text().splitlines())
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("text", "slots", "worst"),
    [
        ("adaptive_slots = false", "1", 119.0),
        ("adaptive_slots = true", "1", 70.0),
        ("[model_overrides.m]\nslots = 2", "2", 0.0),
    ],
)
def test_a_changed_configuration_is_tried(tmp_path, capsys, text, slots, worst):
    """Its slots, and those that it adopts where it leaves them open."""
    log, config = a_crowd(tmp_path / "audit.jsonl"), tmp_path / "config.toml"
    config.write_text(text)
    assert main(["--replay", str(log), "--config", str(config), "--were", "1"]) == 0
    cells = capsys.readouterr().out.splitlines()[1].split()
    assert cells[4] == "118.00"
    assert cells[6] == slots
    assert float(cells[8]) <= worst


def test_weights_of_a_configuration_count(tmp_path):
    """As those on the command line, which win."""
    config = tmp_path / "config.toml"
    config.write_text('[[keys]]\nname = "laptop"\nkey = "plm_0123456789abcdef"\nweight = 3.0\n')
    keys = configured(config).keys
    assert [(key.name, key.weight) for key in keys] == [("laptop", 3.0)]
    assert configured(None).keys == ()


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
