"""`create`: a Modelfile, with and without a daemon."""

from pathlib import Path

import pytest

from blazar.domain import teaching
from blazar.domain.overlay import Overlay
from tests.support.command_line import Cli, FakeRoot, StubDaemon, model


@pytest.fixture
def file(tmp_path: Path, root: FakeRoot, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    root.models.rows = {"base": model("base")}
    return tmp_path / "Modelfile"


def test_without_a_daemon(cli: Cli, root: FakeRoot, file: Path) -> None:
    """The file called Modelfile, if none is named; what has no effect is said, on stderr."""
    file.write_text("FROM base\nSYSTEM S\nPARAMETER num_gpu 1\nRENDERER x\n")
    said = cli("create", "new")
    assert (said.code, said.out) == (0, teaching.model_created("new") + "\n")
    assert root.models.created == [("new", Overlay("base", system="S", parameters={"num_gpu": 1}), False)]
    assert teaching.parameters_silent(["num_gpu"]) in said.err
    assert teaching.instructions_silent(["RENDERER"]) in said.err


def test_with_a_daemon_through_it(cli: Cli, root: FakeRoot, stub: StubDaemon, file: Path) -> None:
    """It evicts what runs under the name, and reads its configuration again (D29)."""
    file.write_text("FROM base\nPARAMETER top_k 5\nMESSAGE user hi\n")
    root.use(stub)
    stub.answers["POST", "/api/create"] = (200, {"status": "success"})
    assert cli("create", "new", "--json").json() == {"model": "new", "base": "base"}
    assert stub.bodies("/api/create") == [
        {
            "model": "new",
            "from": "base",
            "parameters": {"top_k": 5},
            "messages": [{"role": "user", "content": "hi"}],
            "stream": False,
        }
    ]
    assert root.models.created == []


def test_from_a_file(cli: Cli, root: FakeRoot, file: Path) -> None:
    """It lies where the Modelfile says, from the Modelfile's own folder on; it is imported under the new name."""
    folder = file.parent / "sub"
    folder.mkdir()
    (folder / "M").write_text("FROM ./w.gguf\nADAPTER lora.gguf\nFROM mmproj.gguf\n")
    said = cli("create", "new", "-f", "sub/M")
    assert said.code == 0
    assert root.models.rows["new"].files == (str(folder / "w.gguf"),)
    assert root.models.created == [("new", Overlay("new", adapters=(str(folder / "lora.gguf"),)), True)]
    assert teaching.modelfile_projector() in said.err


def test_a_file_is_not_the_business_of_a_daemon_elsewhere(
    cli: Cli, root: FakeRoot, stub: StubDaemon, file: Path
) -> None:
    """It would look for it on its own machine."""
    file.write_text("FROM ./w.gguf\n")
    root.use(stub, explicit=True)
    said = cli("create", "new")
    assert (said.code, said.err) == (1, f"error: {teaching.modelfile_path_elsewhere()}\n")
    assert "new" not in root.models.rows


def test_what_cannot_be_read_is_said(cli: Cli, file: Path) -> None:
    """No such file, a folder, bytes that are no text, a Modelfile that is none."""
    assert (cli("create", "new").code, cli("create", "new", "-f", str(file.parent)).code) == (1, 1)
    file.write_bytes(b"\xff\xfe")
    assert teaching.modelfile_not_text("Modelfile") in cli("create", "new").err
    file.write_text("SYSTEM x")
    assert cli("create", "new").err == f"error: {teaching.modelfile_without_from()}\n"


def test_adapters_are_laid_over_here_and_the_daemon_told(
    cli: Cli, root: FakeRoot, stub: StubDaemon, file: Path
) -> None:
    """They lie on this machine; a daemon elsewhere cannot read them."""
    file.write_text("FROM base\nADAPTER l.gguf\n")
    root.use(stub)
    stub.answers["POST", "/api/create"] = (200, {"status": "success"})
    assert cli("create", "new").code == 0
    assert root.models.created == [("new", Overlay("base", adapters=(str(file.parent / "l.gguf"),)), False)]
    assert stub.bodies("/api/create") == [{"model": "new", "from": "new", "stream": False}]
    root.use(stub, explicit=True)
    assert cli("create", "newer").code == 1
    assert "newer" not in root.models.rows
