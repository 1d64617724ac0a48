"""The table of hot endpoints against the public route table."""

from blazar.adapters.http.errors import dialect_of
from blazar.adapters.http.lane.rows import HOT_PATHS, ROWS
from blazar.adapters.http.routes import ROUTES


def test_the_lane_serves_exactly_the_routes_that_say_so() -> None:
    """A route marked for the lane without a row would be a 404, a row without a route undocumented."""
    assert {route.path for route in ROUTES if route.lane} == HOT_PATHS
    assert all(route.method == "POST" for route in ROUTES if route.lane)


def test_errors_of_a_row_wear_its_paths_envelope() -> None:
    """The lane and the layers around it answer in the same dialect."""
    assert {path: row.dialect for path, row in ROWS.items()} == {path: dialect_of(path) for path in ROWS}
