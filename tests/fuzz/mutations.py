"""Makes requests that nobody should send out of valid ones. Pure but for the dice, so that a seed names each request for ever."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from blazar.adapters.http.routes import Route
from blazar.adapters.http.schema.openapi import QUERIES
from tests.fuzz.seeds import Seed, path_id_of, seeds_of

NEST: Final[list[Any]] = []
for _ in range(40):
    NEST[:] = [copy.deepcopy(NEST)]

VALUES: Final[list[Any]] = [
    *(None, True, False, 0, -1, 1.0, 1.5, 1e30, 10**30, 2**31, 2**63, -(2**63) - 1, 1e308, float("nan"), float("inf")),
    *("", "x", "[]", "true", "-1", "1e999", " ", "\x00", "\ud800", "é", "名前", "a\nb", "x" * 5000, "0" * 400),
    *(
        "http://127.0.0.1:9/x",
        "data:image/png;base64,AA",
        "data:,",
        "file:///etc/hostname",
        "../../x",
        "m@vision",
        "m#1",
    ),
    *(
        "sha256:" + "0" * 64,
        "5m",
        "-1ns",
        "json",
        "auto",
        "none",
        "tool",
        "user",
        "{{ x",
        "^(a+)+$",
        "(?=x)",
        "#/$defs/x",
    ),
    *([], {}, [None], [[]], [{}], ["x", 1], [-1], [1e30], ["\ud800"], NEST),
    *({"a": None}, {"type": None}, {"type": {}}, {"$ref": "#"}, {"url": "http://127.0.0.1"}, {"": {}}, {"\ud800": 1}),
]
"""What is put where something else stood. No address but this machine's own: nothing is looked up."""

NAMES: Final = (
    "type",
    "url",
    "schema",
    "format",
    "not",
    "name",
    "content",
    "input",
    "",
    "名前",
    "x" * 300,
    "__class__",
)
"""Members that are added."""

ODD_IDS: Final = (
    *("x", "%00", "%FF", "%ED%A0%80", "..", "%2E%2E%2F%2E%2E%2Fx", "%2F", "a%2Fb", "%20", "%0d%0ax:%20y", "m%40vision"),
    *(
        "m%231",
        "x" * 3000,
        "%E5%90%8D",
        "%25",
        "%3F",
        "sha256:" + "0" * 64,
        "sha256:x",
        "sha256-" + "0" * 64,
        "'",
        '"',
        "*",
    ),
)
ODD_QUERY: Final = (
    *("", "0", "-1", "1", "x", "999999999999", "1.5", "%00", "%FF", "%20", "true", "asc", "x" * 3000),
    "%",
)
HEADERS: Final = (
    *(("x-blazar-deadline-ms", word) for word in ("0", "-1", "x", "1", "5000", "99999999999999999999", "1.5", "nan")),
    *(("x-blazar-session", word) for word in ("x", "..", "a b", "é", "x" * 200)),
    *(("x-blazar-trace-id", word) for word in ("plm-0-1", "x", "plm-" + "f" * 100 + "-1")),
    *(("x-blazar-" + name, word) for name in ("cache", "priority", "structured-output") for word in ("x", "")),
    *(("anthropic-beta", word) for word in ("files-api-2025-04-14", "x,y,,z", "é", "," * 300, "x" * 2000)),
    *(("anthropic-version", word) for word in ("2023-06-01", "x", "1")),
    *(
        ("openai-beta", "responses=v1"),
        ("openai-organization", "x"),
        ("idempotency-key", "x"),
        ("x-stainless-timeout", "x"),
    ),
    *(("accept", word) for word in ("text/html", "text/event-stream", "x/y;q=z", "application/json")),
    *(("authorization", word) for word in ("Bearer", "Bearer x", "Basic eDp5", "x")),
    *(("origin", word) for word in ("http://localhost:1", "null", "x", "http://203.0.113.1")),
    *(("last-event-id", word) for word in ("1", "-1", "x", "9" * 30)),
    *(("range", "bytes=0-"), ("if-none-match", "*"), ("accept-encoding", "gzip"), ("content-encoding", "gzip")),
)
TYPES: Final = (
    *(
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-16",
        "x",
        "multipart/form-data",
    ),
    *(
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 300,
        "application/octet-stream",
        ";;;",
        "é/é",
    ),
)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_UNFIT: Final = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"9" * 5000,
    b'"\\ud800"',
    b'"\\u0000"',
    b"[" * 3000,
    b'{"a":' * 3000,
    b"tru",
)


