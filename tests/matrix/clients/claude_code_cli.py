"""The command line of the npm package `@anthropic-ai/claude-code`, driven without a terminal through whole tool loops."""

import base64
import json
import sys
from typing import Any

from tests.matrix.agents import STAMPING, Desk, Ran, desk
from tests.matrix.registry import Client, Target
from tests.matrix.stamping import SEAL
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, PONDERED, THOUGHT

CLAUDE = Client("claude-code (npm)", needs=("agent:claude",), heavy=True)
ROUTE = "/v1/messages"
BARE = "--tools="
"""None of its own tools: what it says before the user's words is shorter so, and the model has nothing to call."""
JSON, LINES = "--output-format=json", ("--output-format=stream-json", "--verbose")


def claude(target: Target, at: Desk, *words: str, role: str = "agents", stdin: str = "", **env: str) -> Ran:
    """One run. It asks no host but the gateway, and once where it would try again."""
    model = target.model(role) if role else "no-such-model"
    names = {
        "ANTHROPIC_BASE_URL": target.url,
        "ANTHROPIC_AUTH_TOKEN": target.key,
        "ANTHROPIC_MODEL": model,
        "ANTHROPIC_SMALL_FAST_MODEL": model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
    return at.run("claude", ["-p", *words], names | env, stdin)


def blocks(ran: Ran, who: str, kind: str) -> list[dict[str, Any]]:
    """The content blocks of one kind in what one side said."""
    said = [event["message"]["content"] for event in ran.events if event["type"] == who]
    return [block for content in said if isinstance(content, list) for block in content if block["type"] == kind]


def turns(*contents: Any) -> str:
    """What it reads as the user's messages, one a line."""
    return "".join(
        json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n" for content in contents
    )


@CLAUDE.check(ROUTE, stream=True)
def a_prompt_is_answered_with_text(target: Target) -> None:
    with desk() as at:
        assert claude(target, at, BARE, "say hi").well().said.strip() == HELLO


@CLAUDE.check(ROUTE, stream=True)
def a_result_as_json_has_usage_and_a_reason(target: Target) -> None:
    with desk() as at:
        result = claude(target, at, BARE, JSON, "say hi").well().one("result")
    assert (result["result"], result["is_error"], result["subtype"]) == (HELLO, False, "success")
    assert (result["num_turns"], result["stop_reason"]) == (1, "end_turn")
    assert result["usage"]["input_tokens"] > 100
    assert result["usage"]["output_tokens"] == HELLO_TOKENS
    assert result["modelUsage"][target.model("agents")]["outputTokens"] == HELLO_TOKENS


@CLAUDE.check(ROUTE, stream=True)
def pieces_come_one_by_one(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, BARE, *LINES, "--include-partial-messages", "say hi").well()
    told = [event["event"] for event in ran.events if event["type"] == "stream_event"]
    kinds = [event["type"] for event in told]
    pieces = [event["delta"]["text"] for event in told if event["type"] == "content_block_delta"]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert len(pieces) > 2
    assert "".join(pieces) == HELLO == ran.one("result")["result"]


@CLAUDE.check(ROUTE, stream=True)
def thoughts_are_apart_from_the_answer(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, BARE, *LINES, "please think").well()
    (thought,) = blocks(ran, "assistant", "thinking")
    assert thought["thinking"] == THOUGHT
    assert thought["signature"]
    assert ran.one("result")["result"].strip() == CONCLUSION


@CLAUDE.check(ROUTE, stream=True, tools=True)
def a_command_runs_and_its_result_goes_back(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, "--tools=Bash", "--allowedTools=Bash", *LINES, "say hi").well()
    (call,) = blocks(ran, "assistant", "tool_use")
    (result,) = blocks(ran, "user", "tool_result")
    assert (call["name"], call["input"]) == ("Bash", {"command": ""})
    assert (result["tool_use_id"], result["is_error"]) == (call["id"], False)
    assert (ran.one("result")["result"], ran.one("result")["num_turns"]) == (HELLO, 2)


@CLAUDE.check(ROUTE, stream=True, tools=True)
def one_of_its_tools_is_chosen_from_many(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, "--disallowedTools=Agent,AskUserQuestion", *LINES, "say hi").well()
    (call,) = blocks(ran, "assistant", "tool_use")
    assert call["name"] in ran.one("system")["tools"]
    assert len(ran.one("system")["tools"]) > 10
    assert len(blocks(ran, "user", "tool_result")) == 1
    assert ran.one("result")["result"] == HELLO


@CLAUDE.check(ROUTE, stream=True, tools=True)
def a_tool_that_fails_is_told_and_answered(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, "--tools=Read", *LINES, "say hi").well()
    (result,) = blocks(ran, "user", "tool_result")
    assert result["is_error"] is True
    assert ran.one("result")["result"] == HELLO


@CLAUDE.check(ROUTE, stream=True, tools=True)
def a_tool_of_a_server_leaves_its_mark(target: Target) -> None:
    with desk() as at:
        servers = {"mcpServers": {"desk": {"command": sys.executable, "args": [str(STAMPING)]}}}
        allowed = ("--strict-mcp-config", f"--mcp-config={json.dumps(servers)}", "--allowedTools=mcp__desk__stamp")
        ran = claude(target, at, BARE, *allowed, *LINES, "say hi").well()
        assert at.stamped == {"mark": SEAL}
    (call,) = blocks(ran, "assistant", "tool_use")
    (result,) = blocks(ran, "user", "tool_result")
    assert (call["name"], call["input"]) == ("mcp__desk__stamp", {"mark": SEAL})
    assert result["content"] == [{"type": "text", "text": f"stamped with the {SEAL}"}]
    assert ran.one("result")["result"] == HELLO


@CLAUDE.check(ROUTE, stream=True, tools=True)
def thoughts_before_a_call_go_back_with_its_result(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, "--tools=Bash", "--allowedTools=Bash", *LINES, "ponder it").well()
    (thought,) = blocks(ran, "assistant", "thinking")
    assert thought["thinking"] == PONDERED
    assert [call["name"] for call in blocks(ran, "assistant", "tool_use")] == ["Bash"]
    assert ran.one("result")["result"] == HELLO


@CLAUDE.check(ROUTE, stream=True, tools=True)
def two_calls_in_one_turn_get_two_results(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, "--tools=Bash", *LINES, "please play tool_parallel", role="played").well()
    calls = blocks(ran, "assistant", "tool_use")
    results = blocks(ran, "user", "tool_result")
    assert [call["input"] for call in calls] == [{"city": "Paris"}, {"city": "Rome"}]
    assert [result["tool_use_id"] for result in results] == [call["id"] for call in calls]
    assert ran.one("result")["result"] == HELLO


@CLAUDE.check(ROUTE, stream=True, schema=True)
def an_answer_has_the_schema(target: Target) -> None:
    fields = {"city": {"type": "string"}, "people": {"type": "integer"}}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    with desk() as at:
        result = claude(target, at, BARE, JSON, f"--json-schema={json.dumps(schema)}", "say hi").well().one("result")
    kept = result["structured_output"]
    assert set(kept) == set(fields)
    assert (type(kept["city"]), type(kept["people"])) == (str, int)


@CLAUDE.check(ROUTE, stream=True)
def a_second_turn_takes_the_first_along(target: Target) -> None:
    with desk() as at:
        first = claude(target, at, BARE, JSON, "say hi").well().one("result")
        second = claude(target, at, BARE, JSON, f"--resume={first['session_id']}", "please think").well().one("result")
    assert second["session_id"] == first["session_id"]
    assert second["result"].strip() == CONCLUSION
    assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]


