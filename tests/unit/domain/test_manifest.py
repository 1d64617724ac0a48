"""What a build can be told: the options of its help, and what is asked of them."""

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from blazar.domain.manifest import Manifest, Option, ValueKind, parse_help
from tests.support.manifests import TEXTS, golden, help_text

BLANK = " " * 40

HELP = f"""----- common params -----

-h,    --help, --usage                  print usage and exit
-t,    --threads N                      number of CPU threads (default: -1)
{BLANK}(env: LLAMA_ARG_THREADS)
-fa,   --flash-attn [on|off|auto]       set it ('on', 'off', or 'auto', default: 'auto')
-ctk,  --cache-type-k TYPE              KV cache data type for K
{BLANK}allowed values: f32, f16,
{BLANK}q8_0 (default: f16)
-sm,   --split-mode MODE
{BLANK}how to split, one of:
{BLANK}- none: use one GPU only
{BLANK}- layer (default): split layers
{BLANK}and KV
--format FORMAT                         one of:
{BLANK}- none: nothing
{BLANK}- deep: something (default: auto)
-lv,   --verbosity N                    Values:
{BLANK} - 0: generic output
{BLANK} - 1: error (default: 3)
--spec-type none,simple,ngram-map-k     comma-separated
-ts,   --tensor-split N0,N1,N2,...      a list, e.g. 3,1
--temp N                                temperature (default: 0.80)
--poll <0...100>                        level (0 - no polling, default: 50)
--draft, --draft-n N                    the argument has been removed. use another
-cb,   --cont-batching, -nocb, --no-cont-batching
{BLANK}whether (default: enabled)
--mmproj-auto, --no-mmproj, --no-mmproj-auto
{BLANK}whether
--host HOST                             where (default: 127.0.0.1)
--no-host                               bypass
-nr, --no-repack                        do not
--repack                                do
"""


@pytest.fixture(scope="module")
def known() -> Manifest:
    return parse_help(HELP)


def option(known: Manifest, spelling: str) -> Option:
    found = known.find(spelling)
    assert found is not None
    return found


# Spellings


def test_a_manifest_is_its_spellings(known: Manifest) -> None:
    """Aliases and negatives count, values and removed flags do not."""
    assert {"-h", "--usage", "-nocb", "--no-cont-batching", "--no-host", "-nr"} <= set(known)
    assert "--draft" not in known
    assert "--draft-n" not in known
    assert known.find("--draft") is None
    assert [one.names for one in known.options if one.gone] == [("--draft", "--draft-n")]
    assert len(known) == len(list(known)) == len(set(known))


def test_an_empty_manifest_is_false() -> None:
    """A build that could not be asked: nothing is filtered by it."""
    assert not parse_help("")
    assert not Manifest()
    assert Manifest() == parse_help("no help at all") != Manifest.spelled(["--a"])
    assert hash(Manifest()) == hash(parse_help(""))


def test_spellings_alone_make_one() -> None:
    """For builds of which no more is known."""
    known = Manifest.spelled({"--b", "--a"})
    assert list(known) == ["--a", "--b"]
    assert known.same("--a", "--a")
    assert not known.same("--a", "--b")


def test_two_spellings_of_one_thing(known: Manifest) -> None:
    """Short, long and negative forms set the same; unknown words only themselves."""
    assert known.same("-t", "--threads")
    assert known.same("-cb", "--no-cont-batching")
    assert known.same("--nope", "--nope")
    assert not known.same("--nope", "--no-repack")
    assert not known.same("-t", "--host")


def test_negatives_are_told_apart(known: Manifest) -> None:
    """The short ones, too; and also where the help lists both halves one by one."""
    assert option(known, "-nocb") == option(known, "-cb")
    assert option(known, "-cb").negative == ("-nocb", "--no-cont-batching")
    assert option(known, "--mmproj-auto").negative == ("--no-mmproj", "--no-mmproj-auto")
    assert option(known, "--repack").negative == ("-nr", "--no-repack")
    assert known.negative_of("--cont-batching") == "--no-cont-batching"
    assert known.negative_of("-nr") == "--repack"
    assert known.negative_of("-t") == known.negative_of("--nope") == ""


def test_odd_no_host_is_not_the_opposite_of_host(known: Manifest) -> None:
    """--host takes an address, --no-host is about buffers."""
    assert not known.same("--host", "--no-host")
    assert option(known, "--no-host").names == ("--no-host",)


# What follows a flag


