"""What builds say about themselves."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blazar.adapters.engines import probe as module
from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.reserved import RESERVED
from blazar.adapters.engines.manifests import ManifestStore
from blazar.adapters.engines.probe import HelpProbe
from blazar.domain.argv import compile_argv
from blazar.domain.errors import Malformed
from tests.fakes.engines import an_engine
from tests.support.builds import unpacked
from tests.support.engine import stub_server
from tests.support.shared import shared

# A flag whose value is a path, an address or a repository.
DOORS = r"^(-[\w, .-]*?) +(?:\S*(?:PATH|FNAME|FILE|DIR|URL|HOST|PORT|<repo>|<user>)\S*)(?: |$)"
OPEN_DOORS = {
    "--lora",
    "--lora-scaled",
    "--control-vector",
    "--control-vector-scaled",
    "--grammar-file",
    "-jf",
    "--json-schema-file",
    "--video-ffmpeg-dir",
    "--spec-draft-model",
    "-md",
    "--model-draft",
    "-lcs",
    "--lookup-cache-static",
    "-lcd",
    "--lookup-cache-dynamic",
    "-mm",
    "--mmproj",
    "--chat-template-file",
}


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable} -S\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_binary_is_asked_once(tmp_path: Path) -> None:
    """The same file is run once; a changed one is asked again."""
    count = tmp_path / "count"
    body = f"open({str(count)!r}, 'a').write('x'); print('--alpha  N')"
    program = script(tmp_path / "engine", body)
    engine = an_engine(server_path=str(program))
    probe = HelpProbe()
    assert set(probe.manifest(engine)) == set(probe.manifest(engine)) == {"--alpha"}
    assert count.read_text() == "x"
    script(program, body.replace("alpha", "omega1"))
    assert set(probe.manifest(engine)) == {"--omega1"}
    assert count.read_text() == "xx"


def test_a_build_that_cannot_be_asked_has_no_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, failing, hanging: empty, so that nothing is filtered."""
    monkeypatch.setattr(module, "ANSWER_SECS", 0.2)
    probe = HelpProbe()
    assert not probe.manifest(an_engine(server_path=str(tmp_path / "missing")))
    assert not probe.manifest(an_engine(server_path=str(script(tmp_path / "sad", "raise SystemExit(1)"))))
    hanging = script(tmp_path / "slow", "import time; time.sleep(60)")
    assert not probe.manifest(an_engine(server_path=str(hanging)))
    with pytest.raises(Malformed, match=r"no answer within 0\.2 s"):
        probe.try_out((str(hanging),))


def counting(path: Path, count: Path, end: str = "") -> Path:
    """A program that notes every run and knows `--alpha`."""
    return script(path, f"open({str(count)!r}, 'a').write('x'); print('--alpha N  the first'); {end or 'pass'}")


def test_a_later_start_does_not_ask_again(tmp_path: Path) -> None:
    """The same bytes elsewhere are the same build; other words, another environment or other bytes are not."""
    count, store = tmp_path / "count", ManifestStore(tmp_path / "kept")
    program = counting(tmp_path / "engine", count)
    copy = counting(tmp_path / "copy", count)
    first = HelpProbe((), {}, store).manifest(an_engine(server_path=str(program)))
    assert HelpProbe((), {}, store).manifest(an_engine(server_path=str(program))) == first
    assert HelpProbe((), {}, store).manifest(an_engine(server_path=str(copy))) == first
    assert first.find("--alpha") is not None
    assert count.read_text() == "x"
    HelpProbe((), {"LD_LIBRARY_PATH": "/else"}, store).manifest(an_engine(server_path=str(program)))
    assert count.read_text() == "xx"
    HelpProbe((), {}, store).manifest(an_engine(server_path=str(program), command=(str(program), "serve")))
    assert count.read_text() == "xxx"
    script(program, program.read_text().partition("\n")[2].replace("alpha", "omega"))
    assert set(HelpProbe((), {}, store).manifest(an_engine(server_path=str(program)))) == {"--omega"}


@pytest.mark.parametrize("end", ["raise SystemExit(1)", "import os; os.kill(os.getpid(), 11)"])
def test_what_a_crash_said_is_not_kept(tmp_path: Path, end: str) -> None:
    """It may be half of it: good enough for now, asked again at the next start."""
    count, store = tmp_path / "count", ManifestStore(tmp_path / "kept")
    # -S scripts do not flush on a signal.
    program = counting(tmp_path / "engine", count, f"import sys; sys.stdout.flush(); {end}")
    for _ in range(2):
        assert "--alpha" in HelpProbe((), {}, store).manifest(an_engine(server_path=str(program)))
    assert count.read_text() == "xx"


def test_two_who_want_to_know_run_it_once(tmp_path: Path) -> None:
    """The start asks in a thread of its own, and a load may come meanwhile."""
    count = tmp_path / "count"
    engine = an_engine(server_path=str(counting(tmp_path / "engine", count)))
    probe = HelpProbe()
    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(lambda _: probe.manifest(engine), range(4)))
    assert {"--alpha"} == set(heard[0])
    assert heard == [heard[0]] * 4
    assert count.read_text() == "x"


