"""Programs with a time limit."""

import sys

import pytest

from blazar.adapters.hardware import commands
from blazar.adapters.hardware.commands import Said, run
from blazar.adapters.hardware.probing import NotHere, ProbeFailed


def python(code):
    return sys.executable, "-S", "-c", code


def test_everything_it_says_is_kept():
    """Both streams, and how it ended."""
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    assert run(python(code)) == Said(3, "out\nerr\n")


def test_no_program_is_no_fault(tmp_path):
    """It is not installed; what is no program is another matter."""
    with pytest.raises(NotHere):
        run([str(tmp_path / "nvidia-smi")])
    (tmp_path / "nvidia-smi").write_text("")
    with pytest.raises(ProbeFailed) as caught:
        run([str(tmp_path / "nvidia-smi")])
    assert not isinstance(caught.value, NotHere)


def test_a_program_that_hangs_is_killed():
    """The caller is told, and the child is gone."""
    children = []
    real = commands.subprocess.Popen

    class Noted(real):
        def __init__(self, *words, **more):
            super().__init__(*words, **more)
            children.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands.subprocess, "Popen", Noted)
        with pytest.raises(ProbeFailed, match=r"no answer within 0\.05 s"):
            run(python("import time; time.sleep(60)"), seconds=0.05)
    assert children[0].returncode == -9


def test_one_that_cannot_be_killed_is_left(mocker):
    """A child that is stuck in the kernel does not take its caller with it."""
    child = mocker.patch.object(commands.subprocess, "Popen").return_value
    child.communicate.side_effect = commands.subprocess.TimeoutExpired("x", 1)
    child.wait.side_effect = commands.subprocess.TimeoutExpired("x", 1)
    with pytest.raises(ProbeFailed):
        run(["nvidia-smi"])
    child.kill.assert_called_once_with()
    child.wait.assert_called_once_with(commands._KILLED_SECS)
