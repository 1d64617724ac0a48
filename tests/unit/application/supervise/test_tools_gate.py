"""Whether a chat template has a place for tools."""

import pytest

from blazar.application.supervise.tools_gate import thoughtless, toolless
from blazar.domain.kinds import Weights
from tests.fakes.catalog import a_model
from tests.fakes.weights import MemoryWeightFiles

PLAIN = "{% for message in messages %}{{ message.content }}{% endfor %}"
FITTED = PLAIN + "{% if tools %}{{ tools | tojson }}{% endif %}"
SETTINGS = {
    "extra_args": (),
    "engine_env": {},
    "chat_template": "",
    "chat_template_file": "",
    "ollama_compat": False,
}


def of(said=None, weights=Weights.GGUF, **header):
    """The answer for a model whose header says that."""
    model, files = a_model("m", weights=weights), MemoryWeightFiles({})
    files.content[model.files[0]] = "one"
    files.pairs |= {f"tokenizer.{name}": value for name, value in header.items()}
    return toolless(model, SETTINGS | (said or {}), files)


def test_what_the_header_holds_decides():
    """No template is the engine's own plain one."""
    assert of()
    assert of(chat_template=PLAIN)
    assert not of(chat_template=FITTED)
    assert not of(**{"chat_template": PLAIN, "chat_template.tool_use": FITTED})


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ({"chat_template": PLAIN}, True),
        ({"chat_template": FITTED}, False),
        ({"chat_template": "chatml"}, False),
        ({"chat_template_file": "/t.jinja"}, False),
        ({"extra_args": ("--chat-template-file=/t.jinja",)}, False),
        ({"extra_args": ("--no-jinja",)}, False),
        ({"ollama_compat": True}, False),
        ({"engine_env": {"LLAMA_ARG_CHAT_TEMPLATE": "x"}}, False),
    ],
)
def test_a_persons_own_template_wins_and_what_is_not_read_is_not_refused(said, lost):
    """A name, a file and words for the engine may bring tools along."""
    assert of(said, chat_template=PLAIN) is lost


def test_other_weights_and_files_that_are_gone_are_not_judged():
    """Their engines have their templates elsewhere; what is gone is the load's to complain about."""
    assert not of(weights=Weights.SAFETENSORS)
    assert not toolless(a_model("m"), SETTINGS, MemoryWeightFiles({}))


@pytest.mark.parametrize(
    "word", ["<think>", "enable_thinking", "reasoning_content", "<|channel|>", "<|START_THINKING|>"]
)
def test_a_template_that_knows_of_thinking(word):
    """Any of the words by which templates open, close or keep thoughts; one too many refuses nobody."""
    files = MemoryWeightFiles({})
    model = a_model("m")
    files.content[model.files[0]] = "one"
    files.pairs["tokenizer.chat_template"] = PLAIN
    assert thoughtless(model, SETTINGS, files)
    assert thoughtless(model, SETTINGS | {"ollama_compat": True}, files)
    assert not thoughtless(model, SETTINGS | {"chat_template": PLAIN + word}, files)
    assert not thoughtless(model, SETTINGS | {"chat_template_file": "/t.jinja"}, files)
    files.pairs["tokenizer.chat_template"] = PLAIN + word
    assert not thoughtless(model, SETTINGS, files)