@pytest.mark.parametrize(
    ("flag", "kind", "choices", "default"),
    [
        ("--help", ValueKind.NONE, "", ""),
        ("--threads", ValueKind.INT, "", "-1"),
        ("--flash-attn", ValueKind.CHOICE, "on off auto", "auto"),
        ("--cache-type-k", ValueKind.CHOICE, "f32 f16 q8_0", "f16"),
        ("--split-mode", ValueKind.CHOICE, "none layer", "layer"),
        ("--format", ValueKind.CHOICE, "none deep auto", "auto"),
        ("--verbosity", ValueKind.INT, "", "3"),
        ("--spec-type", ValueKind.TEXT, "none simple ngram-map-k", ""),
        ("--tensor-split", ValueKind.TEXT, "", ""),
        ("--temp", ValueKind.FLOAT, "", "0.80"),
        ("--poll", ValueKind.INT, "", "50"),
        ("--host", ValueKind.TEXT, "", "127.0.0.1"),
        ("--cont-batching", ValueKind.NONE, "", "enabled"),
    ],
)
def test_values_are_understood(known: Manifest, flag: str, kind: ValueKind, choices: str, default: str) -> None:
    """Kind, words and default, wherever llama-server says them."""
    found = option(known, flag)
    assert (found.kind, " ".join(found.choices), found.default) == (kind, choices, default)
    assert known.choices(flag) == found.choices


def test_variables_are_understood(known: Manifest) -> None:
    """The one that the engine would read; unknown flags have no choices."""
    assert option(known, "-t").env == "LLAMA_ARG_THREADS"
    assert option(known, "--temp").env == ""
    assert known.choices("--nope") == ()


@pytest.mark.parametrize(
    ("said", "default"),
    [
        ("(default: 0, 0 = off)", "0"),
        ("(default: -1 = auto)", "-1"),
        ('(default: "")', ""),
        ("(default: [7,8,9])", "[7,8,9]"),
        ("(default: same as --threads)", "same as --threads"),
        ("(default: -1; -1 = off)", "-1"),
        ("[default: cache]", "cache"),
        ("Default: None (full precision)", "None"),
        ("one of [a, b], default is a. In that mode", "a"),
        ("the default is the type of the file", ""),
        ("[2      ] number", "2"),
        ("[default] show this", ""),
        ("[Only where it helps] one", ""),
    ],
)
def test_defaults_are_understood(said: str, default: str) -> None:
    """In the words of every known help."""
    assert parse_help(f"  --flag <X>   {said}").options[0].default == default


@pytest.mark.parametrize(
    ("head", "said", "choices"),
    [
        ("--x {a,b-c}", "", "a b-c"),
        ("--x {a,b} [{a,b} ...]", "", "a b"),
        ("--x [{a,b} ...]", "", "a b"),
        ("--x <0|1>", "", "0 1"),
        ("--x <X>", "[possible values: on, off]", "on off"),
        ("--x <X>", "[default: on] [possible values: on, off]", "on off"),
        ("--x", "RNG, one of [std, cuda, cpu], default: cuda", "std cuda cpu"),
        ("--x <FILE|URL>", "", ""),
        ("--x <dev1,dev2,..>", "", ""),
        ("--x KEY=TYPE:VALUE,...", "", ""),
        ("--x X", "one of them", ""),
    ],
)
def test_choices_are_understood(head: str, said: str, choices: str) -> None:
    """Where a help lists all of them, and not where a placeholder looks like a list."""
    assert " ".join(parse_help(f"  {head}   {said}").options[0].choices) == choices


# Whole pages


def test_underscore_flags_survive() -> None:
    """They once were dropped, and a whole family of sd-server's components with them (contract)."""
    known = golden("sd-server-0.4.7")
    underscored = {flag for flag in known if "_" in flag}
    assert underscored == {"--clip_l", "--clip_g", "--clip_vision", "--llm_vision", "--qwen2vl_vision"}
    assert (len(known), len(known.options)) == (131, 118)


