"""What an overlay means to the configuration, and how it is told."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.modelfile import parse_modelfile
from blazar.domain.overlay import (
    CHATML,
    LONGEST,
    PARAMETERS,
    WITHOUT_EFFECT,
    Overlay,
    merged,
    modelfile_of,
    parameters_text,
    read_parameters,
    settings_of,
    silent_parameters,
)
from blazar.domain.wire.ollama import OPTIONS

FULL = Overlay(
    base="b",
    template="{{ messages }}",
    system="Be\nbrief.",
    parameters={"temperature": 0.5, "stop": ["</s>", "x"], "num_ctx": 512, "num_gpu": 1},
    messages=(("user", "hi"), ("assistant", "ho")),
    license=("MIT",),
    adapters=("/a.gguf",),
)


def test_every_option_of_a_request_is_a_parameter() -> None:
    """What a request may say a created model may say; nothing is both known and without effect."""
    assert set(OPTIONS) == {*PARAMETERS, "stop"}
    assert not set(PARAMETERS) & WITHOUT_EFFECT


def test_parameters_are_typed() -> None:
    """From a Modelfile all of them come as text, from clients as numbers, from some in a list of one."""
    assert read_parameters({"temperature": "0.5", "top_k": "40", "seed": 7.0, "num_ctx": ["512"], "top_p": None}) == {
        "temperature": 0.5,
        "top_k": 40,
        "seed": 7,
        "num_ctx": 512,
    }
    assert read_parameters({"stop": "a"}) == {"stop": ["a"]}
    assert read_parameters({"stop": ["a", "b", "a"]}) == {"stop": ["a", "b"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "warm"),
        ("temperature", "nan"),
        ("temperature", [1]),
        ("temperature", True),
        ("top_k", 1.5),
        ("top_k", "1e3"),
        ("top_k", [1, 2]),
        ("num_ctx", 255),
        ("seed", 2**32),
        ("repeat_penalty", 0),
        ("top_k", "9" * 400),
        ("temperature", "1e400"),
        ("stop", "---"),
        ("stop", ["a", "\0"]),
        ("stop", [""]),
        ("stop", 3),
        ("temprature", 1),
    ],
)
def test_a_wrong_parameter_is_named(name: str, value: Any) -> None:
    """Before anything is created."""
    with pytest.raises(Malformed, match=name):
        read_parameters({name: value})


def test_settings_are_keys_that_an_override_has() -> None:
    """The window, words for the engine, a template, adapters; what has no effect is left out."""
    told = settings_of(FULL, "")
    assert told["ctx"] == 512
    assert told["extra_args"] == ["--temp", "0.5", "--reverse-prompt", "</s>", "--reverse-prompt", "x"]
    assert told["loras"] == ["/a.gguf"]
    assert told["chat_template"].endswith("{{ messages }}")
    assert silent_parameters(FULL) == ("num_gpu",)
    assert settings_of(Overlay(base="b"), "{{ messages }}") == {}


def test_the_template_is_the_overlays_else_that_of_the_weights_else_chatml() -> None:
    """It is only said where something stands before the conversation, or it is another one."""
    assert settings_of(Overlay(system="S"), "OWN messages")["chat_template"].endswith("OWN messages")
    assert settings_of(Overlay(system="S"), "")["chat_template"].endswith(CHATML)
    assert settings_of(Overlay(template="NEW messages"), "OWN")["chat_template"] == "NEW messages"
    assert "chat_template" not in settings_of(Overlay(parameters={"top_k": 1}), "OWN")


def render(overlay: Overlay, *messages: tuple[str, str]) -> list[tuple[str, str]]:
    """What a template is given, by the reference implementation of Jinja."""
    jinja2 = pytest.importorskip("jinja2")
    seen: list[tuple[str, str]] = []
    text = settings_of(overlay, "{%- for m in messages %}{{- see(m.role, m.content) }}{%- endfor %}")["chat_template"]
    given = [{"role": role, "content": content} for role, content in messages]
    jinja2.Environment().from_string(text).render(messages=given, see=lambda *said: seen.append(said) or "")
    return seen


def test_what_stands_before_every_conversation() -> None:
    """System prompt, messages, the caller's; a caller's system prompt takes the place of the model's (ollama's order)."""
    said = Overlay(system="S", messages=(("user", "u"), ("assistant", "a")))
    asked = ("user", "q")
    few = [("user", "u"), ("assistant", "a")]
    assert render(said, asked) == [("system", "S"), *few, asked]
    assert render(said, ("system", "mine"), asked) == [("system", "mine"), *few, asked]
    assert render(Overlay(system="S"), asked) == [("system", "S"), asked]
    assert render(Overlay(messages=(("user", "u"),)), asked) == [("user", "u"), asked]
    assert render(said) == [("system", "S"), *few]


@pytest.mark.parametrize(
    "text",
    ["it's", '"', "back\\slash \\n", "{{ x }} {% end %} {# no #}", "a\nb\r\n\tc\x0b\x0c\x08", "é 日本 🙂", "%}", "'"],
)
def test_any_text_survives(text: str) -> None:
    """Nothing in it ends the string, and nothing in it is a template."""
    assert render(Overlay(system=text), ("user", "q"))[0] == ("system", text)


def test_odd_a_template_of_go_s_and_one_of_jinja_s_look_alike() -> None:
    """Fields with a leading dot, and Go's words right inside the braces, are Go's; Jinja's braces are not."""
    assert "turn(" in settings_of(Overlay(template="{{- if .System }}x{{ end }}{{ .Prompt }}"), "")["chat_template"]
    for text in ("{{- if .System }}x{{ end }}", "{{ range .Messages }}", "{{ $x }}"):
        with pytest.raises(Malformed) as refused:
            settings_of(Overlay(template=text), "")
        assert str(refused.value) == teaching.template_is_gos()
    with pytest.raises(Malformed, match="messages"):
        settings_of(Overlay(template="Hello {{ name }}"), "")
    assert settings_of(Overlay(template="{{ messages[0].content }}{{ ifx }}"), "")["chat_template"]


