"""What builds say about themselves."""

import os
import re
import sys
from pathlib import Path

import pytest

from blazar.adapters.engines import probe as module
from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.reserved import RESERVED
from blazar.adapters.engines.probe import HelpProbe, flags_in
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.domain.argv import compile_argv
from blazar.domain.errors import Malformed
from tests.fakes.engines import an_engine
from tests.support.engine import stub_server
from tests.support.shared import shared

HELP = """----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of the prompt context (default: 0, 0 = loaded from model)
                                        --not-a-flag because it is prose
                                        -1 = everything
-kvo,  --kv-offload, -nkvo, --no-kv-offload
                                        whether to offload
--cpu-strict <0|1>                      use --strict placement
--spec-type none,draft-simple           comma-separated
--fim-qwen-1.5b-default                 a dot
  --llm_vision PATH                     indented, with an underscore
--draft, --draft-n N                    the argument has been removed. use --spec-draft-n-max
"""


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


def test_every_spelling_is_found() -> None:
    """Aliases, negatives, dots and underscores count; prose, values and retired flags do not."""
    expected = "-h --help --usage -c --ctx-size -kvo --kv-offload -nkvo --no-kv-offload --cpu-strict --spec-type --fim-qwen-1.5b-default --llm_vision"
    assert flags_in(HELP) == set(expected.split())


def test_a_binary_is_asked_once(tmp_path: Path) -> None:
    """The same file is run once; a changed one is asked again."""
    count = tmp_path / "count"
    body = f"open({str(count)!r}, 'a').write('x'); print('--alpha  N')"
    program = script(tmp_path / "engine", body)
    engine = an_engine(server_path=str(program))
    probe = HelpProbe()
    assert set(probe.known_flags(engine)) == set(probe.known_flags(engine)) == {"--alpha"}
    assert count.read_text() == "x"
    script(program, body.replace("alpha", "omega1"))
    assert set(probe.known_flags(engine)) == {"--omega1"}
    assert count.read_text() == "xx"


def test_a_build_that_cannot_be_asked_has_no_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, failing, hanging: empty, so that nothing is filtered."""
    monkeypatch.setattr(module, "ANSWER_SECS", 0.2)
    probe = HelpProbe()
    assert not probe.known_flags(an_engine(server_path=str(tmp_path / "missing")))
    assert not probe.known_flags(an_engine(server_path=str(script(tmp_path / "sad", "raise SystemExit(1)"))))
    hanging = script(tmp_path / "slow", "import time; time.sleep(60)")
    assert not probe.known_flags(an_engine(server_path=str(hanging)))
    with pytest.raises(Malformed, match=r"no answer within 0\.2 s"):
        probe.try_out((str(hanging),))


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
    from blazar.adapters.engines.builds import ArchiveBuilds

    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    digests = dict(reversed(line.split()) for line in shared("engines/SHA256SUMS").read_text().splitlines())
    _, server = ArchiveBuilds(tmp_path, SystemProcesses()).unpack(str(archive), None, digests[archive.name])
    known = HelpProbe().known_flags(an_engine(server_path=server))
    assert len(known) > 300
    assert {flag.name for flag in LLAMACPP_FLAGS} <= set(known)
    doors = re.findall(DOORS, HelpProbe()._output((server, "--help")), re.MULTILINE)
    assert len(doors) > 20
    # What opens a file, listens or fetches is either ours to say or a part of the model.
    assert {name for door in doors for name in re.split(r",\s*", door)} - RESERVED == OPEN_DOORS
    off = compile_argv(LLAMACPP_FLAGS, {"kv_unified": False, "cont_batching": False, "op_offload": False}, known)
    assert off.unknown == ()
