"""Modelfiles as people write them."""

import pytest

from blazar.domain import modelfile, teaching
from blazar.domain.errors import Malformed
from blazar.domain.modelfile import parse_modelfile


def test_every_instruction() -> None:
    """In any case, with comments, quoted or not, over several lines."""
    read = parse_modelfile(
        "\ufeff# a comment\r\n"
        "from llama3:8b\n"
        "\n"
        'PARAMETER temperature 0.7\nPARAMETER stop "<|im_end|>"\nparameter stop AI assistant:\n'
        'SYSTEM """You are\n# no comment\n\nMario."""\n'
        "TEMPLATE {{ messages }}\n"
        "ADAPTER ./lora.gguf\n"
        'LICENSE """MIT"""\n'
        "MESSAGE user Is Toronto in Canada?\nMESSAGE assistant yes\n"
        "RENDERER x\nREQUIRES 0.1\n"
    )
    assert read.sources == ("llama3:8b",)
    assert read.overlay.parameters == {"temperature": 0.7, "stop": ["<|im_end|>", "AI assistant:"]}
    assert read.overlay.system == "You are\n# no comment\n\nMario."
    assert read.overlay.template == "{{ messages }}"
    assert read.overlay.adapters == ("./lora.gguf",)
    assert read.overlay.license == ("MIT",)
    assert read.overlay.messages == (("user", "Is Toronto in Canada?"), ("assistant", "yes"))
    assert read.ignored == ("RENDERER", "REQUIRES")


def test_quotes_that_belong_to_the_text_stay() -> None:
    """Only a pair around the whole of it goes."""
    read = parse_modelfile('FROM "a b.gguf"\nSYSTEM say "x" now\nMESSAGE user "quoted"\nSYSTEM """one line"""\n')
    assert read.sources == ("a b.gguf",)
    assert read.overlay.system == "one line"
    assert read.overlay.messages == (("user", "quoted"),)


def test_a_second_from_is_the_projector() -> None:
    """As `show` tells of a model with one."""
    assert parse_modelfile("FROM a.gguf\nFROM mmproj.gguf").sources == ("a.gguf", "mmproj.gguf")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", teaching.modelfile_without_from()),
        ("SYSTEM x", teaching.modelfile_without_from()),
        ("FROM", teaching.modelfile_no_value(1, "FROM")),
        ("FROM x\nPARAMETER temperature", teaching.modelfile_no_value(2, "PARAMETER")),
        ('FROM x\nSYSTEM ""', teaching.modelfile_no_value(2, "SYSTEM")),
        ('FROM x\nSYSTEM """a\nb', teaching.modelfile_open_quotes(2)),
        ("FROM x\nMESSAGE tool hi", teaching.modelfile_wrong_role(2, ("system", "user", "assistant"))),
        ("FROM x\nENTRYPOINT y", teaching.modelfile_unknown_instruction(2, "ENTRYPOINT")),
        ("FROM x\nPARAMETER heat 3", teaching.parameter_unknown("heat")),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, sentence: str) -> None:
    """One sentence, no traceback."""
    with pytest.raises(Malformed) as refused:
        parse_modelfile(text)
    assert str(refused.value) == sentence


def test_a_modelfile_of_megabytes_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody named the weights instead."""
    monkeypatch.setattr(modelfile, "LARGEST", 10)
    with pytest.raises(Malformed) as refused:
        parse_modelfile("FROM x\n# longer")
    assert str(refused.value) == teaching.modelfile_too_long()


def test_a_text_of_many_lines_is_read_once() -> None:
    """Line by line, not from its beginning for each."""
    text = "x\n" * 200_000
    assert parse_modelfile(f'FROM x\nSYSTEM """{text}"""').overlay.system == text
