"""Words of llama-server's command line that name files which it reads."""

from blazar.adapters.engines.llamacpp.paths import PATHS
from blazar.adapters.engines.llamacpp.reserved import RESERVED
from tests.support.manifests import golden

KNOWN = golden("llama-server-b11434")
FILES = ("FNAME", "FILE", "PATH", "DIR")


def test_every_word_is_known_to_the_build() -> None:
    """A misspelt one would look for nothing."""
    assert set(PATHS) <= set(KNOWN)


def test_every_option_with_a_file_is_listed() -> None:
    """But for those that nobody may say: the gateway says them itself, or not at all."""
    named = {name for option in KNOWN.options if any(map(option.value.__contains__, FILES)) for name in option.names}
    assert named - set(PATHS) <= RESERVED
    assert set(PATHS) <= named


def test_adapters_are_several_in_one_word() -> None:
    """With their scales where the flag says so."""
    assert list(PATHS["--lora"]("/a,/b")) == ["/a", "/b"]
    assert list(PATHS["--control-vector-scaled"]("/a:0.5,/b:-1")) == ["/a", "/b"]
