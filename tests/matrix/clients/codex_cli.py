"""The command line of the npm package `@openai/codex`, driven without a terminal through whole tool loops."""

import base64
import json
import sys
from collections.abc import Sequence
from typing import Any

from tests.matrix.agents import STAMPING, Desk, Ran, desk
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT

CODEX = Client("codex (npm)", needs=("agent:codex",), heavy=True)
ROUTE = "/v1/responses"
KEY = "GATEWAY_KEY"
EXEC = ("exec", "--skip-git-repo-check")
PROFILE = "the profile was read"
"""The command is empty, and a login shell that is asked for nothing still reads its profile: that it ran can be seen."""
QUIET = ("goals", "apps", "plugins", "image_generation", "skill_search", "tool_suggest", "view_image", "shell_snapshot")
"""What else it would tell the model of, and the copy of a shell's state that it would run commands in."""
BRIEF = 'model_instructions_file = "brief.md"\n'
SMALLEST = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def settings(target: Target, model: str, off: Sequence[str] = QUIET, agents: bool = False, more: str = BRIEF) -> str:
    """Its configuration: one provider, no second tries, no sandbox (not every machine that tests has what one needs)."""
    switches = "".join(f"{name} = false\n" for name in off)
    return f"""\
model = {json.dumps(model)}
model_provider = "here"
model_context_window = 131072
check_for_update_on_startup = false
sandbox_mode = "danger-full-access"
approval_policy = "never"
web_search = "disabled"
{more}
[model_providers.here]
name = "here"
base_url = {json.dumps(target.v1)}
env_key = "{KEY}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[agents]
enabled = {json.dumps(agents)}
[features]
{switches}"""


def codex(target: Target, at: Desk, *words: str, config: str = "", role: str = "agents", stdin: str = "") -> Ran:
    """One run that writes JSON lines, with short instructions of its own."""
    folder = at.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "brief.md").write_text("You help with files.\n")
    (at.home / ".bash_profile").write_text(f"echo {PROFILE}\n")
    model = target.model(role) if role else "no-such-model"
    (folder / "config.toml").write_text(config or settings(target, model))
    return at.run("codex", list(words), {KEY: target.key, "CODEX_OSS_BASE_URL": target.v1}, stdin)


def items(ran: Ran, kind: str) -> list[dict[str, Any]]:
    """What it did or said to the end, of one kind."""
    done = [event["item"] for event in ran.events if event["type"] == "item.completed"]
    return [item for item in done if item["type"] == kind]


def said(ran: Ran) -> str:
    """The model's last words."""
    return str(items(ran, "agent_message")[-1]["text"]).strip()


@CODEX.check(ROUTE, stream=True, tools=True)
def a_prompt_ends_with_the_models_words(target: Target) -> None:
    with desk() as at:
        last = at.work / "last.txt"
        ran = codex(target, at, *EXEC, "-o", str(last), "say hi").well()
        assert last.read_text() == HELLO
    assert ran.said.strip() == HELLO


@CODEX.check(ROUTE, stream=True, tools=True)
def a_command_runs_and_its_result_goes_back(target: Target) -> None:
    with desk() as at:
        ran = codex(target, at, *EXEC, "--json", "say hi").well()
    (ran_command,) = items(ran, "command_execution")
    assert (ran_command["exit_code"], ran_command["status"]) == (0, "completed")
    assert ran_command["aggregated_output"].strip() == PROFILE
    assert said(ran) == HELLO
    usage = ran.one("turn.completed")["usage"]
    assert usage["output_tokens"] > HELLO_TOKENS
    assert usage["input_tokens"] > usage["cached_input_tokens"] > 0


@CODEX.check(ROUTE, stream=True, tools=True)
def all_that_it_declares_by_itself_is_taken(target: Target) -> None:
    with desk() as at:
        config = settings(target, target.model("agents"), off=(), agents=True, more="")
        ran = codex(target, at, *EXEC, "--json", "say hi", config=config).well()
    assert said(ran) == HELLO
    assert ran.one("turn.completed")["usage"]["output_tokens"] > HELLO_TOKENS


@CODEX.check(ROUTE, stream=True, tools=True)
def a_member_of_a_namespace_is_called(target: Target) -> None:
    with desk() as at:
        config = settings(target, target.model("agents"), off=(*QUIET, "shell_tool"), agents=True)
        ran = codex(target, at, *EXEC, "--json", "say hi", config=config).well()
    assert "invalid agent id" in ran.errors  # close_agent of its namespace was asked for one without a name
    assert said(ran) == HELLO


