"""One process that runs the command line `llm` again and again: starting Python for each command costs more than the checks.

`run` is for the checks; as a program, this is that process. It reads a JSON list of words and standard input a line, runs the
package's own command in this interpreter, and prints the status and what was printed as JSON.
"""

import json
import os
import subprocess
import sys
from typing import NamedTuple


class Said(NamedTuple):
    """What one command printed, and its exit status."""

    status: int
    out: str
    err: str


class Commands:
    """The process, with an environment of its own. Ended by its standard input's end."""

    def __init__(self, env: dict[str, str], cwd: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, words: tuple[str, ...], stdin: str) -> Said:
        """Run one command; the next one waits until it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([words, stdin]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the command's process ended"
        return Said(*json.loads(line))

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


def serve() -> None:
    import traceback

    from click.testing import CliRunner
    from llm.cli import cli

    # Answers go where nothing else is printed: a library that writes to standard output must not garble them.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        words, stdin = json.loads(line)
        got = CliRunner().invoke(cli, words, input=stdin)
        error = got.exception
        unexpected = (
            "" if error is None or isinstance(error, SystemExit) else "".join(traceback.format_exception(error))
        )
        answers.write(json.dumps([got.exit_code, got.stdout, got.stderr + unexpected]) + "\n")


if __name__ == "__main__":
    serve()
