"""Words of mistral.rs's command line that name files which it reads."""

from blazar.adapters.engines.mistralrs.paths import PATHS
from tests.support.manifests import golden


def test_every_word_is_known_to_the_build() -> None:
    """A misspelt one would look for nothing."""
    assert set(PATHS) <= set(golden("mistralrs-0.9.2"))


def test_a_template_is_a_file() -> None:
    """The engine takes no other."""
    assert list(PATHS["--chat-template"]("mine.jinja")) == ["mine.jinja"]