def test_a_created_model_inherits() -> None:
    """All but what is said anew; parameters one by one."""
    got = merged(FULL, Overlay(base="full", system="Other.", parameters={"temperature": 1.0}))
    assert (got.base, got.system, got.messages) == ("full", "Other.", FULL.messages)
    assert got.parameters == {**FULL.parameters, "temperature": 1.0}
    assert merged(None, FULL) is FULL
    assert FULL.says
    assert not Overlay(base="b").says


def test_parameters_are_told_in_ollamas_columns() -> None:
    """A line each, the value from column 31, texts in quotation marks."""
    assert parameters_text(FULL).splitlines()[0] == "num_ctx                        512"
    assert parameters_text(Overlay(parameters={"stop": ['a"\n']})) == 'stop                           "a\\"\\n"'
    assert parameters_text(Overlay()) == ""


def test_a_told_modelfile_is_read_as_the_same() -> None:
    """Whatever stands in its texts."""
    said = FULL._replace(base="", system='Say "x"\n and\n', template='{{ messages }} "q" \n')
    read = parse_modelfile(modelfile_of(said, ("/m.gguf",)))
    assert read.sources == ("/m.gguf",)
    assert read.overlay == said


def test_what_no_command_line_carries_is_refused() -> None:
    """When it is created, not when it is first asked."""
    for overlay in (Overlay(system="a\0"), Overlay(system="x" * LONGEST), Overlay(messages=(("user", "é" * LONGEST),))):
        with pytest.raises(Malformed):
            settings_of(overlay, "")
    assert settings_of(Overlay(system="x" * (LONGEST - 2000)), "messages")


def test_odd_below_0_a_seed_is_any_and_a_reach_is_the_window() -> None:
    """Any, and a reach is the window: said in numbers that a command line takes."""
    said = {"seed": -1, "repeat_last_n": -1}
    assert settings_of(Overlay(parameters=said), "")["extra_args"] == [
        "--seed",
        "4294967295",
        "--repeat-last-n",
        "4096",
    ]
    assert settings_of(Overlay(parameters={**said, "num_ctx": 512}), "")["extra_args"][-1] == "512"
