"""Events as log lines."""

import logging

from blazar.adapters.telemetry.events import LogEvents


def test_an_event_is_one_line(caplog):
    """Kind first, then facts by name; spaces are quoted, seconds are short."""
    caplog.set_level(logging.INFO)
    LogEvents().emit("serving", model="tiny", seconds=1.23456, why="as asked")
    assert caplog.messages == ["serving model=tiny seconds=1.235 why='as asked'"]
    assert caplog.records[0].levelname == "INFO"


def test_a_list_is_told_without_its_brackets(caplog):
    """Sentences and names are for people."""
    caplog.set_level(logging.INFO)
    LogEvents().emit("config_refused", problems=("line 1: wrong", "line 2: wrong"))
    LogEvents().emit("config_reloaded", changed=("keys",))
    LogEvents().emit("config_reloaded", changed=())
    assert caplog.messages == [
        "config_refused problems='line 1: wrong; line 2: wrong'",
        "config_reloaded changed=keys",
        "config_reloaded",
    ]


def test_what_went_wrong_stands_out(caplog):
    """Failures are warnings."""
    kinds = ("failed", "breaker_open", "child_lost", "orphan", "supervisor_fault")
    kinds += ("config_refused", "restart_needed", "gateway_open", "config_warning")
    for kind in kinds:
        LogEvents().emit(kind)
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert len(caplog.records) == len(kinds)
