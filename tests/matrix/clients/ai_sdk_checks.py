"""The npm package `ai` with its providers; the checks are in tests/matrix/npm/ai.mjs."""

from functools import partial
from typing import Unpack

from tests.matrix.npm_packages import made_by
from tests.matrix.registry import Client, Facets

AI = Client(
    "ai (npm)",
    needs=(
        "npm:ai",
        "npm:@ai-sdk/openai",
        "npm:@ai-sdk/openai-compatible",
        "npm:@ai-sdk/anthropic",
        "npm:ai-sdk-ollama",
    ),
)

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
PROVIDERS = {
    "responses": RESPONSES,
    "chat": CHAT,
    "compatible": CHAT,
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
}


def _add(name: str, route: str, **facets: Unpack[Facets]) -> None:
    AI.add(name, route, partial(made_by, "ai", name), **facets)


for provider, route in PROVIDERS.items():
    _add(f"{provider}_text_has_usage_and_its_end", route)
    _add(f"{provider}_a_stream_comes_in_pieces", route, stream=True)
    _add(f"{provider}_the_limit_of_tokens_ends_with_length", route)
    _add(f"{provider}_a_conversation_with_a_system_message", route)
    if provider != "chat":  # that provider shows no thought: OpenAI's chat API has no field for it
        _add(f"{provider}_thought_comes_apart_from_text", route)
        _add(f"{provider}_streamed_thought_ends_before_the_text_begins", route, stream=True)
    _add(f"{provider}_a_tool_loop_ends_in_text", route, tools=True)
    _add(f"{provider}_a_streamed_tool_loop_ends_in_text", route, stream=True, tools=True)
    _add(f"{provider}_a_forced_tool_is_called", route, tools=True)
    _add(f"{provider}_two_calls_of_one_turn_are_both_answered", route, stream=True, tools=True)
    _add(f"{provider}_an_engine_that_fails_in_the_middle_is_told", route, stream=True, error="an error part")
    _add(f"{provider}_an_object_follows_its_schema", route, schema=True)
    _add(f"{provider}_patterns_ranges_and_places_of_a_schema_hold", route, schema=True)
    _add(f"{provider}_an_object_is_streamed_in_parts", route, stream=True, schema=True)
    _add(f"{provider}_an_unknown_model_is_told", route, error="OllamaError" if provider == "ollama" else "APICallError")

_add("an_enumeration_is_chosen_from", CHAT, schema=True)
_add("a_list_of_objects_is_filled", CHAT, schema=True)
_add("json_mode_gives_an_object", CHAT, schema=True)
_add("an_object_that_is_cut_short_is_no_object", CHAT, schema=True, error="NoObjectGeneratedError")
_add("an_agent_goes_through_its_loop", RESPONSES, tools=True)
_add("a_tool_that_fails_is_told_to_the_model", "/v1/messages", tools=True)
_add("an_aborted_stream_ends_and_the_next_call_works", CHAT, stream=True)
_add("a_stream_of_an_unknown_model_reports_its_error", CHAT, stream=True, error="APICallError")
_add("a_bad_request_carries_the_answer", CHAT, error="APICallError")
_add("a_chat_with_an_embedding_model_is_refused", "/v1/messages", error="APICallError")
_add("a_picture_for_a_model_of_text_is_refused", CHAT, error="APICallError")
_add("a_response_goes_on_from_the_one_before", RESPONSES)
_add("settings_and_stop_words_reach_the_engine", CHAT)
_add("tags_of_thought_are_left_to_the_server", CHAT)
_add("a_smoothed_stream_says_the_same", CHAT, stream=True)
_add("answer_headers_and_ids_are_there", CHAT)
_add("a_text_is_gone_on_with", "/v1/completions")
_add("vectors_of_openai_in_order", "/v1/embeddings")
_add("vectors_of_every_provider_are_equal", "/v1/embeddings")
_add("vectors_of_a_chosen_length", "/v1/embeddings")
_add("vectors_of_a_chat_model_are_refused", "/v1/embeddings", error="APICallError")
_add("documents_are_ranked_by_vectors", "/api/embed")
