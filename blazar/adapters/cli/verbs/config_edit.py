"""`config edit`: the file in an editor. What is edited is a copy; only a valid one takes the file's place."""

import argparse
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from blazar.adapters.cli.exits import FAILED, OK, report
from blazar.adapters.cli.following import FOLLOWED, follow
from blazar.adapters.cli.render import is_terminal
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, Conflict, Refusal


def edit(args: argparse.Namespace, root: Root) -> int:
    """Edit until it is valid, unchanged or given up; what was written is never lost."""
    path, command = str(root.places.config_file), editor(root.env)
    if _needs_terminal(root.env) and not _has_terminal(root.env):
        raise Refusal(teaching.editor_without_terminal(path))
    before = root.settings.source()
    copy = _copy_of(before)
    done = False
    try:
        after = _valid_text(args, root, command, copy)
        done = after is not None and (after == before or root.settings.replace(before, after))
        if after is not None and not done:
            raise Conflict(teaching.config_changed_meanwhile(path))
    except Refusal as trouble:
        if _unwritten(copy, before):
            raise
        raise Refusal(f"{trouble}; {teaching.config_copy_kept(str(copy))}") from trouble
    finally:
        _clear(copy, before, done=done)
    if after is None:
        return FAILED
    sentence = teaching.config_edit_unchanged if after == before else teaching.config_edited
    late = teaching.config_followed_soon(FOLLOWED) if after != before and follow(root).late else ""
    confirm(args, "\n".join(filter(None, (sentence(path), late))), path=path, changed=after != before)
    return OK


def _valid_text(args: argparse.Namespace, root: Root, command: list[str], copy: Path) -> bytes | None:
    """What the copy says when the editor is left; None, and everything is said, where it is wrong and given up."""
    source = _bytes_of(copy)
    while True:
        _run(command, copy)
        text = _bytes_of(copy)
        if text == source:
            return text
        try:
            root.settings.check(text, str(copy))
        except BadConfig as wrong:
            if not _again(args, wrong, copy, str(root.places.config_file)):
                return None
        else:
            return text


def _clear(copy: Path, before: bytes, *, done: bool) -> None:
    """Away with a copy that nobody needs; one that is kept may hold secrets, and editors set modes of their own."""
    needless = done or _unwritten(copy, before)
    if needless:  # what an editor that was ended left beside it: `.NAME.swp`, `NAME~`, `#NAME#`
        for beside in copy.parent.glob(f"*{copy.name}*"):
            if beside != copy:
                with suppress(OSError):
                    beside.unlink()
    with suppress(OSError):  # it is gone, or a folder: that is no text of anybody's
        if needless:
            copy.unlink()
        else:
            copy.chmod(0o600)


def _unwritten(copy: Path, before: bytes) -> bool:
    """Whether nothing of the person's is in it."""
    try:
        return _bytes_of(copy) == before
    except Refusal:
        return True


def _bytes_of(copy: Path) -> bytes:
    """What an editor left there. A pipe in its place would be read without end."""
    try:
        if stat.S_ISREG(copy.stat().st_mode):
            return copy.read_bytes()
        why = teaching.config_no_regular_file()
    except OSError as error:
        why = error.strerror or str(error)
    raise Refusal(teaching.editor_left_no_text(why))


def _needs_terminal(env: Mapping[str, str]) -> bool:
    """What somebody named is believed: it may be a script, or open a window."""
    return os.name != "nt" and not any(env.get(name, "").strip() for name in ("VISUAL", "EDITOR"))


def _has_terminal(env: Mapping[str, str]) -> bool:
    """One to type at and to draw on."""
    there = all(stream is not None and is_terminal(stream) for stream in (sys.stdin, sys.stdout))
    return there and env.get("TERM", "") != "dumb"


def editor(env: Mapping[str, str]) -> list[str]:
    """The words that start it: what the environment names, else what is usual and there."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(env.get(name, ""), posix=os.name != "nt")
        except ValueError as error:  # a quotation mark too many
            raise Refusal(teaching.editor_unreadable(name, str(error))) from error
        if words:
            return words
    for name in ("notepad",) if os.name == "nt" else ("vi", "nano"):
        if found := shutil.which(name, path=env.get("PATH")):
            return [found]
    raise Refusal(teaching.no_editor())


def _copy_of(data: bytes) -> Path:
    """For the owner alone: the file may hold secrets."""
    number, name = tempfile.mkstemp(prefix="config-", suffix=".toml")
    with os.fdopen(number, "wb") as out:
        out.write(data)
    return Path(name)


def _run(command: list[str], copy: Path) -> None:
    try:
        code = subprocess.run([*command, str(copy)], check=False).returncode
    except OSError as error:
        raise Refusal(teaching.editor_failed(command[0], error.strerror or str(error))) from error
    if code != 0:
        raise Refusal(teaching.editor_failed(command[0], f"exit code {code}"))


def _again(args: argparse.Namespace, wrong: BadConfig, copy: Path, path: str) -> bool:
    """Tell what is wrong, and ask on a terminal; a script gets the problems, and where its text is."""
    kept = teaching.config_edit_refused(path, str(copy))
    if args.json:
        report("; ".join([*wrong.problems, kept]), FAILED, as_json=True)
        return False
    for problem in wrong.problems:
        report(problem, FAILED, as_json=False)
    if sys.stdin is not None and is_terminal(sys.stdin):
        print(f"{teaching.config_edit_again()} [Y/n] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if answer != "" and not answer.strip().lower().startswith("n"):
            return True
    report(kept, FAILED, as_json=False)
    return False
