"""A share of `make fuzz` with fixed seeds: mutated requests to every route of a real daemon, none of which may be a fault of ours."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.http.routes import ROUTES
from blazar.adapters.http.schema.openapi import BODIES
from tests.fuzz.client import Reply
from tests.fuzz.drive import Drive
from tests.fuzz.gateway import Watch, stub_gateway
from tests.fuzz.judging import judged
from tests.fuzz.mutations import Call, nth
from tests.fuzz.seeds import SEEDS, seeds_of
from tests.support.daemon import Daemon

EACH = 16
"""Requests to a route, half of them before the daemon's size is marked: more than a thousand in all."""
SEED = 6


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all of it."""
    with stub_gateway(tmp_path_factory.mktemp("fuzz")) as made:
        yield made


def test_no_request_is_a_fault_of_ours(daemon: Daemon) -> None:
    """Every route: no 5xx that no child caused, no hang, D10's envelope with a sentence; nothing is left behind, no trace in the log."""
    watch, drive = Watch(daemon), Drive(daemon.port, SEED)
    drive.run(ROUTES, range(EACH // 2))
    watch.mark()
    tally = drive.run(ROUTES, range(EACH // 2, EACH))
    assert not tally.findings, "\n".join(map(str, tally.findings))
    assert not watch.complaints()
    assert tally.sent == EACH * len(ROUTES) > 1000


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_row_with_a_body_has_a_seed(route) -> None:
    """A new route is fuzzed by itself, and with a body that it takes."""
    assert seeds_of(route)
    if route.key in BODIES or route.upload:
        assert route.key in SEEDS


def test_seeds_are_of_rows_that_exist() -> None:
    """A renamed row takes its seeds along."""
    assert SEEDS.keys() <= {route.key for route in ROUTES}


def test_a_number_names_one_request() -> None:
    """Or a finding could not be sent again."""
    assert [nth(route, 1, 7) for route in ROUTES] == [nth(route, 1, 7) for route in ROUTES]
    assert nth(ROUTES[8], 1, 7) != nth(ROUTES[8], 2, 7)


JSON = {"content-type": "application/json"}
WRONG = [
    ("/v1/models", Reply(500, JSON, b'{"error":{"message":"a b","type":"blazar_error","param":null,"code":500}}')),
    ("/v1/models", Reply(400, JSON, b'{"error":{"message":"a b","type":"blazar_error","param":null,"code":404}}')),
    ("/v1/models", Reply(400, JSON, b'{"error":"a b"}')),
    ("/v1/models", Reply(400, {"content-type": "text/html"}, b'{"error":"a b"}')),
    ("/v1/models", Reply(400, JSON, b"Bad Request")),
    ("/api/tags", Reply(400, JSON, b'{"error":{"message":"a b","type":"blazar_error","param":null,"code":400}}')),
    ("/api/tags", Reply(400, JSON, b'{"error":""}')),
    (
        "/v1/messages",
        Reply(400, JSON, b'{"type":"error","error":{"type":"api_error","message":"a b"},"request_id":"x"}'),
    ),
    ("/api/tags", Reply(200, JSON, b'{"models":NaN}')),
    ("/api/tags", Reply(200, JSON, b'{"models":"Traceback (most recent call last)"}')),
    ("/api/chat", Reply(200, {"content-type": "application/x-ndjson"}, b'{}\n{"a"\n')),
    ("/v1/messages", Reply(200, {"content-type": "text/event-stream; charset=utf-8"}, b"data: {\n\n")),
]


@pytest.mark.parametrize(("path", "reply"), WRONG)
def test_what_must_not_be_is_seen(path: str, reply: Reply) -> None:
    """A judge that passes everything would find nothing."""
    assert judged(Call("GET", path, (), b""), reply)


def test_what_may_be_is_passed() -> None:
    """Envelopes of each dialect, streams, and a caller's own deadline."""
    said = b'{"error":{"message":"all_slots_busy: \'m\' had no free slot within 1ms","type":"blazar_error","code":503}}'
    late = (("x-blazar-deadline-ms", "1"),)
    assert not judged(Call("POST", "/tokenize", late, b""), Reply(503, JSON, said))
    assert judged(Call("POST", "/tokenize", (), b""), Reply(503, JSON, said))
    assert not judged(Call("GET", "/api/tags", (), b""), Reply(404, JSON, b'{"error":"not here"}'))
    assert not judged(
        Call("GET", "/v1/x", (), b""), Reply(200, {"content-type": "text/event-stream"}, b"data: [DONE]\n\n")
    )


def test_a_daemon_of_another_folder_is_looked_into(daemon: Daemon, tmp_path: Path) -> None:
    """A trace in the log is a complaint, wherever it stands."""
    watch = Watch(daemon)
    watch.daemon = Daemon(tmp_path)
    watch.daemon.port, watch.daemon.errors = daemon.port, tmp_path / "stderr.txt"
    watch.daemon.errors.write_text("x\nTraceback (most recent call last):\n")
    assert watch.complaints() == ["stderr.txt: Traceback (most recent call last):\n"]
