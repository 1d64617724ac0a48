"""The npm package `@anthropic-ai/sdk`; the checks are in tests/matrix/npm/anthropic.mjs."""

from functools import partial
from typing import Unpack

from tests.matrix.npm_packages import made_by
from tests.matrix.registry import Client, Facets

ANTHROPIC_NPM = Client("anthropic (npm)", needs=("npm:@anthropic-ai/sdk", "npm:zod"))
MESSAGES = "/v1/messages"


def _add(name: str, route: str = MESSAGES, **facets: Unpack[Facets]) -> None:
    ANTHROPIC_NPM.add(name, route, partial(made_by, "anthropic", name), **facets)


_add("a_message_is_text_with_usage")
_add("the_answer_ends_at_max_tokens")
_add("a_stop_sequence_is_named")
_add("system_blocks_and_a_document_are_read")
_add("null_fields_are_absent_ones")
_add("an_answer_has_its_request_id")
_add("the_stream_helper_tells_text_and_message", stream=True)
_add("plain_events_come_in_order", stream=True)
_add("usage_is_the_same_in_a_stream", stream=True, tools=True)
_add("a_stream_can_be_aborted", stream=True, error="APIUserAbortError")
_add("eight_at_once_all_get_their_answer")
_add("a_tool_is_used", tools=True)
_add("the_named_tool_of_two_is_used", tools=True)
_add("no_tool_is_used_where_none_may_be", tools=True)
_add("a_forced_tool_without_a_name_is_refused", tools=True, error="BadRequestError")
_add("a_tools_input_grows_in_the_stream", stream=True, tools=True)
_add("results_and_errors_of_tools_are_understood", tools=True)
_add("the_tool_runner_goes_the_whole_way", tools=True)
_add("the_tool_runner_streams_with_a_zod_tool", stream=True, tools=True)
_add("parallel_calls_are_blocks_of_their_own", stream=True, tools=True)
_add("thinking_streams_with_its_signature", stream=True)
_add("thoughts_may_be_given_back_with_their_signature")
_add("no_thinking_where_it_is_not_asked_for")
_add("parse_gives_what_the_zod_schema_says", schema=True)
_add("a_stream_ends_with_a_parsed_object", stream=True, schema=True)
_add("a_count_is_the_calls_own", "/v1/messages/count_tokens", tools=True)
_add("a_batch_runs_to_its_results", "/v1/messages/batches")
_add("models_are_listed_and_described", "/v1/models")
_add("an_unknown_model_is_not_found", error="NotFoundError")
_add("wrong_fields_are_refused_by_name", error="BadRequestError")
_add("a_picture_for_a_model_that_reads_text_is_refused", error="BadRequestError")
_add("an_error_in_the_stream_is_thrown", stream=True, error="APIError")
_add("a_beta_without_effect_is_named_in_a_warning")
