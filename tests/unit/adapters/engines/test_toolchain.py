"""Compilers and build tools: found on PATH, asked, run."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from blazar.adapters.engines.toolchain import SystemToolchain
from blazar.application.ports.toolchain import BuildFailed
from blazar.domain.building import Compiler


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def tools(*folders: Path) -> SystemToolchain:
    return SystemToolchain({"PATH": os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"])})


def test_what_is_on_the_path(tmp_path: Path) -> None:
    """Of this environment, not of ours; the first one wins."""
    first, second = program(tmp_path / "a", "nvcc", "echo a"), program(tmp_path / "b", "nvcc", "echo b")
    assert tools(tmp_path / "b", tmp_path / "a").find("nvcc") == str(second)
    assert tools(tmp_path / "a", tmp_path / "b").find("nvcc") == str(first)
    assert SystemToolchain({"PATH": str(tmp_path)}).find("nvcc") == ""


def test_asking(tmp_path: Path) -> None:
    """What it prints; its last line where it fails."""
    assert tools().ask("/bin/echo", "release 12.4") == "release 12.4\n"
    with pytest.raises(BuildFailed, match=r"^no driver$"):
        tools().ask(str(program(tmp_path, "smi", "echo first; echo no driver; exit 9")))
    with pytest.raises(BuildFailed, match="No such file"):
        tools().ask(str(tmp_path / "gone"))


def test_compilers(tmp_path: Path) -> None:
    """By whatever version they are called, with the C++ one beside; what is no compiler, or does not answer, is none."""
    for name, said in (("gcc", "13.2.0"), ("gcc-12", "12.3.0"), ("clang-17", "Debian clang version 17.0.6")):
        program(tmp_path, name, f"echo {said}")
        program(tmp_path, name.replace("gcc", "g++").replace("clang", "clang++"), "exit 0")
    program(tmp_path, "gcc-11", "echo 11.1.0")  # without its g++-11
    program(tmp_path, "gcc-ar-12", "echo 12.3.0")
    program(tmp_path, "gcc-10", "exit 1")
    program(tmp_path, "g++-10", "exit 1")
    found = SystemToolchain({"PATH": f"{tmp_path}{os.pathsep}{tmp_path / 'nowhere'}"}).compilers()
    at = str(tmp_path)
    assert found == [
        Compiler(f"{at}/clang-17", f"{at}/clang++-17", "clang", (17, 0)),
        Compiler(f"{at}/gcc", f"{at}/g++", "gcc", (13, 2)),
        Compiler(f"{at}/gcc-12", f"{at}/g++-12", "gcc", (12, 3)),
    ]


def test_running(tmp_path: Path) -> None:
    """Each line is heard as it comes and kept in the log, after the words that were run."""
    heard: list[str] = []
    log = tmp_path / "build.log"
    tools().run(["/bin/sh", "-c", "echo '[1/2] a'; echo '[2/2] b' >&2"], str(log), heard.append)
    assert heard == ["[1/2] a", "[2/2] b"]
    assert log.read_text().splitlines() == ["$ /bin/sh -c echo '[1/2] a'; echo '[2/2] b' >&2", "[1/2] a", "[2/2] b"]


def test_running_what_fails(tmp_path: Path) -> None:
    """Its last lines come along, for somebody has to find the error among them."""
    log = str(tmp_path / "build.log")
    with pytest.raises(BuildFailed, match="status 2") as failed:
        tools().run(["/bin/sh", "-c", "echo x.cpp: error: no; exit 2"], log, lambda _: None)
    assert failed.value.lines == ("x.cpp: error: no",)
    with pytest.raises(BuildFailed, match="No such file"):
        tools().run([str(tmp_path / "gone")], log, lambda _: None)


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    """Ctrl-C, sent to us alone: the one process is asked to end by its pid, so that it can take its compilers along."""
    program(
        tmp_path,
        "ninja",
        f"trap 'echo ended > {tmp_path}/ended; exit 1' TERM; echo ready; while :; do sleep 0.05; done",
    )
    code = textwrap.dedent(f"""
        from blazar.adapters.engines.toolchain import SystemToolchain
        try:
            SystemToolchain({{"PATH": "/usr/bin:/bin"}}).run([{str(tmp_path / "ninja")!r}], {str(tmp_path / "log")!r}, lambda line: print(line, flush=True))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - began < 10
        assert child.wait(10) == 0
    finally:
        child.kill()
        child.stdout.close()
        child.wait()
    assert (tmp_path / "ended").read_text() == "ended\n"


def test_jobs() -> None:
    """As many as this process may use processors."""
    assert tools().cpus() >= 1
