"""Names of builds."""

import pytest

from blazar.adapters.engines.tags import is_tag, is_taken, tag_in


def test_tags_come_from_names() -> None:
    """The build's number is read from file or folder name; other words are no tag."""
    assert tag_in("llama-b11434-bin-linux-x64.tar.gz") == "b11434"
    assert tag_in("b9999.zip") == "b9999"
    assert tag_in("llama_cub123_x") is None
    assert tag_in("engine.tar.gz") is None


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("sd-master-890-74988b2-bin-Linux-Ubuntu-24.04-x86_64.zip", "master-890-74988b2"),
        ("sd-master-74988b2.zip", None),
        ("mistralrs-v0.9.5-x86_64.tar.xz", "v0.9.5"),
        ("mistralrs-v0.9.5.tar.gz", "v0.9.5"),
        ("mistralrs-v0.9.5.1.tar.gz", None),
        ("x-v1.2.tar.gz", None),
        ("llama-b11434-bin-win-cuda-12.4-x64.zip", "b11434"),
        ("cudart-llama-bin-win-cuda-12.4-x64.zip", None),
    ],
)
def test_every_project_numbers_its_releases_its_own_way(name: str, tag: str | None) -> None:
    """As their release pages spell them; a number that is none of these is not guessed at."""
    assert tag_in(name) == tag


@pytest.mark.parametrize("tag", ["b1", "b11434-cuda-12.4", "master-890-74988b2", "a" * 64, "x_"])
def test_tags(tag: str) -> None:
    """Folder names on every system."""
    assert is_tag(tag)
    assert not is_taken(tag)


@pytest.mark.parametrize("tag", ["", ".x", "-x", "a/b", "..", "a b", "b1.", "a" * 65, "é", "a\n"])
def test_what_is_no_tag(tag: str) -> None:
    """Nothing that leaves the folder, hides in it, or is another name on another system."""
    assert not is_tag(tag)


@pytest.mark.parametrize("tag", ["local", "LOCAL", "embedded", "embedded-2026.1", "sglang", "LlamaCpp", "mlx"])
def test_names_that_mean_something_else(tag: str) -> None:
    """An engine that is not installed by us, or a kind: a model that is pinned to SGLang must not get a build of that name."""
    assert is_taken(tag)