@CODEX.check(ROUTE, stream=True, tools=True)
def a_tool_about_its_servers_runs(target: Target) -> None:
    with desk() as at:
        server = f"[mcp_servers.desk]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(STAMPING))}]\n"
        config = settings(target, target.model("agents"), off=(*QUIET, "shell_tool")) + server
        ran = codex(target, at, *EXEC, "--json", "say hi", config=config).well()
    (call,) = items(ran, "mcp_tool_call")
    assert (call["status"], call["error"], call["arguments"]) == ("completed", None, {})
    assert said(ran) == HELLO


@CODEX.check(ROUTE, stream=True)
def thoughts_are_apart_from_the_answer(target: Target) -> None:
    with desk() as at:
        ran = codex(target, at, *EXEC, "--json", "please think").well()
    assert [item["text"] for item in items(ran, "reasoning")] == [THOUGHT]
    assert said(ran) == CONCLUSION
    assert ran.one("turn.completed")["usage"]["reasoning_output_tokens"] > 0


@CODEX.check(ROUTE, stream=True, tools=True)
def a_second_turn_takes_the_first_along(target: Target) -> None:
    with desk() as at:
        first = codex(target, at, *EXEC, "--json", "please think").well()
        thread = first.one("thread.started")["thread_id"]
        second = codex(target, at, "exec", "resume", "--skip-git-repo-check", "--json", thread, "say hi").well()
    assert second.one("thread.started")["thread_id"] == thread
    assert [item["exit_code"] for item in items(second, "command_execution")] == [0]
    assert said(second) == HELLO


@CODEX.check(ROUTE, stream=True, tools=True)
def two_calls_in_one_turn_get_two_results(target: Target) -> None:
    with desk() as at:
        ran = codex(target, at, *EXEC, "--json", "please play tool_parallel", role="played").well()
    assert said(ran) == HELLO


@CODEX.check(ROUTE, stream=True)
def a_conversation_is_compacted_and_goes_on(target: Target) -> None:
    with desk() as at:
        small = settings(target, target.model("agents"), more=f"{BRIEF}model_auto_compact_token_limit = 2000")
        codex(target, at, *EXEC, "--json", "please think", config=small).well()
        ran = codex(target, at, "exec", "resume", "--last", "--skip-git-repo-check", "--json", "say hi", config=small)
    assert said(ran.well())


@CODEX.check("/api/tags", stream=True, tools=True)
def its_provider_for_ollama_finds_the_model(target: Target) -> None:
    with desk() as at:
        words = ("--oss", "--local-provider", "ollama", "-m", target.model("agents"), "--json", "say hi")
        config = settings(target, target.model("agents")).replace('model_provider = "here"\n', "")
        ran = codex(target, at, *EXEC, *words, config=config).well()
    assert said(ran) == HELLO


@CODEX.check(ROUTE, error="404")
def an_unknown_model_is_refused_with_the_reason(target: Target) -> None:
    with desk() as at:
        ran = codex(target, at, *EXEC, "--json", "say hi", role="")
    told = ran.one("turn.failed")["error"]["message"]
    assert ran.code == 1
    assert "404" in told
    assert "model 'no-such-model' not found" in told


@CODEX.check(ROUTE, error="400")
def a_picture_for_a_model_without_eyes_is_refused(target: Target) -> None:
    with desk() as at:
        picture = at.work / "dot.png"
        picture.write_bytes(base64.b64decode(SMALLEST))
        ran = codex(target, at, *EXEC, "--json", "what is it", "--image", str(picture))
    assert ran.code == 1
    assert "takes no pictures" in ran.one("turn.failed")["error"]["message"]


@CODEX.check(ROUTE, error="400")
def a_prompt_beyond_the_window_is_refused_with_sizes(target: Target) -> None:
    with desk() as at:
        ran = codex(target, at, *EXEC, "--json", "-", role="scripted", stdin="x" * 20_000)
    assert ran.code == 1
    assert "maximum context length" in ran.one("turn.failed")["error"]["message"]


@CODEX.check(ROUTE, stream=True, error="500")
def an_engine_that_fails_ends_the_turn(target: Target) -> None:
    with desk() as at:
        ran = codex(target, at, *EXEC, "--json", "please play error", role="played")
    assert ran.code == 1
    assert ran.one("turn.failed")["error"]["message"]  # in its own words: it takes every 500 for a load that passes
