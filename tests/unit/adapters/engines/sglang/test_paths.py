"""Words of SGLang's command line that name files which it reads."""

from blazar.adapters.engines.sglang.paths import PATHS
from tests.support.manifests import golden


def test_every_word_is_known_to_the_build() -> None:
    """A misspelt one would look for nothing."""
    assert set(PATHS) <= set(golden("sglang-0.5.23"))


def test_a_template_may_be_the_engine_s_own() -> None:
    """By its name; what looks like a path is one."""
    assert list(PATHS["--chat-template"]("chatml")) == []
    assert list(PATHS["--chat-template"]("/t/mine.jinja")) == ["/t/mine.jinja"]
