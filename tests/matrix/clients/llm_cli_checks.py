"""The command line `llm`: its models of the OpenAI API named in extra-openai-models.yaml, and its plugin `llm-ollama`."""

import atexit
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.matrix.llm_commands import Commands, Said
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT

LLM = Client("llm", needs=("module:llm",))
LLM_OLLAMA = Client("llm-ollama", needs=("module:llm", "module:llm_ollama"))

CHAT = "/v1/chat/completions"

MODELS = """\
- {{model_id: gw, model_name: {scripted}, api_base: {v1}, supports_schema: true, supports_tools: true}}
- {{model_id: gw-chat, model_name: {chat}, api_base: {v1}}}
- {{model_id: gw-text, model_name: {chat}, api_base: {v1}, completion: true}}
- {{model_id: gw-responses, model_name: {scripted}, api_base: {v1}, responses: true, reasoning: true, supports_schema: true, supports_tools: true}}
- {{model_id: gw-none, model_name: nosuch, api_base: {v1}}}
- {{model_id: gw-embed, model_name: {embed}, api_base: {v1}}}
"""


@cache
def _commands(url: str, key: str, models: tuple[tuple[str, str], ...]) -> Commands:
    """The command with a folder of its own and the gateway's models; both go when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="blazar-matrix-llm-")
    names = {"scripted": "absent", "chat": "absent", "embed": "absent", **dict(models)}
    Path(folder.name, "extra-openai-models.yaml").write_text(MODELS.format(v1=f"{url}/v1", **names))
    env = {"PATH": os.environ.get("PATH", ""), "HOME": folder.name, "LLM_USER_PATH": folder.name}
    # The weights of the demo come in a plugin for llm whose engine is not installed: only the plugin under test is loaded.
    env |= {"LLM_LOAD_PLUGINS": "llm-ollama", "OLLAMA_HOST": url, "OPENAI_API_KEY": key}
    commands = Commands(env, folder.name)
    atexit.register(lambda: (commands.close(), folder.cleanup()))
    return commands


def llm(target: Target, *words: str, needs: str = "scripted", stdin: str = "") -> Said:
    """Run the command as a user would; `needs` is the role of the model it asks."""
    target.model(needs)
    return _commands(target.url, target.key, tuple(sorted(target.models.items()))).run(words, stdin)


def told(said: Said) -> str:
    """What a command that has to succeed printed."""
    assert said.status == 0, said
    return said.out.strip()


def last_log(target: Target) -> Any:
    """What the command wrote down of its last answer."""
    return json.loads(told(llm(target, "logs", "-n", "1", "--json")))[0]


@LLM.check(CHAT, stream=True)
def a_prompt_is_answered_as_it_comes(target: Target) -> None:
    assert told(llm(target, "-m", "gw", "hi")) == HELLO


@LLM.check(CHAT)
def a_whole_answer_has_its_usage(target: Target) -> None:
    said = llm(target, "-m", "gw", "--no-stream", "-u", "-s", "Be brief.", "hi")
    assert told(said) == HELLO
    assert f"{HELLO_TOKENS} output" in said.err
    log = last_log(target)
    assert (log["output_tokens"], log["system"]) == (HELLO_TOKENS, "Be brief.")


@LLM.check(CHAT, stream=True)
def options_are_taken(target: Target) -> None:
    options = ("temperature", "0"), ("max_tokens", "4"), ("seed", "1"), ("top_p", "0.9"), ("stop", '["zzz"]')
    words = [word for name, value in options for word in ("-o", name, value)]
    assert told(llm(target, "-m", "gw", *words, "long")).count("t") == 4


@LLM.check(CHAT, stream=True)
def a_conversation_goes_on(target: Target) -> None:
    told(llm(target, "-m", "gw", "hi"))
    before = last_log(target)
    assert told(llm(target, "-c", "think")) == CONCLUSION
    after = last_log(target)
    assert after["conversation_id"] == before["conversation_id"]
    assert after["input_tokens"] > before["input_tokens"]


@LLM.check(CHAT, stream=True)
def a_chat_at_the_terminal(target: Target) -> None:
    said = told(llm(target, "chat", "-m", "gw", stdin="hi\nthink\nquit\n"))
    assert HELLO in said
    assert CONCLUSION in said


@LLM.check(CHAT, stream=True, schema=True)
def a_schema_holds(target: Target) -> None:
    assert json.loads(told(llm(target, "-m", "gw", "--schema", "name, age int", "hi"))) == {"name": "", "age": 1}


@LLM.check(CHAT, schema=True)
def a_schema_of_several_items_holds(target: Target) -> None:
    got = json.loads(told(llm(target, "-m", "gw", "--no-stream", "--schema-multi", "name, age int", "hi")))
    assert isinstance(got["items"], list)


@LLM.check(CHAT, schema=True)
def json_mode_gives_an_object(target: Target) -> None:
    assert json.loads(told(llm(target, "-m", "gw", "-o", "json_object", "1", "hi, in JSON"))) == {}


@LLM.check(CHAT, stream=True, tools=True)
def a_tool_is_called_and_its_result_used(target: Target) -> None:
    said = llm(target, "-m", "gw", "-T", "llm_version", "--td", "hi")
    assert told(said) == HELLO
    assert "Tool call: llm_version({})" in said.err


@LLM.check(CHAT, tools=True)
def a_function_of_the_users_gets_arguments(target: Target) -> None:
    code = 'def weather(city: str) -> str:\n    "The weather"\n    return "clear"\n'
    said = llm(target, "-m", "gw", "--no-stream", "--functions", code, "--td", "hi")
    assert told(said) == HELLO
    assert "Tool call: weather({'city': ''})" in said.err
    assert "clear" in said.err


@LLM.check(CHAT, error="status 1")
def an_unknown_model_is_told_in_one_line(target: Target) -> None:
    said = llm(target, "-m", "gw-none", "hi")
    assert said.status == 1
    assert "model 'nosuch' not found" in said.err
    assert "Traceback" not in said.err


@LLM.check(CHAT, error="status 1")
def a_chat_with_an_embedding_model_is_refused(target: Target) -> None:
    said = llm(target, "-m", "gw-embed", "hi", needs="embed")
    assert said.status == 1
    assert "/v1/embeddings" in said.err


@LLM.check("/v1/completions", stream=True)
def a_text_is_gone_on_with(target: Target) -> None:
    assert told(llm(target, "-m", "gw-text", "-o", "max_tokens", "4", "Once upon a", needs="chat"))


@LLM.check("/v1/responses", stream=True)
def thought_comes_apart_over_responses(target: Target) -> None:
    said = llm(target, "-m", "gw-responses", "think")
    assert told(said) == CONCLUSION
    assert THOUGHT.strip() in said.err


@LLM.check("/v1/responses", stream=True, tools=True)
def a_tool_loop_over_responses(target: Target) -> None:
    said = llm(target, "-m", "gw-responses", "-T", "llm_version", "--td", "hi")
    assert told(said) == HELLO
    assert "Tool call: llm_version({})" in said.err


@LLM.check("/v1/responses", schema=True)
def a_schema_over_responses(target: Target) -> None:
    said = llm(target, "-m", "gw-responses", "--no-stream", "--schema", "name, age int", "hi")
    assert json.loads(told(said)) == {"name": "", "age": 1}


@LLM_OLLAMA.check("/api/tags")
def models_are_listed_with_what_they_can(target: Target) -> None:
    rows = {line.split()[0]: line for line in told(llm(target, "ollama", "models")).splitlines()[1:]}
    by_bare_name = {name.removesuffix(":latest"): row for name, row in rows.items()}
    assert "completion" in by_bare_name[target.model("scripted")]
    assert "embedding" in by_bare_name[target.model("embed")]


@LLM_OLLAMA.check("/api/chat", stream=True)
def a_prompt_is_answered(target: Target) -> None:
    assert told(llm(target, "-m", f"ollama/{target.model('scripted')}", "hi")) == HELLO
    assert last_log(target)["output_tokens"] == HELLO_TOKENS


@LLM_OLLAMA.check("/api/chat", stream=True, schema=True)
def a_form_is_filled(target: Target) -> None:
    said = llm(target, "-m", f"ollama/{target.model('scripted')}", "--schema", "name, age int", "hi")
    assert json.loads(told(said)) == {"name": "", "age": 1}


@LLM_OLLAMA.check("/api/chat", stream=True, tools=True)
def a_tool_is_called(target: Target) -> None:
    said = llm(target, "-m", f"ollama/{target.model('scripted')}", "-T", "llm_version", "--td", "hi")
    assert told(said) == HELLO
    assert "Tool call: llm_version({})" in said.err


@LLM_OLLAMA.check("/api/chat", stream=True)
def thought_comes_apart(target: Target) -> None:
    said = llm(target, "-m", f"ollama/{target.model('scripted')}", "-o", "think", "true", "think")
    assert told(said) == CONCLUSION
    assert last_log(target)["reasoning"] == THOUGHT


@LLM_OLLAMA.check("/api/embed")
def a_text_becomes_a_vector(target: Target) -> None:
    got = json.loads(told(llm(target, "embed", "-m", f"ollama/{target.model('embed')}", "-c", "a cat", needs="embed")))
    assert abs(sum(value * value for value in got) - 1) < 1e-3


@LLM_OLLAMA.check("/api/embed")
def the_nearest_of_a_collection_is_found(target: Target) -> None:
    lines = "".join(json.dumps({"id": text, "content": text}) + "\n" for text in ("a cat", "a tax form"))
    name = f"ollama/{target.model('embed')}"
    told(llm(target, "embed-multi", "things", "-", "--format", "nl", "-m", name, needs="embed", stdin=lines))
    first = told(llm(target, "similar", "things", "-c", "a kitten", "-n", "1", needs="embed"))
    assert json.loads(first)["id"] == "a cat"
