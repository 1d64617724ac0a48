"""What is said about a pull."""

from blazar.application.models.pulling import DONE, FILE, MANIFEST, VERIFYING, WRITING, Pulled, Step, Wish


def test_the_statuses_are_ollama_s_words() -> None:
    """Its clients match on them, in this order."""
    told = [MANIFEST, FILE, VERIFYING, WRITING, DONE]
    assert told == ["pulling manifest", "pulling", "verifying sha256 digest", "writing manifest", "success"]


def test_equal_wishes_are_one_wish() -> None:
    """They share a pull: what makes them differ is all that makes it another."""
    wish = Wish("a/b", parts=(("vae", "c"),))
    assert {wish: 1}[Wish("a/b", "", (("vae", "c"),), "")] == 1
    assert wish != wish._replace(draft="auto")


def test_what_nobody_said_is_empty() -> None:
    """A status is no file, a model has no path."""
    assert Step(MANIFEST) == (MANIFEST, "", 0, 0, "", "")
    assert Pulled(None, fresh=True) == (None, True, "", (), "")
