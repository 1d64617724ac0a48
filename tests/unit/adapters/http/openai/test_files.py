"""OpenAI's files beside the upload."""

from typing import Any

import pytest

from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import KEY, Answer, call, doors
from tests.unit.adapters.http.gateway import SMALL, Parts


@pytest.fixture
def parts() -> Parts:
    """With the file `smollm2`, and three more."""
    made = Parts(SMALL)
    for number in range(3):
        made.batches.upload(b"x" * number, purpose="vision")
    return made


def get(parts: Parts, path: str) -> Answer:
    return call(parts.app, "GET", path)


def test_a_file_is_described(parts: Parts) -> None:
    """Every field of the API."""
    assert get(parts, "/v1/files/smollm2").json() == {
        "id": "smollm2",
        "object": "file",
        "bytes": 3,
        "created_at": 1_700_000_000,
        "expires_at": None,
        "filename": "in.jsonl",
        "purpose": "batch",
        "status": "processed",
        "status_details": None,
    }


def test_a_listing_is_a_page(parts: Parts) -> None:
    """Newest first or oldest first, of one purpose or all, from behind one of them."""

    def ids(query: str) -> tuple[list[str], bool]:
        said = get(parts, f"/v1/files{query}").json()
        return [row["id"] for row in said["data"]], said["has_more"]

    everything, more = ids("")
    assert (len(everything), everything[-1], more) == (4, "smollm2", False)
    assert ids("?order=asc&limit=1") == (["smollm2"], True)
    assert ids(f"?after={everything[1]}&limit=1") == ([everything[2]], True)
    assert ids("?purpose=batch") == (["smollm2"], False)
    assert get(parts, "/v1/files").json()["first_id"] == everything[0]
    assert get(parts, "/v1/files?purpose=none").json()["last_id"] is None


@pytest.mark.parametrize("query", ["limit=0", "limit=10001", "limit=x", "limit=-1", "limit=²", "order=up"])
def test_a_query_that_makes_no_sense_is_a_400(parts: Parts, query: str) -> None:
    """Naming its field."""
    answer = get(parts, f"/v1/files?{query}")
    assert (answer.status, answer.json()["error"]["param"]) == (400, query.partition("=")[0])


def test_content_is_the_files_own_bytes(parts: Parts) -> None:
    """Piece by piece, with their number."""
    parts.batches.kept.files["smollm2"] = data = b"{}\n" * 200_000
    parts.batches.shelf.enrol(parts.batches.shelf.find("smollm2", "")._replace(size=len(data)), 0)
    answer = get(parts, "/v1/files/smollm2/content")
    assert answer.body == data
    assert answer.header("content-length") == str(len(data))
    assert answer.header("content-type") == "application/octet-stream"
    assert len(answer.messages) > 3


def test_deleting(parts: Parts) -> None:
    """Once; then there is nothing."""
    assert call(parts.app, "DELETE", "/v1/files/smollm2").json() == {"id": "smollm2", "object": "file", "deleted": True}
    for method, path in (("DELETE", ""), ("GET", ""), ("GET", "/content")):
        answer = call(parts.app, method, f"/v1/files/smollm2{path}")
        assert answer.status == 404
        assert answer.json()["error"]["message"] == teaching.file_not_found("smollm2")


def test_somebody_elses_file_is_a_404() -> None:
    """Each key sees its own (A29)."""
    parts = Parts(SMALL, layers=doors(keys=(KEY,)))
    headers: Any = [("authorization", f"Bearer {KEY.key}")]
    assert call(parts.app, "GET", "/v1/files/smollm2", headers).status == 404
    assert call(parts.app, "GET", "/v1/files", headers).json()["data"] == []


def test_an_upload_goes_the_whole_way() -> None:
    """Through every layer, to the listing."""
    parts = Parts(SMALL, layers=doors(keys=(KEY,)))
    body = (
        b'--e\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nvision\r\n'
        b'--e\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nabc\r\n--e--\r\n'
    )
    headers = [("authorization", f"Bearer {KEY.key}"), ("content-type", "multipart/form-data; boundary=e")]
    said = call(parts.app, "POST", "/v1/files", headers, body).json()
    (row,) = call(parts.app, "GET", "/v1/files", headers[:1]).json()["data"]
    assert row == said
