"""Extra words as what a plan is made of."""

import pytest

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.reserved import RESERVED
from blazar.application.config.model import Config
from blazar.application.supervise.extra_words import WORDS, Into, last_said, read_extra, without
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.settings import Settings

SETTINGS = Config().settings_for("m")
FIELDS = frozenset(Settings.__dataclass_fields__)


def read(text, **said):
    """What the words come to beside these settings."""
    return read_extra(text.split(), SETTINGS | said)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("-np 3", {"slots": 3, "deterministic": False}),
        ("--parallel -1", {"slots": 4, "deterministic": False, "kv_unified": True}),
        ("-kvu", {"kv_unified": True}),
        ("-no-kvu", {"kv_unified": False}),
        ("--no-kv-unified --kv-unified", {"kv_unified": True}),
        ("-ctk q8_0 -ctv q4_0", {"cache_type_k": "q8_0", "cache_type_v": "q4_0"}),
        ("--cache_type_k q5_1", {"cache_type_k": "q5_1", "cache_type_v": "f16"}),
        ("--swa-full", {"swa_full": True}),
        ("-cram 512", {"cache_ram_mb": 512}),
        ("--cache-ram -1", {"cache_ram_mb": 2**31 - 1}),
        ("--sleep-idle-seconds 5", {"idle_sleep_secs": 5}),
        ("--sleep-idle-seconds -1", {"idle_sleep_secs": 0}),
        ("-b 4096 -ub 1024", {"batch_size": 4096, "ubatch_size": 1024}),
        ("-mg 1 -sm none", {"main_gpu": 1, "split_mode": "none"}),
        ("-ts 3/1", {"tensor_split": "3,1"}),
        ("-dev CUDA1,CUDA0", {"devices": ("CUDA1", "CUDA0")}),
        ("--device none", {"devices": ("none",)}),
        ("--rpc a:1,b:2", {"rpc_servers": "a:1,b:2"}),
        ("-nkvo", {"no_kv_offload": True}),
        ("-nkvo -kvo", {"no_kv_offload": False}),
        ("-nr", {"repack": False}),
        ("-lm mmap+mlock", {"load_mode": "mlock"}),
        ("-lm auto", {"load_mode": ""}),
        ("--no-mmap", {"load_mode": "none"}),
        ("--mlock", {"load_mode": "mlock"}),
    ],
)
def test_words_that_a_key_says_as_well(text, keys):
    """They are the key's value, the last of them the one that holds."""
    found = read(text)
    assert found.keys == keys
    assert not found.load
    assert not found.draft
    assert not found.files


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("-c 8192", {"ctx": 8192}),
        ("-c 1 --ctx-size 2", {"ctx": 2}),
        ("-ngl 12", {"gpu_layers": 12}),
        ("--gpu-layers all", {"gpu_layers": -1}),
        ("--n-gpu-layers auto", {"gpu_layers": -1}),
        ("-fa off", {"flash_attention": False}),
        ("-fa auto", {"flash_attention": True}),
        ("-cmoe", {"tensor_preset": "moe-cpu-offload"}),
        ("--no-mmproj-offload", {"projector_offload": False}),
        ("-mmdev CUDA1", {"projector_device": "CUDA1"}),
        ("-mmdev none", {"projector_device": "", "projector_offload": False}),
    ],
)
def test_words_that_no_key_says(text, load):
    """They are the planner's own fields."""
    assert read(text).load == load


def test_words_that_add_to_the_configuration():
    """The engine knows of both, so that the larger count holds, and patterns follow one another."""
    said = {"cpu_moe_n": 4, "override_tensor": ("a=CPU",)}
    found = read("-ncmoe 2 -ncffn 3 -ot b=CPU,c=CUDA0 -ot d=CPU", **said)
    assert found.keys == {
        "cpu_moe_n": 4,
        "cpu_ffn_n": 3,
        "override_tensor": ("a=CPU", "b=CPU", "c=CUDA0", "d=CPU"),
    }
    assert found.ours == frozenset()
    assert read("-ncmoe 9", **said).keys["cpu_moe_n"] == 9


