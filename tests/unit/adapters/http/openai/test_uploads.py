"""Files on their way in."""

import asyncio
import json
from typing import Any

import pytest

from blazar.adapters.http.asgi import Message
from blazar.adapters.http.openai import uploads
from blazar.adapters.http.openai.uploads import PIECE, file_uploads
from blazar.adapters.http.record import RECORD, RequestRecord
from tests.support.batching import Batches
from tests.unit.adapters.http.asgi_calls import Answer, Spy, run, scope_of

EDGE = "edge"


def form(*parts: tuple[str, bytes], end: bytes = b"--edge--\r\n") -> bytes:
    """A form of these parts, each a disposition behind `form-data; ` and its bytes."""
    told = [
        b"--edge\r\nContent-Disposition: form-data; " + where.encode() + b"\r\n\r\n" + data + b"\r\n"
        for where, data in parts
    ]
    return b"".join(told) + end


PURPOSE = ('name="purpose"', b"user_data")
FILE = ('name="file"; filename="in.txt"', b"hello\r\n--edg")


class Side:
    """The door over fakes."""

    def __init__(self) -> None:
        self.batches = Batches()
        self.behind = Spy()
        self.door = file_uploads(self.behind, self.batches.shelf)

    def send(self, *chunks: bytes, kind: str = "multipart/form-data; boundary=edge", key: str = "") -> Answer:
        headers = [("content-type", kind), ("content-length", str(sum(map(len, chunks))))]
        scope = scope_of("POST", "/v1/files", headers)
        scope[RECORD] = RequestRecord("plm-1-1", 0.0)
        scope[RECORD].key = key
        return asyncio.run(run(self.door, scope, chunks))

    @property
    def clean(self) -> bool:
        """Nothing was kept, and nothing is on its way."""
        return self.batches.kept.files == {} and self.batches.kept.parts == []


def test_a_file_is_kept_as_it_was_sent() -> None:
    """Bytes that look like an edge included; the order of the parts does not matter."""
    side = Side()
    for parts in ((PURPOSE, FILE), (FILE, PURPOSE)):
        answer = side.send(form(*parts), key="laptop")
        assert answer.status == 200
        said = answer.json()
        assert (said["object"], said["bytes"], said["filename"], said["purpose"]) == ("file", 12, "in.txt", "user_data")
        assert side.batches.kept.files[said["id"]] == b"hello\r\n--edg"
        assert side.batches.shelf.find(said["id"], "laptop").size == 12
    assert side.batches.kept.parts == []


def test_a_form_may_come_byte_by_byte() -> None:
    """Wherever the network cuts it."""
    side = Side()
    whole = form(PURPOSE, FILE)
    answer = side.send(*(whole[at : at + 1] for at in range(len(whole))))
    assert (answer.status, [*side.batches.kept.files.values()]) == (200, [b"hello\r\n--edg"])


