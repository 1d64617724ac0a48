"""Manifests on disk: found again, never believed blindly, never in the way."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.engines import manifests as module
from blazar.adapters.engines.finder import EMBEDDED_MODULE
from blazar.adapters.engines.manifests import KEPT, Build, ManifestStore, build_of, decode, encode
from blazar.domain.manifest import Manifest, Option, ValueKind
from blazar.domain.records import Engine
from tests.fakes.engines import an_engine
from tests.support.manifests import TEXTS, golden

FOUND = Manifest(
    [
        Option(("-c", "--ctx-size"), kind=ValueKind.INT, value="N", default="0", env="LLAMA_ARG_CTX_SIZE"),
        Option(("--mmap",), negative=("--no-mmap",)),
        Option(("--pooling",), kind=ValueKind.CHOICE, value="{none,mean}", choices=("none", "mean")),
        Option(("--draft",), gone=True),
    ]
)
NAME = "0" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "engines" / ".manifests"


def program(path: Path, text: str = "one") -> Engine:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return an_engine(server_path=str(path))


def made(engine: Engine) -> Build:
    build = build_of(engine)
    assert build is not None
    return build


# What is kept


def test_what_was_kept_is_found(folder: Path) -> None:
    """Every field, by another process as well."""
    ManifestStore(folder).save(NAME, FOUND)
    assert ManifestStore(folder).load(NAME) == FOUND
    assert ManifestStore(folder).load("1" * 64) is None
    assert [path.name for path in folder.iterdir()] == [f"{NAME}.json"]


@pytest.mark.parametrize("stem", TEXTS)
def test_every_real_manifest_can_be_kept(stem: str) -> None:
    """Through JSON and back."""
    assert decode(json.loads(json.dumps(encode(golden(stem))))) == golden(stem)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\0\0\0",
        '{"schema": 1}',
        '{"schema": 1, "options": []}',
        '{"schema": 2, "options": [{"names": ["-a"]}]}',
        '{"schema": 1, "options": [1]}',
        '{"schema": 1, "options": [{"names": []}]}',
        '{"schema": 1, "options": [{"names": "-a"}]}',
        '{"schema": 1, "options": [{"names": [1]}]}',
        '{"schema": 1, "options": [{"names": ["-a"], "kind": "colour"}]}',
        '{"schema": 1, "options": [{"names": ["-a"], "gone": "yes"}]}',
        '{"schema": 1, "options": [{"names": ["-a"], "default": 5}]}',
        '{"schema": 1, "options": [{"names": ["-a"], "choices": "on"}]}',
        '{"schema": 1, "options": [{"names": ["-a"], "more": 1}]}',
        '{"schema": 1, "options": [{"names": ["-a"]}, {"value": "N"}]}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_counts_as_absent(folder: Path, text: str) -> None:
    """Cut off, of another version, or somebody else's: asked anew and written over."""
    store = ManifestStore(folder)
    store.save(NAME, FOUND)
    (folder / f"{NAME}.json").write_text(text)
    assert store.load(NAME) is None
    store.save(NAME, FOUND)
    assert store.load(NAME) == FOUND


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30)


def _copied(path: Path) -> None:
    ManifestStore(path.parent).save("1" * 64, FOUND)
    (path.parent / f"{'1' * 64}.json").rename(path)


