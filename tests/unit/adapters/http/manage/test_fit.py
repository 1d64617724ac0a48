"""POST /api/fit."""

import asyncio

import pytest

from blazar.adapters.http.layers.doors import Key
from blazar.adapters.http.manage.fit import AT_ONCE
from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import call, doors, run, scope_of
from tests.unit.adapters.http.gateway import SMALL, Parts


def test_a_target_is_answered() -> None:
    """As `model` or as `target`; what was said is passed on, null and absent are the same."""
    parts = Parts(SMALL)
    answer = call(parts.app, "POST", "/api/fit", body={"model": "smollm2", "ctx": 4096, "kv": None, "gpu": [24, 7.5]})
    assert (answer.status, answer.json()["model"]) == (200, "smollm2")
    assert call(parts.app, "POST", "/api/fit", body={"target": "smollm2", "ram": 64}).status == 200
    assert parts.fitted == [{"model": "smollm2", "ctx": 4096, "gpu": [24, 7.5]}, {"target": "smollm2", "ram": 64}]


def test_the_target_must_be_said() -> None:
    """Nothing, null and an empty text are one mistake each."""
    app = Parts(SMALL).app
    assert call(app, "POST", "/api/fit", body={}).json()["error"]["message"] == teaching.field_missing("model")
    for wrong in ("", 5, ["x"]):
        answer = call(app, "POST", "/api/fit", body={"model": wrong})
        assert (answer.status, answer.json()["error"]["param"]) == (400, "model")


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("ctx", "4096", "integer"),
        ("slots", 1.5, "integer"),
        ("kv", 8, "string"),
        ("gpu", "24", "sizes"),
        ("gpu", ["24"], "sizes"),
        ("gpu", [True], "sizes"),
        ("ram", "64", "number"),
        ("ram", [64], "number"),
    ],
)
def test_wrong_fields_say_what_they_must_be(field: str, value: object, what: str) -> None:
    """In our words."""
    answer = call(Parts(SMALL).app, "POST", "/api/fit", body={"model": "smollm2", field: value})
    assert (answer.status, answer.json()["error"]["message"]) == (400, teaching.field_must(field, what))


def test_an_unknown_model_is_a_404() -> None:
    """The use case's own refusal."""
    assert call(Parts(SMALL).app, "POST", "/api/fit", body={"model": "smollm"}).status == 404


@pytest.mark.parametrize(
    ("client", "status"),
    [
        ("127.0.0.1", 404),
        ("::1", 404),
        ("127.8.9.1", 404),
        ("::ffff:127.0.0.1", 404),
        ("::ffff:192.168.1.5", 403),
        ("192.168.1.5", 403),
        ("fe80::1%eth0", 403),
        ("name", 403),
    ],
)
def test_paths_are_read_for_callers_on_this_machine_only(client: str, status: int) -> None:
    """To others an error would tell which files there are."""
    parts = Parts(SMALL)
    body = b'{"model": "/etc/passwd"}'
    scope = scope_of("POST", "/api/fit", [("content-length", str(len(body)))])
    scope["client"] = (client, 5)
    answer = asyncio.run(run(parts.app, scope, (body,)))
    assert answer.status == status
    if status == 403:
        assert answer.json()["error"]["message"] == teaching.fit_path_elsewhere("/etc/passwd")
        assert parts.fitted == []


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc", "/nowhere/at/all", "/"])
@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip", "via"])
def test_a_proxy_here_asks_for_somebody_else(header: str, path: str) -> None:
    """One answer whether it exists or not."""
    parts = Parts(SMALL)
    answer = call(parts.app, "POST", "/api/fit", [(header, "192.168.1.5")], body={"model": path})
    assert (answer.status, parts.fitted) == (403, [])
    assert answer.json()["error"]["message"] == teaching.fit_path_elsewhere(path)


def test_a_path_wants_a_key_that_manages_where_there_are_keys() -> None:
    """None and a limited one are refused before the path is looked at, also from this machine."""
    keys = (Key("all", "plm_all"), Key("k", "plm_secret", ("smollm2",)))
    parts = Parts(SMALL, layers=doors(keys=keys))
    for path in ("/etc/passwd", "/nowhere"):
        for header, status in (([], 401), ([("authorization", "Bearer plm_secret")], 403)):
            assert call(parts.app, "POST", "/api/fit", header, body={"model": path}).status == status
    assert parts.fitted == []
    managing = [("authorization", "Bearer plm_all")]
    assert call(parts.app, "POST", "/api/fit", managing, body={"model": "/nowhere"}).status == 404


def test_a_key_for_some_models_may_not_ask() -> None:
    """It reads any model of any registry."""
    parts = Parts(SMALL, layers=doors(keys=(Key("k", "plm_secret", ("smollm2",)),)))
    headers = [("authorization", "Bearer plm_secret")]
    assert call(parts.app, "POST", "/api/fit", headers, body={"model": "smollm2"}).status == 403


def test_few_targets_are_looked_at_together() -> None:
    """Each holds a thread for as long as a registry takes."""
    assert AT_ONCE <= 4


def test_an_answer_is_described_to_its_last_field() -> None:
    """What is served and what the description says are the same fields, at every depth."""
    from blazar.adapters.http.schema.manage import FitAnswer
    from tests.support.fit_answers import answer

    found = answer()
    found["verdict"]["memory"]["caches"] = [{"name": "kv", "cells": 1, "streams": 1, "layers": 1, "k": 1, "v": 1}]
    assert FitAnswer.model_validate(found).model_dump() == found
