"""The npm package `ollama`; the checks are in tests/matrix/npm/ollama.mjs."""

from functools import partial
from typing import Unpack

from tests.matrix.npm_packages import made_by
from tests.matrix.registry import Client, Facets

OLLAMA_NPM = Client("ollama (npm)", needs=("npm:ollama", "npm:zod"))
CHAT, GENERATE = "/api/chat", "/api/generate"


def _add(name: str, route: str = CHAT, **facets: Unpack[Facets]) -> None:
    OLLAMA_NPM.add(name, route, partial(made_by, "ollama", name), **facets)


_add("a_chat_has_text_counts_and_times")
_add("a_chat_streams_as_it_answers_whole", stream=True)
_add("options_end_the_answer")
_add("format_json_and_a_zod_schema", schema=True)
_add("a_schema_is_kept_in_a_stream", stream=True, schema=True)
_add("thoughts_are_a_field_of_their_own")
_add("thoughts_stream_before_the_text", stream=True)
_add("a_tools_whole_loop", tools=True)
_add("a_call_streams_in_one_line", stream=True, tools=True)
_add("parallel_calls_arrive_both", stream=True, tools=True)
_add("a_stream_can_be_aborted", stream=True, error="AbortError")
_add("all_streams_can_be_aborted_at_once", stream=True, error="AbortError")
_add("eight_at_once_all_get_their_answer")
_add("a_prompt_is_answered_whole_and_streamed", GENERATE, stream=True)
_add("a_raw_prompt_has_no_template", GENERATE)
_add("a_template_and_a_system_of_the_requests_own", GENERATE)
_add("a_gap_is_filled", GENERATE)
_add("a_context_goes_on", GENERATE)
_add("probabilities_are_rows_of_tokens")
_add("keep_alive_is_kept_or_sends_away", GENERATE)
_add("the_version_is_numbers", "/api/version")
_add("the_list_and_what_a_model_can_do", "/api/tags")
_add("ps_tells_what_is_loaded", "/api/ps")
_add("a_copy_answers_and_goes_alone", "/api/copy")
_add("a_model_is_made_from_another", "/api/create")
_add("making_a_model_tells_its_steps", "/api/create", stream=True)
_add("a_batch_of_texts_is_a_batch_of_vectors", "/api/embed")
_add("dimensions_truncation_and_the_elder_route", "/api/embed")
_add("an_unknown_model_is_not_found", error="ResponseError")
_add("wrong_fields_are_refused_by_name", error="ResponseError")
_add("pictures_and_vectors_of_the_wrong_model_are_refused", error="ResponseError")
_add("an_error_in_the_stream_is_thrown", stream=True, error="ResponseError")
_add("pushing_is_refused_with_the_reason", "/api/push", error="ResponseError")