PLANTED: dict[str, Callable[[Path], object]] = {
    "a link to another file": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a device that never ends": lambda path: path.symlink_to("/dev/zero"),
    "a pipe that nobody writes": os.mkfifo,
    "a gigabyte of nothing": _sparse,
    "another build's": _copied,
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe{"),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_what_was_planted_counts_as_absent(folder: Path, plant: Callable[[Path], object]) -> None:
    """Nothing of it is waited for, and what is kept next takes its place and not that of what it leads to."""
    folder.mkdir(parents=True)
    path = folder / f"{NAME}.json"
    plant(path)
    store = ManifestStore(folder)
    assert store.load(NAME) is None
    store.save(NAME, FOUND)
    assert store.load(NAME) == FOUND
    assert path.is_file()
    assert not path.is_symlink()


@pytest.mark.parametrize("plant", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_what_is_no_file_is_no_build(tmp_path: Path, plant: Callable[[Path], object]) -> None:
    """Its bytes would be waited for, or never end."""
    plant(tmp_path / "engine")
    assert build_of(an_engine(server_path=str(tmp_path / "engine"))) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """Here a file lies in its place; a read-only disk is the same to the store."""
    (tmp_path / "taken").write_text("")
    store = ManifestStore(tmp_path / "taken")
    store.save(NAME, FOUND)
    assert store.load(NAME) is None
    assert len(store.digest(made(program(tmp_path / "engine")), {})) == 64


def test_what_cannot_be_written_leaves_the_rest_alone(folder: Path) -> None:
    """A full disk is no reason to forget; no draft stays behind."""
    store = ManifestStore(folder)
    store.save(NAME, FOUND)
    (folder / f"{'1' * 64}.json").mkdir()
    store.save("1" * 64, FOUND)
    assert store.load("1" * 64) is None
    assert store.load(NAME) == FOUND
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_what_was_not_used_for_longest_goes(folder: Path) -> None:
    """So do the drafts of processes that died; what others put there stays."""
    store = ManifestStore(folder)
    names = [f"{number:064x}" for number in range(KEPT)]
    for age, name in enumerate(names):
        store.save(name, FOUND)
        os.utime(folder / f"{name}.json", (1000 + age, 1000 + age))
    (folder / ".x.json.1").write_text("half")
    (folder / "notes.txt").write_text("mine")
    assert store.load(names[0]) == FOUND  # used just now
    store.save("f" * 64, FOUND)
    left = {path.name for path in folder.iterdir()}
    assert left == {f"{name}.json" for name in (names[0], *names[2:], "f" * 64)} | {"notes.txt"}


# What a build is called


def test_the_same_bytes_are_the_same_build(tmp_path: Path, folder: Path) -> None:
    """Wherever they lie; other bytes, words, libraries or variables make another."""
    store = ManifestStore(folder)
    name = store.digest(made(program(tmp_path / "a" / "server")), {"A": "1"})
    assert store.digest(made(program(tmp_path / "b" / "server")), {"A": "1"}) == name
    assert store.digest(made(program(tmp_path / "b" / "server", "two")), {"A": "1"}) != name
    assert store.digest(made(program(tmp_path / "a" / "server")), {"A": "2"}) != name
    words = (str(tmp_path / "a" / "server"), "serve")
    served = an_engine(server_path=words[0], command=words)
    assert store.digest(made(served), {"A": "1"}) != name
    (tmp_path / "a" / "libllama-common.so.0").write_text("what the server is made of")
    assert store.digest(made(program(tmp_path / "a" / "server")), {"A": "1"}) != name


def test_a_program_that_is_not_there_is_no_build(tmp_path: Path, folder: Path) -> None:
    """Nor is one that goes while it is looked at."""
    assert build_of(an_engine(server_path=str(tmp_path / "missing"))) is None
    build = made(program(tmp_path / "server"))
    (tmp_path / "server").unlink()
    with pytest.raises(OSError, match="No such file"):
        ManifestStore(folder).digest(build, {})


def test_unchanged_files_are_read_once(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of 100 MB is not hashed at every start; a note that was tampered with or is damaged is made anew."""
    engine = program(tmp_path / "server")
    name = ManifestStore(folder).digest(made(engine), {})
    real, read = module.hashlib.file_digest, []

    def seen(file, kind):  # type: ignore[no-untyped-def]
        read.append(file.name)
        return real(file, kind)

    monkeypatch.setattr(module.hashlib, "file_digest", seen)
    assert ManifestStore(folder).digest(made(engine), {}) == name
    assert read == []
    (folder / "programs.json").write_text(json.dumps({engine.server_path: ["?"]}))
    assert ManifestStore(folder).digest(made(engine), {}) == name
    assert engine.server_path in read
    read.clear()
    changed = program(tmp_path / "server", "other")
    assert ManifestStore(folder).digest(made(changed), {}) != name
    assert read == [engine.server_path]


def test_the_note_of_hashes_stays_small(tmp_path: Path, folder: Path) -> None:
    """Builds come and go; the newest are remembered."""
    store = ManifestStore(folder)
    for number in range(KEPT + 5):
        store.digest(made(program(tmp_path / str(number))), {})
    rows = json.loads((folder / "programs.json").read_text())
    assert len(rows) == KEPT
    assert str(tmp_path / str(KEPT + 4)) in rows


def test_the_embedded_lane_is_its_wheel_and_our_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python that runs it says nothing of its flags."""
    wheel = tmp_path / "xllamacpp" / "__init__.py"
    program(wheel)
    engine = an_engine(server_path=str(wheel), command=(sys.executable, "-m", EMBEDDED_MODULE))
    monkeypatch.setattr(module.metadata, "version", lambda _: "1")
    build = made(engine)
    assert build.marks == ("1",)
    assert {Path(path).name for path, *_ in build.files} >= {"options.py", "embedded.py", "__init__.py"}
    monkeypatch.setattr(module.metadata, "version", lambda _: "2")
    os.utime(wheel, (1, 1))  # an upgrade writes all files anew
    assert made(engine).marks == ("2",)
    build = made(engine)
    monkeypatch.undo()
    options = tmp_path / "options.py"
    options.write_text("new")
    monkeypatch.setattr(module, "_LANE", (options,))
    assert made(engine).files != build.files


def test_a_python_engine_is_what_is_installed_beside_it(tmp_path: Path) -> None:
    """An upgrade of mlx-lm changes neither its Python nor its start script."""
    engine = program(tmp_path / "venv" / "bin" / "python")
    packages = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    os.utime(packages, (1, 1))
    before = made(engine)
    os.utime(packages, (2, 2))
    assert made(engine) != before


def test_a_better_parser_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier version of this program read is not found by a later one."""
    engine = program(tmp_path / "server")
    before = made(engine)
    later = tmp_path / "manifest.py"
    later.write_text("better")
    monkeypatch.setattr(module, "_PARSER", (later,))
    assert made(engine) != before
