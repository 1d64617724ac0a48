"""The words of `search`. Imports nothing, as the parser that calls it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blazar.adapters.cli.parser import Family

SEARCH_EXAMPLES = """\
examples:
  blazar search qwen3                      the most downloaded ones
  blazar search qwen3 coder --limit 30
  blazar pull $(blazar search -q --limit 1 smollm2 135m)

  TAKE is the quantisation to take here, SIZE and FITS are about: from the
  number of parameters alone, nothing is read. blazar fit reads headers.

  HF_ENDPOINT (or BLAZAR_REGISTRY_BASE) names another hub.
"""


def add_search(verbs: "Family") -> None:
    """WORD, and how many rows."""
    search = verbs.add(
        "search",
        "look for models on Hugging Face by a word; says what of each to take and whether it fits here, about",
        host=False,
        more=SEARCH_EXAMPLES,
    )
    search.add_argument("words", nargs="+", metavar="WORD", help="part of a repository's name, or several")
    search.add_argument("-n", "--limit", type=int, default=10, metavar="N", help="at most N rows (default: 10)")
