"""Handlers and rows of the route table, held together."""

import pytest
from quart import Response

from blazar.adapters.http.mount import blueprint, rule_of
from blazar.adapters.http.routes import ROUTES


async def handler() -> Response:
    return Response("")


def names_of(family: str) -> list[str]:
    return [route.key.partition(".")[2] for route in ROUTES if route.key.partition(".")[0] == family]


def test_every_row_of_a_family_has_its_handler() -> None:
    """One that is missing is an error at start, not a 404 in use."""
    names = names_of("reports")
    assert blueprint("reports", dict.fromkeys(names, handler)).name == "reports"
    with pytest.raises(KeyError, match=names[0]):
        blueprint("reports", dict.fromkeys(names[1:], handler))


def test_every_handler_has_its_row() -> None:
    """The other way round too."""
    with pytest.raises(AssertionError, match="spare"):
        blueprint("reports", dict.fromkeys([*names_of("reports"), "spare"], handler))


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/a/b", "/a/b"),
        ("/v1/models/{id}", "/v1/models/<path:id>"),
        ("/v1/files/{id}/content", "/v1/files/<id>/content"),
    ],
)
def test_ids_may_hold_slashes(path: str, rule: str) -> None:
    """Model names do, and nothing else."""
    assert rule_of(path) == rule


def test_an_upload_is_not_the_frameworks() -> None:
    """It would take in all that arrives, however slowly it is written."""
    names = [name for name in names_of("files") if name != "upload"]
    blueprint("files", dict.fromkeys(names, handler))
    with pytest.raises(AssertionError, match="upload"):
        blueprint("files", dict.fromkeys(names_of("files"), handler))