def test_the_end_does_not_wait_for_a_build_that_hangs(tmp_path: Path) -> None:
    """It is ended, and what it did not say is not kept."""
    os.mkfifo(tmp_path / "started")
    body = f"open({str(tmp_path / 'started')!r}, 'w').close(); import time; time.sleep(600)"
    engine = an_engine(server_path=str(script(tmp_path / "engine", body)))
    probe = HelpProbe((), {}, ManifestStore(tmp_path / "kept"))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(probe.manifest, engine)
        (tmp_path / "started").read_text()  # until it runs
        while not asked.done():
            probe.close()
        assert not asked.result()
    assert not list((tmp_path / "kept").glob("?" * 64 + ".json"))


def test_silence_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that hangs today, on a cold disk, is asked again at the next start."""
    monkeypatch.setattr(module, "ANSWER_SECS", 0.2)
    store = ManifestStore(tmp_path / "kept")
    engine = an_engine(server_path=str(script(tmp_path / "engine", "import time; time.sleep(60)")))
    assert not HelpProbe((), {}, store).manifest(engine)
    monkeypatch.undo()
    script(tmp_path / "engine", "print('--alpha  now')")
    assert "--alpha" in HelpProbe((), {}, store).manifest(engine)


def test_versions_are_read_from_either_stream(tmp_path: Path) -> None:
    """llama-server speaks on stderr; the line after `version:` is what counts."""
    probe = HelpProbe()
    assert probe.try_out((str(stub_server(tmp_path)),)) == "0.0.0-stub (build 0, commit unknown)"
    loud = script(tmp_path / "loud", "import sys; print('version: 7', file=sys.stdout)")
    assert probe.try_out((str(loud),)) == "7"


@pytest.mark.parametrize(
    "said", ["", "ls (GNU coreutils) 9.1", "myprog version: 3", "version:", "version: \\nlicence: x"]
)
def test_a_program_without_a_version_line_is_no_engine(tmp_path: Path, said: str) -> None:
    """`ls --version` succeeds, too: only the line of llama-server and of the wheel counts."""
    program = script(tmp_path / "other", f"print('{said}')")
    with pytest.raises(Malformed, match="is no llama-server"):
        HelpProbe().try_out((str(program),))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("import sys; print('error while loading shared libraries: libfoo.so'); sys.exit(127)", "libfoo.so"),
        ("raise SystemExit(3)", "it ended with status 3"),
        ("import os; os.kill(os.getpid(), 11)", "ended by signal 11"),
    ],
)
def test_a_build_that_does_not_run_says_why(tmp_path: Path, body: str, why: str) -> None:
    """The trial's sentence carries the program's own last words, else its status."""
    with pytest.raises(Malformed, match=why):
        HelpProbe().try_out((str(script(tmp_path / "engine", body)),))


def test_a_foreign_binary_says_why(tmp_path: Path) -> None:
    """A file of another machine's format, or none at all, is a sentence."""
    alien = tmp_path / "alien"
    alien.write_bytes(b"\x7fELF nothing")
    alien.chmod(0o755)
    with pytest.raises(Malformed, match="did not run"):
        HelpProbe().try_out((str(alien),))
    with pytest.raises(Malformed, match="No such file"):
        HelpProbe().try_out((str(tmp_path / "missing"),))


def test_builds_are_asked_in_a_clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inherited settings do not reach a probe either."""
    monkeypatch.setenv("LLAMA_ARG_HOST", "bad")
    program = script(tmp_path / "engine", "import os; print('version:', 'LLAMA_ARG_HOST' in os.environ)")
    assert HelpProbe(("LLAMA_ARG_",)).try_out((str(program),)) == "False"
    assert HelpProbe(("LLAMA_ARG_",), {"LLAMA_ARG_HOST": "told"}).try_out((str(program),)) == "True"
    assert os.environ["LLAMA_ARG_HOST"] == "bad"


def test_the_real_help_knows_every_flag_of_the_table(tmp_path: Path) -> None:
    """Each spelling that the table can say stands in the help of the real build."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    digests = dict(reversed(line.split()) for line in shared("engines/SHA256SUMS").read_text().splitlines())
    _, server = unpacked(tmp_path, archive, digests[archive.name])
    known = HelpProbe().manifest(an_engine(server_path=server))
    assert len(known) > 300
    assert {flag.name for flag in LLAMACPP_FLAGS} <= set(known)
    said = subprocess.run(
        [server, "--help"], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, timeout=60
    )
    doors = re.findall(DOORS, said.stdout, re.MULTILINE)
    assert len(doors) > 20
    # What opens a file, listens or fetches is either ours to say or a part of the model.
    assert {name for door in doors for name in re.split(r",\s*", door)} - RESERVED == OPEN_DOORS
    off = compile_argv(LLAMACPP_FLAGS, {"kv_unified": False, "cont_batching": False, "op_offload": False}, known)
    assert off.unknown == ()