class Call(NamedTuple):
    """A request as it is sent."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    leave: bool = False
    """Whether the client goes as soon as an answer begins."""


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every member and item of a body, by the way to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*way, key)
        yield from places(item, (*way, key))


def mutated(body: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """A copy in which a few things are others, gone, or there where nothing was."""
    body = copy.deepcopy(body)
    for _ in range(dice.choice([1, 1, 2, 3])):
        ways = list(places(body))
        if not ways:
            return body
        *way, last = dice.choice(ways)
        holder: Any = body
        for key in way:
            holder = holder[key]
        if (what := dice.random()) < 0.65:
            holder[last] = copy.deepcopy(dice.choice(VALUES))
        elif what < 0.85:
            del holder[last]
        elif isinstance(holder, dict):
            holder[dice.choice(NAMES)] = copy.deepcopy(dice.choice(VALUES))
        else:
            holder.append(copy.deepcopy(dice.choice(VALUES)))
    return body


def _other_place(raw: bytes, dice: random.Random, instead: Callable[[bytes], bytes]) -> bytes:
    """One to eight bytes somewhere are others."""
    at = dice.randrange(len(raw) + 1)
    end = at + dice.randint(0, 8)
    return raw[:at] + instead(raw[at:end]) + raw[end:]


def _duplicated(raw: bytes, dice: random.Random) -> bytes:
    """The first member stands twice, or one of another type stands before it."""
    key = raw[1 : raw.find(b":")] if b":" in raw else b'"x"'
    other = json.dumps(dice.choice(VALUES)).encode()
    return b"{" + key + b":" + other + b"," + raw[1:]


def broken(raw: bytes, dice: random.Random) -> bytes:
    """Bytes that are nearly a body."""
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: raw[: dice.randrange(len(raw) + 1)],
        lambda: _other_place(raw, dice, lambda _: bytes(dice.choices(range(256), k=dice.randint(1, 4)))),
        lambda: _other_place(
            raw, dice, lambda _: dice.choice([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5", b"\x00"])
        ),
        lambda: _other_place(raw, dice, lambda gone: gone * 30),
        lambda: _duplicated(raw, dice),
        lambda: raw.replace(b":", b":" + dice.choice(_UNFIT) + b",", 1),
        lambda: raw.replace(b'"x"', dice.choice(_UNFIT)),
        lambda: b'{"model":"m","x":' + dice.choice(_UNFIT) + b"}",
        lambda: b"[" + raw + b"]",
        lambda: raw + dice.choice([b"}", b"\n\n", b",", raw, b"\x00"]),
        lambda: dice.choice([b"\xef\xbb\xbf", b" \n", b"\x00", b"\x1f\x8b\x08"]) + raw,
        lambda: dice.choice([b"", b"null", b"[]", b'""', b"0", b"{}", b" ", b"\xff\xfe{\x00}\x00"]),
        lambda: raw[:-1] + b',"pad":"' + b"x" * 100_000 + b'"}',
        lambda: raw.decode("utf-8", "replace").encode("utf-16"),
    )
    return dice.choice(ways)()


def _body(seed: Seed, dice: random.Random) -> bytes:
    if seed.body is None:
        return broken(seed.raw, dice) if seed.raw and dice.random() < 0.8 else seed.raw
    raw = json.dumps(mutated(seed.body, dice) if dice.random() < 0.85 else seed.body, ensure_ascii=dice.random() < 0.5)
    data = raw.encode("utf-8", "surrogatepass")
    return broken(data, dice) if dice.random() < 0.25 else data


def _query(route: Route, seed: Seed, dice: random.Random) -> str:
    words = [f"{name}={quote(value)}" for name, value in seed.query]
    if dice.random() < (0.7 if route.key in QUERIES else 0.05):
        names = [name for name, _ in QUERIES.get(route.key, ())] + [
            "metadata[k]",
            "x",
            "",
            "%FF",
            "stream",
            "limit",
            "order",
        ]
        words += [f"{dice.choice(names)}={dice.choice(ODD_QUERY)}" for _ in range(dice.randint(1, 3))]
        dice.shuffle(words)
    return "?" + "&".join(words) if words else ""


def _path(route: Route, dice: random.Random) -> str:
    path = route.path
    if one := path_id_of(route):
        path = path[: path.index("{")] + "\x1a" + path[path.index("}") + 1 :]
        path = path.replace("\x1a", one if dice.random() < 0.5 else dice.choice(ODD_IDS))
    return (
        path if dice.random() < 0.97 else dice.choice([path + "/", path + "/x", "/" + path, path.upper(), path + "%20"])
    )


def request(route: Route, dice: random.Random) -> Call:
    """One of the requests that a row must stand."""
    seed = dice.choice(seeds_of(route))
    headers = dict(seed.headers) or ({"content-type": "application/json"} if seed.body is not None else {})
    if dice.random() < 0.1:
        headers["content-type"] = dice.choice(TYPES)
    for _ in range(dice.choice([0, 0, 0, 1, 1, 3])):
        name, value = dice.choice(HEADERS)
        headers[name] = value
    method = route.method if dice.random() < 0.98 else dice.choice(METHODS)
    target = _path(route, dice) + _query(route, seed, dice)
    return Call(method, target, tuple(headers.items()), _body(seed, dice), leave=dice.random() < 0.02)


def nth(route: Route, seed: int, index: int) -> Call:
    """The request of this number: the same one in every run."""
    return request(route, random.Random(f"{seed} {route.method} {route.path} {index}"))