@CLAUDE.check(ROUTE, stream=True)
def turns_follow_each_other_in_one_process(target: Target) -> None:
    with desk() as at:
        said = turns("say hi", [{"type": "text", "text": "please think"}])
        ran = claude(target, at, BARE, "--input-format=stream-json", *LINES, stdin=said).well()
    results = [event for event in ran.events if event["type"] == "result"]
    assert [result["result"].strip() for result in results] == [HELLO, CONCLUSION]


@CLAUDE.check(ROUTE, stream=True)
def a_conversation_is_compacted_and_goes_on(target: Target) -> None:
    with desk() as at:
        claude(target, at, BARE, JSON, "say hi").well()
        claude(target, at, BARE, JSON, "--continue", "/compact").well()
        result = claude(target, at, BARE, JSON, "--continue", "say hi").well().one("result")
    assert result["result"] == HELLO


@CLAUDE.check(ROUTE, stream=True)
def an_answer_cut_by_its_limit_is_continued(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, BARE, JSON, "a long one", CLAUDE_CODE_MAX_OUTPUT_TOKENS="16").well()
    result = ran.one("result")
    assert result["result"] == HELLO  # it asks to go on by itself, which the model takes for any other word
    assert result["usage"]["output_tokens"] == 16 + HELLO_TOKENS


@CLAUDE.check("/v1/messages/count_tokens")
def tokens_counted_ahead_are_those_of_the_call(target: Target) -> None:
    with desk() as at:
        table = claude(target, at, BARE, "/context").well().said
        used = claude(target, at, BARE, JSON, "say hi").well().one("result")["usage"]["input_tokens"]
    cells = [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if line.startswith("| System")]
    counted = 1000 * float(next(row[2] for row in cells if row[1] == "System prompt").removesuffix("k"))
    # An estimate, a token for four letters, would be a fourth of that: this model has one for each.
    assert 0.8 < counted / used < 1.2, table


@CLAUDE.check(ROUTE, error="404")
def an_unknown_model_is_refused(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, BARE, JSON, "say hi", role="")
    result = ran.one("result")
    assert (ran.code, result["is_error"], result["api_error_status"]) == (1, True, 404)
    assert "no-such-model" in result["result"]


@CLAUDE.check(ROUTE, error="400")
def a_picture_for_a_model_without_eyes_is_refused(target: Target) -> None:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 32).decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    with desk() as at:
        said = turns([picture, {"type": "text", "text": "what is it"}])
        ran = claude(target, at, BARE, "--input-format=stream-json", *LINES, stdin=said)
    result = ran.one("result")
    assert (ran.code, result["api_error_status"]) == (1, 400)
    assert "takes no pictures" in result["result"]


@CLAUDE.check(ROUTE, error="400")
def a_prompt_beyond_the_window_is_known_as_such(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, BARE, JSON, role="scripted", stdin="x" * 20_000)
    result = ran.one("result")
    assert (ran.code, result["api_error_status"], result["terminal_reason"]) == (1, 400, "prompt_too_long")
    assert result["result"].startswith("Prompt is too long")


@CLAUDE.check(ROUTE, stream=True, error="500")
def an_engine_that_fails_is_told(target: Target) -> None:
    with desk() as at:
        ran = claude(target, at, BARE, JSON, "please play error", role="played")
    result = ran.one("result")
    assert (ran.code, result["is_error"], result["api_error_status"]) == (1, True, 500)
    assert "does not match" in result["result"]
