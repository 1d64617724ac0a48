"""Words of mlx-lm's command line that name files which it reads."""

from blazar.adapters.engines.mlx.paths import PATHS
from tests.support.manifests import golden


def test_every_word_is_known_to_the_build() -> None:
    """A misspelt one would look for nothing."""
    assert set(PATHS) <= set(golden("mlx-lm-0.32.2"))


def test_a_draft_may_be_a_repository() -> None:
    """Only what begins at the root is a path for certain."""
    assert list(PATHS["--draft-model"]("org/name")) == []
    assert list(PATHS["--draft-model"]("/m/draft")) == ["/m/draft"]
