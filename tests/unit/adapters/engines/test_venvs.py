"""Python environments, made by programs of a test's making in the place of `venv` and `pip`."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.engines.venvs import PipVenvs
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.venvs import Made
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.kinds import EngineKind
from blazar.domain.venv_lanes import LOCK

FAKE = '''\
#!{python} -S
"""Speaks as `python -m venv` and `python -m pip` do, and writes down what it was asked."""
import json, os, pathlib, sys, time
words = sys.argv[1:]
here = pathlib.Path(__file__).parent
asked = pathlib.Path({asked!r})
odd = {{name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "PIP_"))}}
with asked.open("a") as file:
    file.write(json.dumps([words, odd]) + "\\n")
mode = pathlib.Path({mode!r}).read_text()
if words[:2] == ["-m", "venv"]:
    if mode == "no venv":
        print("Error: ensurepip is not available.")
        sys.exit(1)
    folder = pathlib.Path(words[-1])
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    os.symlink(__file__, folder / "bin" / "python")
elif words[2:3] == ["freeze"]:
    print("# remark")
    print("mlx==0.32.4")
    print("mlx-lm==0.32.2")
    if asked.read_text().count("--constraint"):
        print("extra==1.0")
elif words[2:3] == ["install"] and "--report" in words:
    print("WARNING: a remark", file=sys.stderr)
    print(mode[7:] if mode.startswith("report ") else json.dumps(
        {{"install": [{{"metadata": {{"name": "mlx-lm", "version": "0.32.2"}}}}]}}))
elif words[2:3] == ["install"]:
    print("Collecting mlx-lm", flush=True)
    print("Requirement already satisfied: numpy", flush=True)
    if mode == "hang":
        time.sleep(600)
    if mode == "no network":
        print("WARNING: Retrying (Retry(total=0)) after connection broken")
        print("ERROR: Could not find a version that satisfies the requirement mlx-lm (from versions: none)")
        print("ERROR: No matching distribution found for mlx-lm")
        sys.exit(1)
    script = pathlib.Path(sys.argv[0]).parent / "server"
    script.write_text("#!" + sys.argv[0] + "\\nprint(1)\\n")
    script.chmod(0o755)
elif words[-1:] == ["--help"]:
    if mode == "broken":
        print("Traceback (most recent call last):")
        print("ImportError: libcuda.so.1: cannot open shared object file")
        sys.exit(1)
    print("usage: server [--model MODEL]" if mode != "other" else "usage: server [--models-dir D]")
'''


class Maker:
    """A folder of builds, and the programs that make environments."""

    def __init__(self, tmp_path: Path) -> None:
        self.engines, self.asked, self.mode = tmp_path / "engines", tmp_path / "asked", tmp_path / "mode"
        self.asked.write_text("")
        self.mode.write_text("")
        self.python = tmp_path / "fake-python"
        self.python.write_text(FAKE.format(python=sys.executable, asked=str(self.asked), mode=str(self.mode)))
        self.python.chmod(0o755)
        self.venvs = PipVenvs(self.engines, str(self.python))
        self.said: list[str] = []

    def make(self, more: Sequence[str] = ()) -> Made:
        return self.venvs.make("mlx-lm-0.32.2", ["mlx-lm==0.32.2", "mlx[cpu]"], lambda _: more, self.said.append)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.engines.iterdir()) if self.engines.is_dir() else []

    def try_out(self, made: Made) -> None:
        self.venvs.try_out(made, EngineKind.MLX, ("-m", "mlx_lm", "server"), "--model")


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    if os.name == "nt":
        pytest.skip("a script is no program there")
    return Maker(tmp_path)


def test_an_environment_is_made_out_of_sight(maker: Maker) -> None:
    """Its packages are pinned in a file of its own; progress is pip's, without what tells nothing."""
    made = maker.make()
    folder = Path(made.folder)
    assert folder.name.startswith(f".staging-{os.getpid()}-")
    assert (made.python, made.pins) == ("bin/python", ("mlx==0.32.4", "mlx-lm==0.32.2"))
    assert (folder / LOCK).read_text() == "mlx==0.32.4\nmlx-lm==0.32.2\n"
    assert maker.said == ["making a Python environment for mlx-lm-0.32.2", "Collecting mlx-lm"]
    maker.venvs.drop(made)
    assert maker.left() == []


def test_scripts_name_the_place_where_they_will_be(maker: Maker) -> None:
    """So that a rename makes it visible; the interpreter finds its packages by itself."""
    made = maker.make()
    assert (Path(made.folder) / "bin" / "server").read_text().splitlines()[0] == (
        f"#!{maker.engines.absolute()}/mlx-lm-0.32.2/bin/python"
    )
    assert stat.S_IMODE((Path(made.folder) / "bin" / "server").stat().st_mode) == 0o755


