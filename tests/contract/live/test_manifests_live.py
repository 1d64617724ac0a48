"""The real archives say what was recorded of them."""

from pathlib import Path

import pytest

from blazar.adapters.engines.manifests import ManifestStore
from blazar.adapters.engines.probe import HelpProbe
from tests.fakes.engines import an_engine
from tests.support.builds import unpacked
from tests.support.manifests import golden
from tests.support.shared import shared

ARCHIVES = {
    "llama-server-b11434": ("llama-b11434-bin-linux-x64.tar.gz", "llama-server"),
    "sd-server-0.4.7": ("sd-bin-linux-x64.tar.gz", "sd-server"),
    "whisper-server-1.8.5": ("whisper-1.8.5-bin-linux-x64.tar.gz", "whisper-server"),
}


@pytest.mark.parametrize("stem", ARCHIVES)
def test_the_archive_says_what_was_recorded(tmp_path: Path, stem: str) -> None:
    """The golden manifest, flag by flag; a second start hears it from the store."""
    name, server = ARCHIVES[stem]
    archive = shared(f"engines/{name}")
    listed = (line.split() for line in shared("engines/SHA256SUMS").read_text().splitlines())
    digests = {file: digest for digest, file in listed}
    _, path = unpacked(tmp_path, archive, digests[name], "b1", server)
    store = ManifestStore(tmp_path / ".manifests")
    heard = HelpProbe((), {}, store).manifest(an_engine(server_path=path))
    assert heard == golden(stem)
    Path(path).write_bytes(Path(path).read_bytes())  # the same bytes, another time
    Path(path).chmod(0o600)  # and nobody can run it now
    assert HelpProbe((), {}, store).manifest(an_engine(server_path=path)) == heard
