"""What holds for every test: reports that a worker can send, and leaks that are charged to the module which left them."""

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is no finding on a machine that has other work as well. What is tried is the same every time, so that a
# change is judged by what it changed; with BLAZAR_FUZZ=1 (`make fuzz`) it is something else each time.
settings.register_profile(
    "steady",
    derandomize=os.environ.get("BLAZAR_FUZZ") != "1",
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")

MOST_WORKERS = 8
"""Each holds a third of a gigabyte of collected tests, and some start engines."""

LONGEST_BYTES_ID = 16


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than processors that this process may use: what takes long mostly waits for a process of its own."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable + 1, MOST_WORKERS)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Long bytes are named by their place: an archive holds the time at which it was packed, and workers must agree on names."""
    return argname if isinstance(val, bytes) and len(val) > LONGEST_BYTES_ID else None


def pytest_collection_finish() -> None:
    """Tens of thousands of collected tests live to the end: the collector need not walk them again after each module."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _leaks_are_found_where_they_are() -> Iterator[None]:
    """A socket or file that was never closed warns when it is collected, which is an error: here, not in a later module."""
    yield
    gc.collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Lone surrogates, which some tests log on purpose, cannot go from a worker to the process that reports."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
