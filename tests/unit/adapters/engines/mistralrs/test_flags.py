"""The flag table of `mistralrs serve`."""

from typing import Any

import pytest

from blazar.adapters.engines.mistralrs.flags import MISTRALRS_FLAGS
from blazar.adapters.engines.mistralrs.resolve import STEP_FLAG
from blazar.domain.argv import FLOOR, Missing, compile_argv
from tests.support.lane_briefs import settings
from tests.support.manifests import golden

SUPPLIED = {
    "model_path",
    "quantized_file",
    "format",
    "projector",
    "ctx",
    "batch",
    "step",
    "paged_attn",
    "pa_context_len",
}
ROOT = {"slots", "chat_template_file", "mistralrs_pa_memory_fraction"}
BY_RESOLVE = {"mistralrs.chat_template"}
KNOWN = golden("mistralrs-0.9.2")


def words(**said: Any) -> tuple[str, ...]:
    told = {key.replace("__", "."): text for key, text in said.items()}
    return compile_argv(MISTRALRS_FLAGS, told, ()).words


@pytest.mark.parametrize(
    ("said", "flag"),
    [
        ({"mistralrs_pa_memory_fraction": 0.5}, ("--pa-memory-fraction", "0.5")),
        ({"mistralrs__pa_memory_mb": 2048}, ("--pa-memory-mb", "2048")),
        ({"mistralrs__isq": "q4k"}, ("--isq", "q4k")),
        ({"mistralrs__isq_organization": "moqe"}, ("--isq-organization", "moqe")),
        ({"mistralrs__imatrix": "/i"}, ("--imatrix", "/i")),
        ({"mistralrs__calibration_file": "/c"}, ("--calibration-file", "/c")),
        ({"slots": 4}, ("--max-seqs", "4")),
        ({"chat_template_file": "/t.jinja"}, ("--chat-template", "/t.jinja")),
    ],
)
def test_settings_that_are_said(said: dict[str, Any], flag: tuple[str, ...]) -> None:
    """Each key by its flag."""
    assert words(**said) == (*flag, "--no-ui")


def test_the_page_is_always_off() -> None:
    """It answers whoever opens it."""
    assert words() == ("--no-ui",)


def test_every_key_of_the_table_has_a_row() -> None:
    """Or a named reader; and no row names a key that nobody supplies."""
    rows = {flag.key for flag in MISTRALRS_FLAGS} - {FLOOR}
    declared = {key for key in settings() if key.startswith("mistralrs.")} - BY_RESOLVE
    assert rows == declared | ROOT | SUPPLIED
    assert settings().keys() >= ROOT | BY_RESOLVE | {"mistralrs_paged_attn"}


def test_every_flag_is_one_of_the_engine() -> None:
    """Of a recorded build; the step of a prompt came with 0.9.3."""
    assert {flag.name for flag in MISTRALRS_FLAGS} - set(KNOWN) == {STEP_FLAG}


def test_only_what_names_the_model_refuses() -> None:
    """Knobs are left out with a warning (setup document)."""
    needed = {flag.name for flag in MISTRALRS_FLAGS if flag.missing is Missing.REFUSE}
    assert needed == {"--model-id", "--quantized-file"}