def test_memory_holds_one_piece() -> None:
    """However large the file, it goes to disk in pieces of a megabyte."""
    side = Side()
    data = b"x" * (5 * PIECE + 7)
    whole = form(PURPOSE, ('name="file"; filename="f"', data))
    begun: list[Any] = []
    begin = side.batches.kept.begin

    def watched(expected: int = 0) -> Any:
        begun.append(begin(expected))
        return begun[-1]

    side.batches.kept.begin = watched  # type: ignore[method-assign]
    step = 65_536
    assert side.send(*(whole[at : at + step] for at in range(0, len(whole), step))).status == 200
    assert sum(begun[0].writes) == len(data)
    assert max(begun[0].writes) < PIECE + 2 * step


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\\\x\\\\y.txt", "y.txt"),
        ("a/b/", "upload"),
        ("", "upload"),
        ("x" * 300, "x" * 255),
        ("a\x1bb", "ab"),
    ],
)
def test_a_name_is_never_a_path(name: str, kept: str) -> None:
    """It is told back, and names nothing on disk (J6)."""
    side = Side()
    answer = side.send(form(PURPOSE, (f'name="file"; filename="{name}"', b"x")))
    assert answer.json()["filename"] == kept
    assert [*side.batches.kept.files] == [answer.json()["id"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (form(FILE), "purpose"),
        (form(PURPOSE), "file"),
        (form(PURPOSE, ('name="file"', b"no file")), "file"),
        (form(('name="purpose"', b"fine-tune"), FILE), "purpose"),
        (form(PURPOSE, FILE, ('name="expires_after[seconds]"', b"5")), "expires_after.seconds"),
        (form(PURPOSE, FILE, ('name="expires_after[anchor]"', b"now")), "expires_after.anchor"),
        (form(PURPOSE, FILE, end=b""), "file"),
        (b"--edge\r\nno header\r\n\r\nx\r\n--edge--\r\n", "file"),
        (b"nothing of the kind", "file"),
        (b"", "file"),
        (form(('name="purpose"', b"x" * 70_000), FILE), "file"),
        (form(*[PURPOSE] * 100), "file"),
        (b"--edge\r\nX: " + b"y" * 300_000, "file"),
        (b'--edge\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n\r\n--edge--', "file"),
    ],
)
def test_a_form_that_is_none_is_a_400(body: bytes, field: str) -> None:
    """With the field, and nothing of it stays; however it was cut."""
    side = Side()
    for chunks in ((body,), (body[: len(body) // 2], body[len(body) // 2 :])):
        answer = side.send(*chunks)
        assert (answer.status, answer.json()["error"]["param"]) == (400, field)
        assert side.clean


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=", ""])
def test_what_is_no_form_is_read_to_its_end(kind: str) -> None:
    """A client that is still sending hears the answer instead of a reset."""
    side = Side()
    answer = side.send(b"x" * 100, b"y" * 100, kind=kind)
    assert answer.status == 400
    assert side.clean


def test_a_file_above_its_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted by itself, whatever stands around it (D12)."""
    monkeypatch.setattr(uploads, "LARGEST", 10)
    side = Side()
    assert side.send(form(PURPOSE, ('name="file"; filename="f"', b"x" * 10))).status == 200
    side.batches.kept.files.clear()
    assert side.send(form(PURPOSE, ('name="file"; filename="f"', b"x" * 11))).status == 413
    assert side.clean


def test_a_client_that_leaves_leaves_no_file() -> None:
    """In the middle of it."""
    side = Side()
    pending: list[Message] = [
        {"type": "http.request", "body": form(PURPOSE, FILE, end=b""), "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return pending.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = scope_of("POST", "/v1/files", [("content-type", "multipart/form-data; boundary=edge")])
    scope[RECORD] = RequestRecord("plm-1-1", 0.0)

    async def main() -> None:
        await side.door(scope, receive, send)

    asyncio.run(main())
    assert sent == []
    assert side.clean


def test_a_full_disk_is_told() -> None:
    """Before the first byte, or in the middle."""
    side = Side()
    side.batches.kept.full = True
    assert side.send(form(PURPOSE, FILE)).status == 500
    side.batches.kept.full = False
    begin = side.batches.kept.begin

    def filling(expected: int = 0) -> Any:
        intake = begin(expected)
        side.batches.kept.full = True
        return intake

    side.batches.kept.begin = filling  # type: ignore[method-assign]
    assert side.send(form(PURPOSE, FILE)).status == 500
    assert side.clean


def test_a_life_may_be_named() -> None:
    """As the official clients send it, in two fields."""
    side = Side()
    more = [('name="expires_after[anchor]"', b"created_at"), ('name="expires_after[seconds]"', b"3600")]
    said = side.send(form(PURPOSE, *more, FILE)).json()
    assert said["expires_at"] == said["created_at"] + 3600


def test_a_field_that_nobody_knows_is_named() -> None:
    """In the header for it, not in silence."""
    answer = Side().send(form(PURPOSE, FILE, ('name="colour"', b"red"), ('name="more"; filename="m"', b"x")))
    assert answer.header("x-blazar-warning") == "ignored; 'colour' has no effect here"


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/files"), ("POST", "/v1/files/x"), ("POST", "/v1/batches")])
def test_everything_else_is_handed_on(method: str, path: str) -> None:
    """Also what is no HTTP."""
    side = Side()
    asyncio.run(run(side.door, scope_of(method, path)))
    asyncio.run(run(side.door, scope_of(path=path, kind="websocket")))
    assert [scope["type"] for scope in side.behind.scopes] == ["http", "websocket"]


def test_hostile_forms_never_do_worse_than_a_refusal() -> None:
    """Every cut and every changed byte of a good form is a 200 or a 4xx, and leaves nothing on its way."""
    side = Side()
    whole = form(PURPOSE, FILE)
    mutants = [
        *(whole[:at] for at in range(0, len(whole), 3)),
        *(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(0, len(whole), 3)),
    ]
    for mutant in mutants:
        answer = side.send(mutant)
        assert answer.status in (200, 400), (mutant, answer.body)
        assert json.loads(answer.body)
    assert side.batches.kept.parts == []
