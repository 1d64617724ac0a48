"""`serve`, `stop`, `restart`, `status`: the life of the daemon as seen from a shell."""

import argparse
import sys
from pathlib import Path

from blazar.adapters.cli.background import Bind, reporting, start_daemon, started_with, stop_daemon
from blazar.adapters.cli.exits import OK, WrongUse
from blazar.adapters.cli.locate import Note, read_note
from blazar.adapters.cli.parser import UsageError, parse
from blazar.adapters.cli.render import duration, facts, safe_text
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json
from blazar.domain import teaching
from blazar.domain.errors import Unreachable


def bind_of(args: argparse.Namespace) -> Bind:
    """Where to listen, as the options say; a relative path must survive the change of process."""
    config = str(Path(args.config).absolute()) if args.config else None
    return Bind(getattr(args, "bind_host", None), getattr(args, "bind_port", None), config)


def serve(args: argparse.Namespace, root: Root) -> int:
    """Be the daemon, or start one in the background."""
    if args.target:
        raise WrongUse(teaching.serve_host_after())
    if args.detach:
        return _start(args, root, bind_of(args))
    return reporting(lambda: root.serve(args), root.env)


def _start(args: argparse.Namespace, root: Root, bind: Bind) -> int:
    note = start_daemon(root, bind)
    warned = list(root.start_warnings(bind.host, bind.config))
    more = {"warnings": warned} if warned else {}
    confirm(args, teaching.daemon_started(note.url, note.pid), url=note.url, pid=note.pid, **more)
    # Its log has them too; nobody reads that one who sees a daemon start.
    for sentence in warned if not args.json else ():
        print(safe_text(teaching.warning(sentence)), file=sys.stderr)
    return OK


def stop(args: argparse.Namespace, root: Root) -> int:
    """End the daemon of this data folder."""
    note = read_note(root.places.run, root.processes)
    if note is None:
        raise Unreachable(teaching.nothing_to_stop())
    _stop(args, root, note)
    confirm(args, teaching.daemon_stopped(note.pid), stopped=True, pid=note.pid)
    return OK


def _stop(args: argparse.Namespace, root: Root, note: Note) -> None:
    def waiting() -> None:
        if not args.quiet:
            print(teaching.daemon_stopping(), file=sys.stderr, flush=True)

    stop_daemon(root.processes, note, waiting=waiting)


def restart(args: argparse.Namespace, root: Root) -> int:
    """Stop what runs and start it again: with the options given now, else with those it was started with.

    What would keep the new one from starting is found out first: then the old one goes on.
    """
    bind = bind_of(args)
    note = read_note(root.places.run, root.processes)
    if note is not None:
        before = _bind_of_running(note)
        bind = bind.over(before)
    root.check_start(bind.config)
    if note is not None:
        _stop(args, root, note)
    return _start(args, root, bind)


def _bind_of_running(note: Note) -> Bind:
    try:
        return bind_of(parse(["serve", *started_with(note.pid)]))
    except UsageError:  # started by other means than this command line
        return Bind()


def status(args: argparse.Namespace, root: Root) -> int:
    """Where the daemon is and how long it has been up; exit 4 when there is none."""
    target = root.target()
    said = root.client().health()
    if said is None:
        raise Unreachable(teaching.daemon_unreachable(target.url))
    pid = target.note.pid if target.note else None
    if args.json:
        put_json({"url": target.url, "pid": pid, **said})
        return OK
    rows = [("url", target.url), ("status", str(said["status"]))]
    if pid:
        rows.append(("pid", str(pid)))
    if said.get("version"):
        rows.append(("version", str(said["version"])))
    if "uptime_secs" in said:
        rows.append(("up", duration(float(said["uptime_secs"]))))
    print(facts(rows))
    return OK
