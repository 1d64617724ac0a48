"""Reading from an engine's last words that it does not know an architecture."""

from pathlib import Path

import pytest

from blazar.domain.architectures import LONGEST_ARCH, classify_unknown_arch, is_architecture, same_architecture

DYING = Path(__file__).parents[2] / "fixtures" / "dying"


def test_the_real_engine_is_understood():
    """Recorded from llama.cpp, with the lines that follow."""
    said = (DYING / "llamacpp-b11434.txt").read_bytes()
    assert classify_unknown_arch(said) == "nosucharch"
    assert classify_unknown_arch(said.decode()) == "nosucharch"


@pytest.mark.parametrize(
    ("said", "arch"),
    [
        ("E llama_model_load: error loading model: unknown model architecture: 'xyz'", "xyz"),
        ("error loading model: unsupported model architecture: 'clip'", "clip"),
        ("Error: Unknown GGUF architecture `nomic-bert`", "nomic-bert"),
        ("Unknown GGUF architecture `xyz...`: the file's metadata declares", "xyz..."),
        ("Error: Unsupported Huggging Face Transformers -CausalLM model class `BertModel`. Please", "BertModel"),
        ("Unsupported Hugging Face Transformers -CausalLM model class `XForCausalLM`. Please", "XForCausalLM"),
        ("ValueError: Model architectures ['XForCausalLM'] are not supported for now. Supported", "XForCausalLM"),
        ("ValueError: Model architectures ['A', 'B'] are not supported for now.", "A"),
        ("ValueError: Unsupported architectures: ChatGLM. Supported list: ['A']", "ChatGLM"),
        ("The checkpoint you are trying to load has model type `x_y` but Transformers does not recognize this", "x_y"),
        ("ValueError: Model type qwen3_5 not supported.", "qwen3_5"),
    ],
)
def test_every_engine_has_its_own_words(said, arch):
    """As their sources print them, between other lines."""
    assert classify_unknown_arch(f"loading\n{said}\nexiting due to model loading error\n") == arch


@pytest.mark.parametrize(
    "said",
    [
        "",
        "error loading model: tensor 'blk.1.ffn_down.weight' data is not within the file bounds",
        "CUDA error: out of memory",
        "unknown model architecture",
        "unknown model architecture: ''",
        "Model type is not known",
        "erreur : architecture inconnue « xyz »",
    ],
)
def test_other_deaths_are_ordinary(said):
    """Nothing is guessed."""
    assert classify_unknown_arch(said) == ""


def test_bytes_cut_anywhere_are_read():
    """The tail of a log may begin within a character, hold other encodings, and name an architecture in any script."""
    line = "Ошибка: モデル — unknown model architecture: 'архитектура'\nвыход\n".encode()
    start = line.index(b"unknown")
    for cut in range(start):
        assert classify_unknown_arch(line[cut:]) == "архитектура"
    for cut in range(start + 1, len(line)):
        assert classify_unknown_arch(line[cut:]) == ""
    for end in range(len(line)):
        assert classify_unknown_arch(line[:end]) in ("", "архитектура")
    assert classify_unknown_arch("erreur \xe9".encode("latin-1") + b"\xff unknown model architecture: 'x'") == "x"


def test_a_name_cannot_hurt_who_reads_it():
    """No control characters, no length without end, no lines."""
    assert classify_unknown_arch("unknown model architecture: 'a\x1b[31mb'") == "a\ufffd[31mb"
    assert len(classify_unknown_arch(f"unknown model architecture: '{'x' * 150}'")) == LONGEST_ARCH
    assert classify_unknown_arch(f"unknown model architecture: '{'x' * 5000}'") == ""
    assert classify_unknown_arch("unknown model architecture: 'a\nb'") == ""


def test_the_last_one_counts():
    """What was tried last is what it died over."""
    assert classify_unknown_arch("unknown model architecture: 'a'\nModel type b not supported.") == "b"


@pytest.mark.parametrize(
    ("said", "known", "same"),
    [
        ("llama", "llama", True),
        ("anything", "", True),
        ("llama", "qwen3", False),
        ("Qwen3ForCausalLM", "qwen3", True),
        ("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", True),
        ("LlamaForCausalLMEagle3", "LlamaForCausalLM", False),
        ("nomic-bert...", "nomic-bert", True),
        ("BertModel", "bert", True),
        ("Model", "Model", True),
        ("?", "!", True),
    ],
)
def test_spellings_of_one_architecture(said, known, same):
    """Classes and types of folders are the same thing; a draft's architecture is not the model's."""
    assert same_architecture(said, known) is same


@pytest.mark.parametrize("name", ["llama", "qwen2_5_vl", "gpt-oss", "t5encoder", "4x", "A" * LONGEST_ARCH])
def test_a_name_is_letters_digits_and_two_marks(name: str) -> None:
    """As every engine calls its own."""
    assert is_architecture(name)


@pytest.mark.parametrize(
    "name", ["", "../../etc", "a/b", "..", "a.b", "-x", "a b", "a\n", "ll\x1b[31m", "\u202e", "A" * 65]
)
def test_anything_else_is_none(name: str) -> None:
    """A path, an option, what steers a terminal."""
    assert not is_architecture(name)