@pytest.mark.parametrize(
    ("stem", "spellings", "flags"),
    [
        ("llama-server-b11434", 405, "-fa --no-mmproj --spec-draft-n-max --fim-qwen-1.5b-default -no-kvu"),
        ("embedded", None, "-c -kvu -no-kvu --no-kv-unified --spec-type"),
        ("whisper-server-1.8.5", 98, "-nfa --prompt --vad --vad-min-speech-duration-ms --convert --dtw"),
        ("mlx-lm-0.32.2", 28, "--num-draft-tokens --kv-bits --chat-template-args --pipeline"),
        ("sglang-0.5.23", 559, "--model --tp-size --tensor-parallel-size --no-dllm-fdfo --lora-target-modules"),
        ("mistralrs-0.9.2", 99, "--pa-cache-type --max-seqs -m -v --sandbox-network"),
        ("piper-1.8.0", 24, "-m --model --length_scale --noise-w"),
    ],
)
def test_every_kind_of_page_is_read(stem: str, spellings: int | None, flags: str) -> None:
    """For argparse the count is the parser's own: all options but the hidden ones."""
    known = golden(stem)
    assert spellings in (None, len(known))
    assert set(flags.split()) <= set(known)


def test_a_narrow_terminal_changes_nothing() -> None:
    """Descriptions may be wrapped anywhere: spellings, placeholders and words stay."""
    for stem in ("mlx-lm-0.32.2", "mistralrs-0.9.2"):
        text = help_text(stem)
        wide = parse_help(text)
        narrow = parse_help("\n".join(_wrapped(text)))
        assert [one[:5] for one in narrow.options] == [one[:5] for one in wide.options]


def _wrapped(text: str) -> Iterator[str]:
    """Each line of a description broken at its first blank."""
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        first, _, rest = line.strip().partition(" ")
        if depth >= 10 and rest and not line.lstrip().startswith("["):
            yield from (" " * depth + first, " " * depth + rest)
        else:
            yield line


# Hostile pages

BITS = [
    "-",
    "--",
    "-a",
    "--b_c",
    " ",
    "  ",
    ",",
    ", ",
    "\n",
    "\t",
    "<",
    ">",
    "{",
    "}",
    "[",
    "]",
    "|",
    "=",
    "...",
    "N",
    "usage:",
]
BITS += [
    "default: ",
    "(env: ",
    "one of ",
    "allowed values: a, ",
    "- x: ",
    "é",
    "\x1b[1m",
    "\0",
    "'",
    '"',
    "\u2028",
    "--no-b",
]


def mutated(chance: random.Random) -> str:
    """A real page, or a heap of its parts, with pieces cut, doubled, swapped and put in."""
    if chance.random() < 0.3:
        return "".join(chance.choice(BITS) for _ in range(chance.randrange(400)))
    text = help_text(chance.choice([stem for stem in TEXTS if not stem.startswith("sglang")]))
    start = chance.randrange(len(text))
    piece = text[start : start + chance.randrange(3000)]
    for _ in range(chance.randrange(1, 12)):
        at, to = sorted(chance.randrange(len(piece) + 1) for _ in range(2))
        change: Any = chance.randrange(4)
        middle = ["", piece[at:to] * 2, chance.choice(BITS) * chance.randrange(1, 9), piece[at:to].replace("\n", " ")]
        piece = piece[:at] + middle[change] + piece[to:]
    return piece


def test_fuzz_no_text_is_an_error_or_makes_up_flags() -> None:
    """Whatever a program prints, spellings are words of it, and each option has one."""
    rounds = 20_000 if os.environ.get("BLAZAR_FUZZ") == "1" else 300
    for seed in range(rounds):
        text = mutated(random.Random(seed))
        plain = text.replace("\x1b[1m", "")
        found = parse_help(text)
        assert all(one.names for one in found.options), seed
        assert [name for one in found.options for name in (*one.names, *one.negative) if name not in plain] == [], seed
        assert all(flag.startswith("-") for flag in found), seed


HOSTILE = {
    "brackets that stay open": "-a <",
    "braces that stay open": "-a {\n",
    "braces in braces": "{",
    "names without end": "-a, ",
    "placeholders without end": "X [X ...] ",
    "capitals without end": "A ",
    "a name without end": "a-",
    "defaults without end": "default: [",
    "quotes without end": "default: '",
    "lists without end": "one of a,",
    "options without end": "-a <b c, -d <e, -f <g\n",
    "bullets without end": "          - a:\n",
    "blanks": "  ",
}


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many lines of Python were run; what a regular expression does within one is bounded by its form."""
    steps = [0]

    def trace(_frame: FrameType, event: str, _: object) -> Any:
        steps[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("bit", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_pages_cost_no_more_than_their_length(bit: str) -> None:
    """Four times the text, about four times the work."""
    costs = []
    for times in (250, 1000):
        with counted() as steps:
            parse_help("-x  begin\n-a  " + bit * times)
            parse_help("-a " + bit * times)
        costs.append(steps[0])
    assert costs[1] <= 5 * costs[0] + 1000
