"""Which lines of a help begin an option, and what belongs to them."""

import pytest

from blazar.domain.help_text import LONGEST, entries


def heads(text: str) -> list[tuple[str, str]]:
    """Spellings and placeholder of every entry."""
    return [(" ".join(entry.names), entry.value) for entry in entries(text)]


LAYOUTS = {
    # llama-server: descriptions in a column, or on the next line where the head is too long
    "-c,    --ctx-size N                     size of the context": ("-c --ctx-size", "N"),
    "-cb,   --cont-batching, -nocb, --no-cont-batching\n                                        whether": (
        "-cb --cont-batching -nocb --no-cont-batching",
        "",
    ),
    "--cpu-strict <0|1>                      use it": ("--cpu-strict", "<0|1>"),
    "-fa,   --flash-attn [on|off|auto]       set it": ("-fa --flash-attn", "[on|off|auto]"),
    "-sm,   --split-mode {none,layer,row,tensor}": ("-sm --split-mode", "{none,layer,row,tensor}"),
    "-ot,   --override-tensor <tensor name pattern>=<buffer type>,...": (
        "-ot --override-tensor",
        "<tensor name pattern>=<buffer type>,...",
    ),
    "-dr,   --docker-repo [<repo>/]<model>[:quant]": ("-dr --docker-repo", "[<repo>/]<model>[:quant]"),
    "--control-vector-layer-range START END": ("--control-vector-layer-range", "START END"),
    "-Cr,   --cpu-range lo-hi                range of CPUs": ("-Cr --cpu-range", "lo-hi"),
    "--fim-qwen-1.5b-default                 a dot": ("--fim-qwen-1.5b-default", ""),
    # sd-server
    "  --llm_vision <string>                    path to the llm vit": ("--llm_vision", "<string>"),
    "  --pm-style-strength <float>              ": ("--pm-style-strength", "<float>"),
    # whisper-server: the placeholder behind each form, a comma behind the last, aligned at will
    "  -t N,      --threads N                 [2      ] number": ("-t --threads", "N"),
    "  -d  N,     --duration N                [0      ] time": ("-d --duration", "N"),
    "  -oved D,   --ov-e-device DNAME         [CPU    ] device": ("-oved --ov-e-device", "DNAME"),
    "  -dtw MODEL --dtw MODEL                 [       ] token": ("-dtw --dtw", "MODEL"),
    "  --host HOST,                           [127.0.0.1] name": ("--host", "HOST"),
    "  --convert,                             [false  ] audio": ("--convert", ""),
    "  -vmsd N,   --vad-max-speech-duration-s   N [FLT_MAX] max": ("-vmsd --vad-max-speech-duration-s", "N"),
    # argparse
    "  -m MODEL, --model MODEL\n                        which": ("-m --model", "MODEL"),
    "  --x, --no-x           a pair": ("--x --no-x", ""),
    "  --names NAMES [NAMES ...]": ("--names", "NAMES [NAMES ...]"),
    "  --kinds {a,b} [{a,b} ...]\n                        several": ("--kinds", "{a,b} [{a,b} ...]"),
    "  --maybe [MAYBE]       perhaps": ("--maybe", "[MAYBE]"),
    "  --kind {one,two,\n         three}\n                        one of these": ("--kind", "{one,two,three}"),
    # clap
    "  -p, --port <PORT>\n          HTTP server port": ("-p --port", "<PORT>"),
    "      --dtype <DTYPE>\n          Data type": ("--dtype", "<DTYPE>"),
    "  -v, --verbose...\n          More": ("-v --verbose", ""),
    "      --color[=<WHEN>]  when": ("--color", "[=<WHEN>]"),
    # others
    "  --port=PORT           joined": ("--port", "PORT"),
    "  --debug / --no-debug  click": ("--debug --no-debug", ""),
    "\t--tab N\tbehind tabs": ("--tab", "N"),
    "\x1b[1m--bold\x1b[0m N     in colour": ("--bold", "N"),
}


@pytest.mark.parametrize("text", LAYOUTS)
def test_heads_are_read(text: str) -> None:
    """Every spelling and the placeholder, of every kind of page."""
    assert heads(text) == [LAYOUTS[text]]


def test_a_description_may_begin_a_blank_behind_its_head() -> None:
    """Where the column is known from the lines above, as in a page that is set in columns."""
    text = "-c, --ctx-size N           size\n--no-warmup-at-all-please do not\n-ot, --override P=T,...    buffers\n--last-word-of-all-of-them KV cache"
    assert heads(text.replace("please do", "please  do")) == [
        ("-c --ctx-size", "N"),
        ("--no-warmup-at-all-please", ""),
        ("-ot --override", "P=T,..."),
        ("--last-word-of-all-of-them", ""),
    ]


PROSE = """usage: prog [-h] --required NAME [--other OTHER]
       --wrapped-usage NAME [--more]
       --last NAME

A page about --flags, which may
--verbose option or not be at a line's beginning,
--like this.

options:
  -h, --help            show this help message and exit
  --real REAL           uses --mentioned and
                        --wrapped N, see
                        --deeper  than that
  --long-name-without-room LONG_NAME
                        --first-words of a description

- --bullet  of a list
| `--table` | of a page |
```
> --quoted  text
--fenced)
--colon: text
"""


def test_what_sentences_mention_is_no_option() -> None:
    """Usage lines, prose at the margin, wrapped descriptions, lists, tables."""
    assert heads(PROSE) == [("-h --help", ""), ("--real", "REAL"), ("--long-name-without-room", "LONG_NAME")]


def test_descriptions_are_kept_line_by_line() -> None:
    """Lists of values are told by their lines; blank lines within do not end it, a heading does."""
    text = "Options:\n  -a <A>\n          One\n\n          - x: two\nMore:\n          three\n  -b  four"
    assert [entry.said for entry in entries(text)] == [["One", "- x: two"], ["four"]]


def test_options_that_are_padded_are_found() -> None:
    """whisper-server sets those without a short form as deep as others their descriptions; so they are also after a heading."""
    text = "  -t N,      --threads N     [2 ] number\n             --prompt PROMPT [  ] text\n\nVoice options:\n             --vad           [false] on"
    assert heads(text) == [("-t --threads", "N"), ("--prompt", "PROMPT"), ("--vad", "")]


def test_options_right_below_usage_are_found() -> None:
    """Some pages have no blank line between; their summary goes on deeper."""
    assert heads("usage: x [-a]\n          [-b]\n  -a  first\n  -b  second") == [("-a", ""), ("-b", "")]


def test_what_goes_on_for_ever_is_cut() -> None:
    """A program that answers everything with endless lines costs no more than a long help."""
    text = "--a  first\n" + "y\n" * LONGEST + "--b  last\n"
    assert heads(text) == [("--a", "")]