def test_files_and_the_draft():
    """Adapters add up, with their scales left off; the draft's words are about the draft."""
    found = read("--lora a.gguf,b.gguf --lora-scaled c.gguf:0.5 -mm p.gguf -md d.gguf -ngld 3 -ctkd q8_0 -devd CUDA1")
    assert found.files == {"adapters": ("a.gguf", "b.gguf", "c.gguf"), "projector": "p.gguf", "draft": "d.gguf"}
    assert found.draft == {"gpu_layers": 3, "cache_type_k": "q8_0", "devices": ("CUDA1",)}
    assert found.written == {"adapters": "--lora-scaled", "projector": "-mm", "draft": "-md"}


def test_other_words_pass_by():
    """Also a value that looks like nothing, and a number below zero."""
    found = read("--temp -0.5 --reasoning-budget -1 --seed 7")
    assert (found.keys, found.load, found.ours, found.flags) == ({}, {}, frozenset(), ())


def test_what_is_said_once_is_named_as_it_is_written():
    """For the note; and by our table's name, for what must not be said twice."""
    found = read("-c 1024 -fa off --kv-unified-per-slot 512 -c 2048")
    assert found.flags == ("-c", "-fa")
    assert found.ours == {"--ctx-size", "--flash-attn", "--kv-unified-per-slot"}


@pytest.mark.parametrize(
    ("text", "flag", "value"),
    [
        ("-c lots", "-c", "lots"),
        ("-c -5", "-c", "-5"),
        ("-ctk q9", "-ctk", "q9"),
        ("--sleep-idle-seconds 0", "--sleep-idle-seconds", "0"),
        ("--sleep-idle-seconds -2", "--sleep-idle-seconds", "-2"),
        ("-ts 1,x", "-ts", "1,x"),
        ("-ts inf", "-ts", "inf"),
        ("-ot nothing", "-ot", "nothing"),
        ("-sm diagonal", "-sm", "diagonal"),
        ("-fa perhaps", "-fa", "perhaps"),
    ],
)
def test_a_value_that_the_engine_would_end_itself_over_is_refused(text, flag, value):
    """Before it is tried; the sentence names flag and value."""
    with pytest.raises(Malformed) as caught:
        read(text)
    assert str(caught.value) == teaching.extra_arg_value(flag, value)
    assert caught.value.field == "extra_args"


@pytest.mark.parametrize(
    ("text", "flag", "then"),
    [
        ("--temp 0 -ngl", "-ngl", ""),
        ("-c -np 2", "-c", "-np"),
        ("--mmproj -np 2", "--mmproj", "-np"),
        ("-c --host ::", "-c", "--host"),
    ],
)
def test_a_flag_without_its_value_does_not_swallow_the_next_one(text, flag, then):
    """Nor is the next one blamed: it is the value that is missing."""
    with pytest.raises(Malformed) as caught:
        read(text)
    assert str(caught.value) == teaching.extra_arg_needs_value(flag, then, "extra_args")


def test_the_last_of_an_option_is_found_as_it_is_written():
    """In whichever spelling; it is what the engine goes by, and what a sentence about it repeats."""
    words = ["--cache-ram", "512", "-np", "2", "-cram", "-1"]
    said = last_said(words, "--cache-ram")
    assert said is not None
    assert (said.flag, said.text) == ("-cram", "-1")
    assert last_said(words, "--ctx-size") is None


def test_words_can_be_left_out():
    """With their values, whatever they are spelled like: for a question that says otherwise."""
    words = ["--temp", "0", "-c", "8192", "-np", "2", "--ctx_size", "4096", "-kvu"]
    assert without(words, frozenset({"--ctx-size"})) == ("--temp", "0", "-np", "2", "-kvu")
    assert without(words, frozenset()) == tuple(words)


def test_every_row_sets_something_that_there_is():
    """A key of the configuration, a field of the planner, a flag of our table; and none that is ours alone to say."""
    for word in WORDS:
        assert word.into is not Into.KEY or word.name in SETTINGS, word
        assert word.into not in (Into.LOAD, Into.DRAFT) or word.name in FIELDS, word
        assert not word.ours or word.ours in {flag.name for flag in LLAMACPP_FLAGS}, word
        assert not RESERVED & set(word.spellings.split()), word
    spellings = [one for word in WORDS for one in word.spellings.split()]
    assert len(spellings) == len(set(spellings))