def test_it_becomes_a_build_by_one_rename(maker: Maker) -> None:
    """With a link for a program: the interpreter is the system's, and its rights are not ours to change."""
    maker.python.chmod(0o555)
    made, builds = maker.make(), ArchiveBuilds(maker.engines, SystemProcesses())
    staged = builds.adopt(made.folder, "mlx-lm-0.32.2", made.python)
    server = builds.publish(staged)
    builds.settle("mlx-lm-0.32.2")
    assert server == f"{maker.engines.absolute()}/mlx-lm-0.32.2/bin/python"
    assert Path(server).is_symlink()
    assert stat.S_IMODE(maker.python.stat().st_mode) == 0o555
    assert maker.left() == ["mlx-lm-0.32.2"]


def test_additions_must_not_change_what_they_are_for(maker: Maker) -> None:
    """They are installed with the pins as a bound, and are pins themselves then."""
    made = maker.make(["extra==1.*"])
    assert made.pins == ("mlx==0.32.4", "mlx-lm==0.32.2", "extra==1.0")
    assert "extra==1.0" in (Path(made.folder) / LOCK).read_text()
    last = [line for line in maker.asked.read_text().splitlines() if "--constraint" in line]
    assert len(last) == 1
    assert last[0].index(LOCK) < last[0].index("extra==1.*")


def test_pip_is_not_led_elsewhere(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """By variables that name another place or other packages; a person's own index stays."""
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_USER", "PIP_PREFIX"):
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    maker.make()
    for line in maker.asked.read_text().splitlines():
        assert "/elsewhere" not in line
        assert "https://index.example/simple" in line


def test_no_network_is_told_in_pips_words(maker: Maker) -> None:
    """Its errors, without its remarks; nothing is left."""
    maker.mode.write_text("no network")
    with pytest.raises(RegistryTrouble) as failed:
        maker.make()
    assert "No matching distribution found for mlx-lm" in str(failed.value)
    assert "Retrying" not in str(failed.value)
    assert "nothing was installed" in str(failed.value)
    assert maker.left() == []


def test_a_python_without_venv(maker: Maker) -> None:
    """Debian's: the sentence names the package."""
    maker.mode.write_text("no venv")
    with pytest.raises(RegistryTrouble, match=r"ensurepip.*python3-venv"):
        maker.make()
    assert maker.left() == []


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    """Nothing of ours is left either."""
    with pytest.raises(RegistryTrouble, match="nothing was installed"):
        PipVenvs(tmp_path / "engines", str(tmp_path / "none")).make("a", ["b"], lambda _: (), lambda _: None)
    assert list((tmp_path / "engines").iterdir()) == []


def test_the_newest_version(maker: Maker) -> None:
    """From pip's report; what it remarks on stderr is none of it."""
    assert maker.venvs.newest("mlx-lm") == "0.32.2"
    assert '"--dry-run"' in maker.asked.read_text()


@pytest.mark.parametrize(
    "report",
    ["", "nonsense", '{"install": []}', '{"install": [{"metadata": {"version": "1; rm -rf"}}]}', '{"install": 5}'],
)
def test_a_report_that_names_no_version(maker: Maker, report: str) -> None:
    """It becomes a word of the next command."""
    maker.mode.write_text(f"report {report}")
    with pytest.raises(RegistryTrouble, match="--tag"):
        maker.venvs.newest("mlx-lm")


def test_a_server_that_starts(maker: Maker) -> None:
    """It lists the flag that it is told its model by."""
    maker.try_out(maker.make())


@pytest.mark.parametrize(("mode", "said"), [("broken", "libcuda.so.1"), ("other", "--models-dir")])
def test_a_server_that_does_not(maker: Maker, mode: str, said: str) -> None:
    """The last that it said is the reason; a longer flag is another one."""
    made = maker.make()
    maker.mode.write_text(mode)
    with pytest.raises(Malformed, match=said):
        maker.try_out(made)


def test_an_interrupt_ends_pip_and_leaves_nothing(maker: Maker) -> None:
    """Ctrl-C: the one process is ended, the folder goes."""
    maker.mode.write_text("hang")

    def say(text: str) -> None:
        if text.startswith("Collecting"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maker.venvs.make("a", ["b"], lambda _: (), say)
    assert maker.left() == []


def test_a_kill_leaves_what_the_next_install_sweeps(maker: Maker) -> None:
    """-9 in the middle of pip: a hidden folder, which nobody takes for a build."""
    maker.mode.write_text("hang")
    script = textwrap.dedent(f"""
        from pathlib import Path
        from blazar.adapters.engines.venvs import PipVenvs
        PipVenvs(Path({str(maker.engines)!r}), {str(maker.python)!r}).make(
            "mlx-lm-0.32.2", ["b"], lambda _: (), lambda text: print(text, flush=True))
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    watchdog = threading.Timer(30.0, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert any(line.startswith("Collecting") for line in lines)
        pips = _children(process.pid)
    finally:
        watchdog.cancel()
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    for pid in pips:  # what a killed parent leaves; it ends by itself in life, and here by us
        os.kill(pid, signal.SIGKILL)
    assert len(maker.left()) == 1
    ArchiveBuilds(maker.engines, SystemProcesses()).sweep([])
    assert maker.left() == []


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []
