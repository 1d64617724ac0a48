"""One path for whoever judges a request and whoever routes it."""

import asyncio
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quart import Quart, Response, request

from blazar.adapters.http.mount import rule_of
from blazar.adapters.http.routes import ROUTES, Gate, gate_of, gate_of_row, routes_at
from blazar.adapters.http.server.target import Target, target_of, with_host
from tests.unit.adapters.http.asgi_calls import run, scope_of


@pytest.mark.parametrize(
    ("method", "target", "path", "host"),
    [
        (b"GET", b"/", b"/", None),
        (b"GET", b"//api/config", b"//api/config", None),
        (b"GET", b"/a?b=http://c/d", b"/a?b=http://c/d", None),
        (b"GET", b"http://x/api/config", b"/api/config", b"x"),
        (b"POST", b"HTTPS://x:1/v1/chat/completions?a=b", b"/v1/chat/completions?a=b", b"x:1"),
        (b"GET", b"http://x", b"/", b"x"),
        (b"GET", b"http://x?y=/z", b"/?y=/z", b"x"),
        (b"GET", b"http://x//api/config", b"//api/config", b"x"),
        (b"OPTIONS", b"*", b"/", None),
    ],
)
def test_a_path_or_a_whole_url_is_a_target(method: bytes, target: bytes, path: bytes, host: bytes | None) -> None:
    """RFC 9112, 3.2: who is behind a proxy may send the second, and then it says whose host is meant."""
    assert target_of(method, target) == Target(path, host)


@pytest.mark.parametrize(
    "target",
    [
        *[b"", b"*", b"a:/api/config", b"api/config;x", b"api/config", b"?", b"#", b":", b"http:/api/config"],
        *[b"http:///api/config", b"http://?x", b"ftp://x/api/config", b"http://x/#f", b"/a b", b"/\xc3\xa9", b"/a\n"],
        *[b"x:443", b"javascript://x/api/config", b"http:x//api/config", b"\\api\\config"],
    ],
)
def test_anything_else_is_none(target: bytes) -> None:
    """Whoever understood it would understand it in a way of its own."""
    assert target_of(b"GET", target) is None


def test_the_host_of_a_whole_url_stands_above_the_header() -> None:
    """There is one Host behind it, the one that a layer judges."""
    headers = [(b"Host", b"a"), (b"x", b"y"), (b"host", b"b")]
    assert with_host(headers, b"evil") == [(b"host", b"evil"), (b"x", b"y")]
    asked = with_host([(b":authority", b"a"), (b"host", b"b")], b"c", b":authority")
    assert asked == [(b":authority", b"c")]


def routed() -> Quart:
    """The framework with every row of the table, each answering with its name."""
    app = Quart(__name__, static_folder=None)
    app.url_map.strict_slashes = app.url_map.merge_slashes = False

    def saying(key: str) -> Any:
        async def told(**_: str) -> Response:
            return Response(f"{key} {request.path}")

        return told

    for number, row in enumerate(ROUTES):
        app.add_url_rule(rule_of(row.path), f"{number}", saying(row.key), methods=[row.method])
    return app


APP = routed()
WORDS = [row.path for row in ROUTES if row.gate is Gate.MANAGE] + [
    *[
        "http://",
        "https://",
        "HtTp://",
        "x",
        "a:",
        "/",
        "//",
        ";",
        "?",
        "#",
        "*",
        ":",
        "@",
        "\\",
        "[::1]",
        "%2f",
        "%2e",
    ],
    *[
        "%3f",
        "%00",
        "%0a",
        "%ff",
        "..",
        ".",
        "api/config",
        "/api/config",
        "é",
        " ",
        "\t",
        "&",
        "=",
        "health",
        "%",
        "%2",
    ],
]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.sampled_from(["GET", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"]),
    st.lists(st.sampled_from(WORDS), max_size=5).map("".join).map(str.encode) | st.binary(max_size=30),
)
@example("GET", b"http://x/api/config")
@example("GET", b"a:/api/config")
@example("GET", b"/api/config;x")
@example("GET", b"//x/api/config")
@example("GET", b"/http://x/api/config")
def test_what_the_gates_judge_is_what_is_routed(method: str, target: bytes) -> None:
    """For any bytes: either it is no target, or the framework takes the very path, and the row that it found is one of that path."""
    found = target_of(method.encode(), target)
    if found is None:
        return
    path, _, query = found.path.partition(b"?")
    scope = scope_of(method)
    scope.update(path=unquote(path.decode()), raw_path=path, query_string=query)
    answer = asyncio.run(run(APP, scope))
    if answer.status == 200 and answer.body:
        key, _, seen = answer.body.decode().partition(" ")
        assert seen.strip("/") == scope["path"].strip("/")
        assert key in {row.key for row in routes_at(scope["path"])}
        assert gate_of_row(key) is not Gate.MANAGE or gate_of(method, scope["path"]) is Gate.MANAGE
