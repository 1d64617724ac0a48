"""Go templates of Modelfiles: rendered here, and said in Jinja for engines."""

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.go_template import DEEPEST, as_jinja, conversation, parse, render

CHATML = (
    "{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}{{ if .Prompt }}<|im_start|>user\n"
    "{{ .Prompt }}<|im_end|>\n{{ end }}<|im_start|>assistant\n{{ .Response }}<|im_end|>\n"
)
LLAMA2 = "[INST] <<SYS>>{{ .System }}<</SYS>>\n\n{{ .Prompt }} [/INST] "
TRIMMED = """{{- if .System }}
S:{{ .System }}
{{- else }}
none
{{- end }}
{{- /* a comment */ -}}
  P:{{ .Prompt -}}
  {{ if not .System }}!{{ end }}{{ "q\\n" }}{{ `r` }}"""


def in_jinja(template: str, *messages: tuple[str, str], opened: bool = True) -> str:
    """By the reference implementation of Jinja."""
    jinja2 = pytest.importorskip("jinja2")
    given = [{"role": role, "content": content} for role, content in messages]
    made = jinja2.Environment().from_string(as_jinja(parse(template)))
    return str(made.render(messages=given, add_generation_prompt=opened))


def test_one_turn() -> None:
    """Open up to where the answer begins, or with its answer and what follows that."""
    nodes = parse(CHATML)
    asked = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n"
    assert render(nodes, {"Prompt": "q"}, opened=True) == asked
    assert render(nodes, {"System": "s", "Prompt": "q", "Response": "a"}) == (
        f"<|im_start|>system\ns<|im_end|>\n{asked}a<|im_end|>\n"
    )


def test_white_space_goes_where_go_takes_it() -> None:
    """On the side of a dash; comments and strings, too."""
    assert render(parse(TRIMMED), {"System": "s", "Prompt": "p"}, opened=True) == "\nS:sP:pq\nr"
    assert render(parse(TRIMMED), {"Prompt": "p"}, opened=True) == "\nnoneP:p!q\nr"


def test_an_answer_that_is_not_named_follows() -> None:
    """As with ollama."""
    assert render(parse(LLAMA2), {"Prompt": "p", "Response": "a"}).endswith("p [/INST] a")


@pytest.mark.parametrize(
    "template", [CHATML, LLAMA2, TRIMMED, "{{ .Prompt }}it's \\ {% x %} {# y #}{{ .Response }}\t'"]
)
def test_jinja_says_the_same(template: str) -> None:
    """Turn by turn, over a whole conversation."""
    nodes = parse(template)
    told = [
        render(nodes, {"System": "s", "Prompt": "one", "Response": "two"}),
        render(nodes, {"Prompt": "three"}),
        render(nodes, {"Prompt": "four"}, opened=True),
    ]
    said = (("system", "s"), ("user", "one"), ("assistant", "two"), ("user", "three"), ("user", "four"))
    assert in_jinja(template, *said) == "".join(told)
    assert conversation(nodes, [{"role": role, "content": text} for role, text in said]) == "".join(told)
    assert in_jinja(template, *said[:3], opened=False) == told[0]


@pytest.mark.parametrize(
    "template",
    [
        "{{ range .Messages }}{{ .Content }}{{ end }}",
        "{{ .Prompt }}{{ .Tools }}",
        "{{ if .Prompt }}x",
        "{{ .Prompt }}{{ end }}",
        "{{ .Prompt }}{{ else }}",
        '{{ if eq .Role "user" }}{{ .Prompt }}{{ end }}',
        "{{ Prompt }}",
        "{{ $x := .Prompt }}{{ .Prompt }}",
        "{{ .System }}",
        "{{ if .Prompt }}" * (DEEPEST + 1) + "{{ .Prompt }}" + "{{ end }}" * (DEEPEST + 1),
        "",
    ],
)
def test_what_is_not_understood_is_refused(template: str) -> None:
    """Not guessed at: a prompt that is nearly right makes answers that are nearly right."""
    with pytest.raises(Malformed) as refused:
        parse(template)
    assert str(refused.value) == teaching.template_is_gos()


@pytest.mark.parametrize(
    "template", [" " * 2**20, "{{" * 2**19, "{{- " * 2**18, "{{ if .Prompt }}" * 2**16, "}}" * 2**19]
)
def test_a_megabyte_of_anything_is_read_once(template: str) -> None:
    """A client sends it; the loop must not stand still for it."""
    with pytest.raises(Malformed):
        parse(template)
