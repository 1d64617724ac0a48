"""The words of `pull`. Imports nothing but argparse, as `parser` does."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blazar.adapters.cli.parser import Family

PULL_EXAMPLES = """\
examples:
  blazar pull qwen3:0.6b                            ollama's registry
  blazar pull hf:ggml-org/Qwen3-8B-GGUF:Q4_K_M      a quantisation of a repository
  blazar pull https://example.org/files/m.gguf      a file
  blazar pull hf:ggml-org/Qwen3-8B-GGUF:Q8_0 --draft --name qwen3-8b

  Asks the daemon where one answers, which shares a download among all who
  want it. Ctrl-C keeps what came; the same words go on from there.

  HF_TOKEN (or BLAZAR_REGISTRY_TOKEN, which wins) opens private and gated
  repositories, HF_ENDPOINT (or BLAZAR_REGISTRY_BASE) names another hub.
"""


def add_pull(verbs: "Family") -> None:
    """REF, what it is called, and what comes with it."""
    pull = verbs.add(
        "pull", "download a model, or what is newer of it; goes on where an earlier one ended", more=PULL_EXAMPLES
    )
    pull.add_argument(
        "reference", nargs="?", metavar="REF", help="a model of ollama's registry or of Hugging Face, or an address"
    )
    pull.add_argument("--name", metavar="N", help="name of the model (default: from the reference)")
    pull.add_argument(
        "--with",
        action="append",
        default=[],
        dest="parts",
        metavar="ROLE=REF",
        help="another file of a diffusion model: vae, tae, clip_l, clip_g, t5xxl, llm, …; repeatable",
    )
    pull.add_argument(
        "--draft",
        nargs="?",
        const="auto",
        metavar="REF",
        help="a smaller model that guesses ahead for this one, too: --draft=REF, or the one known to go with it",
    )
