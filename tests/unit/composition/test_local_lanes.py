"""Forks and Python packages in a data folder, through the real parts: only compilers, pip and the other end are a test's."""

import gzip
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.engines.install_lane import Wish
from blazar.composition.local import Local
from blazar.domain.arch_table import FEWEST
from blazar.domain.building import Backend
from blazar.domain.errors import BadConfig, Malformed, NotFound
from blazar.domain.kinds import EngineKind, Provenance
from tests.fakes.engines import an_engine
from tests.support.proxies import forget_proxies
from tests.support.registry import Answer, Blob, Registry

SHA = "0123456789abcdef0123456789abcdef01234567"
LANE = {
    "name": "novel",
    "kind": "llamacpp",
    "repo": "owner/fork",
    "commit": SHA,
    "architectures": ["novel"],
    "license": "MIT",
    "build": "cmake",
}
TABLE = "\n".join(f'{{ LLM_ARCH_A{n}, "arch-{n}" }},' for n in range(FEWEST))
WISH = Wish(backend=Backend.CPU)

CMAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo cmake version 3.25.1; exit; fi
while [ "$1" != -B ]; do shift; done
mkdir -p "$2/bin"
"""
NINJA = """#!/bin/sh
if [ "$1" = --version ]; then echo 1.11; exit; fi
folder="$2"
for name in llama-server llama-quantize llama-imatrix llama-perplexity llama-bench; do
  printf '#!/bin/sh\\necho version: 7\\n' > "$folder/bin/$name"; chmod +x "$folder/bin/$name"
  echo "[1/5] $name"
done
"""


def source() -> bytes:
    """The archive of a fork at its commit, as GitHub makes it."""
    out, lists = io.BytesIO(), b'project("llama.cpp" C CXX)\n'
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": SHA}) as tar:
        member = tarfile.TarInfo(f"fork-{SHA}/CMakeLists.txt")
        member.size = len(lists)
        tar.addfile(member, io.BytesIO(lists))
    return gzip.compress(out.getvalue())


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    forget_proxies(monkeypatch)
    server = Registry()
    server.given["/lanes.json"] = Answer({"version": 1, "lanes": [LANE]})
    server.given[f"/owner/fork/archive/{SHA}.tar.gz"] = Blob(source())
    server.given["/ggml-org/llama.cpp/raw/b100/src/llama-arch.cpp"] = Answer(TABLE.encode())
    yield server
    server.close()


@pytest.fixture
def local(tmp_path: Path, host: Registry) -> Iterator[Local]:
    """An empty data folder with a registry, and tools that build at once."""
    if os.name == "nt":
        pytest.skip("a script is no program there")
    tools = tmp_path / "tools"
    tools.mkdir()
    compiler = "#!/bin/sh\necho 12.2.0\n"
    for name, text in {"cmake": CMAKE, "ninja": NINJA, "gcc": compiler, "g++": compiler}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    env = {"PATH": f"{tools}{os.pathsep}/usr/bin{os.pathsep}/bin", "BLAZAR_GH_BASE": host.url}
    parts = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), env, lambda _: [])
    parts.folders.config_file.write_text(f'capability_registry_url = "{host.url}/lanes.json"\n')
    yield parts
    parts.close()


def nothing(_: str, __: int, ___: int) -> None:
    pass


def test_a_lane_is_installed_from_its_source(local: Local, host: Registry) -> None:
    """Listed, fetched at its commit, built, entered as a fork beside mainstream, which is asked what it knows."""
    official = local.folders.ensure().engines / "b100" / "llama-server"
    local.engine_rows.add_engine(an_engine("b100", server_path=str(official)))
    lanes = local.engines().lanes
    assert [(one.lane.name, one.installed, one.possible) for one in lanes.available().lanes] == [("novel", "", True)]
    engine = lanes.lane("novel", WISH, nothing)
    assert (engine.tag, engine.provenance, engine.active) == ("novel-01234567", Provenance.FORK, False)
    assert (engine.source, engine.architectures) == (f"owner/fork@{SHA}", ("novel",))
    assert Path(engine.server_path).is_file()
    assert lanes.available().lanes[0].installed == "novel-01234567"
    row = local.engine_rows.find_engine("b100")
    assert row is not None
    assert len(row.architectures) == FEWEST
    assert list(local.folders.downloads.iterdir()) == []


def test_a_persons_fork_is_pinned(local: Local) -> None:
    """Whatever the registry says, or does not say."""
    local.folders.config_file.write_text('capability_registry_url = ""\n')
    engine = local.engines().lanes.fork(f"owner/fork@{SHA}", ["mine"], WISH, nothing)
    assert (engine.tag, engine.pinned, engine.release) == ("owner-fork-01234567", True, "")


def test_a_source_of_another_commit_is_not_built(local: Local, host: Registry) -> None:
    """The archive says what it is of; nothing of it stays."""
    other = SHA[::-1]
    host.given[f"/owner/fork/archive/{other}.tar.gz"] = Blob(source())
    with pytest.raises(Malformed, match=f"is of commit {SHA}"):
        local.engines().lanes.fork(f"owner/fork@{other}", ["mine"], WISH, nothing)
    assert local.engine_rows.list_engines() == []
    assert list(local.folders.downloads.iterdir()) == []


def test_what_cannot_be_meant_is_refused_before_anything_is_asked(local: Local, host: Registry) -> None:
    """A branch, no architecture, no registry."""
    lanes = local.engines().lanes
    with pytest.raises(Malformed):
        lanes.fork("owner/fork@main", ["mine"], WISH, nothing)
    with pytest.raises(Malformed):
        lanes.fork(f"owner/fork@{SHA}", [], WISH, nothing)
    local.folders.config_file.write_text("")
    with pytest.raises(NotFound):
        local.engines().lanes.available()
    assert host.asked == []


def test_the_variable_empty_disables_the_registry(local: Local, host: Registry) -> None:
    """BLAZAR_CAPABILITY_REGISTRY wins over the file (setup document)."""
    env = {**local.env, "BLAZAR_CAPABILITY_REGISTRY": ""}
    other = Local(local.folders, env, lambda _: [])
    with pytest.raises(NotFound):
        other.engines().lanes.available()
    other.close()
    assert host.asked == []


def test_a_configuration_that_cannot_be_read_is_said(local: Local) -> None:
    """It decides whom to ask: a guess would be the wrong answer."""
    local.folders.config_file.write_text("capability_registry_url = 5\n")
    with pytest.raises(BadConfig):
        local.engines().lanes.available()


def test_a_python_package_is_asked_for_by_kind(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine cannot run is refused by its own facts; an update needs something to update."""
    lanes = local.engines().lanes
    said: list[str] = []
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(Malformed, match="WSL2"):
        lanes.venv(EngineKind.SGLANG, None, None, said.append)
    with pytest.raises(NotFound):
        lanes.update_venv(EngineKind.MLX, said.append)
    assert said == []


def test_the_kept_list_serves_when_the_registry_does_not(local: Local, host: Registry) -> None:
    """With a note that says so."""
    lanes = local.engines().lanes
    lanes.available()
    host.given["/lanes.json"] = Answer(b"", 500)
    offers = lanes.available()
    assert [one.lane.name for one in offers.lanes] == ["novel"]
    assert "fetched last" in offers.notes[0]
    kept = json.loads((local.folders.data / "capability-registry.json").read_text())
    assert kept["list"]["lanes"][0]["name"] == "novel"
