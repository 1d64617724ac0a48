"""The npm package `openai`; the checks are in tests/matrix/npm/openai.mjs."""

from functools import partial
from typing import Unpack

from tests.matrix.npm_packages import made_by
from tests.matrix.registry import Client, Facets

OPENAI_NPM = Client("openai (npm)", needs=("npm:openai",))
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def _add(name: str, route: str = CHAT, **facets: Unpack[Facets]) -> None:
    OPENAI_NPM.add(name, route, partial(made_by, "openai", name), **facets)


_add("a_chat_answers_with_text_and_usage")
_add("a_chat_says_exactly_what_the_model_says")
_add("a_stream_brings_the_same_text_and_usage", stream=True)
_add("the_stream_helper_tells_deltas_and_the_whole", stream=True)
_add("a_stream_may_be_handed_on_as_lines", stream=True)
_add("limits_and_stop_sequences_end_an_answer")
_add("several_choices_are_numbered", stream=True)
_add("log_probabilities_are_told")
_add("reasoning_is_apart_from_the_answer")
_add("an_aborted_stream_frees_its_place", stream=True, error="APIUserAbortError")
_add("a_client_that_gives_up_frees_its_place", error="APIConnectionTimeoutError")
_add("the_raw_response_shows_headers", stream=True)
_add("any_script_survives", stream=True, schema=True)
_add("ten_at_once_are_all_answered")
_add("a_tool_call_is_the_same_streamed", stream=True, tools=True)
_add("every_tool_choice_is_kept", tools=True)
_add("parallel_calls_are_told_apart", stream=True, tools=True)
_add("the_tool_runner_comes_to_its_end", tools=True)
_add("the_tool_runner_streams", stream=True, tools=True)
_add("a_zod_tool_is_parsed", tools=True, schema=True)
_add("a_zod_form_is_parsed", stream=True, schema=True)
_add("every_form_has_its_receipt", schema=True)
_add("an_answer_that_is_cut_is_not_parsed", schema=True, error="LengthFinishReasonError")
_add("a_completion_is_the_same_streamed", "/v1/completions", stream=True)
_add("prompts_may_be_several_and_have_a_suffix", "/v1/completions")
_add("vectors_are_the_same_in_both_encodings", "/v1/embeddings")
_add("what_a_vector_cannot_be_made_of_is_named", "/v1/embeddings", error="BadRequestError")
_add("models_are_listed_and_found", "/v1/models")
_add("a_response_has_text_status_and_usage", RESPONSES)
_add("a_response_is_streamed_by_the_helper", RESPONSES, stream=True)
_add("a_response_is_kept_and_gone_on_from", RESPONSES)
_add("a_response_in_the_background_ends_or_is_cancelled", RESPONSES, stream=True)
_add("a_functions_result_goes_on", RESPONSES, tools=True)
_add("the_responses_tool_runner_comes_to_its_end", RESPONSES, stream=True, tools=True)
_add("tools_that_run_elsewhere_are_named_in_a_warning", RESPONSES, tools=True)
_add("a_zod_text_format_is_parsed", RESPONSES, stream=True, schema=True)
_add("thoughts_are_items_before_the_message", RESPONSES, stream=True)
_add("a_stored_chat_has_a_life")
_add("a_file_has_a_life", "/v1/files")
_add("a_batch_is_answered_or_cancelled", "/v1/batches")
_add("an_unknown_model_is_not_found", stream=True, error="NotFoundError")
_add("a_field_that_cannot_be_is_named", error="BadRequestError")
_add("what_a_model_cannot_do_is_refused", error="BadRequestError")
_add("an_error_within_a_stream_is_thrown", stream=True, error="APIError")
