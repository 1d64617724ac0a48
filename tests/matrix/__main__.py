"""`python -m tests.matrix`: drive stock clients against a gateway, print what holds as a table, end with 1 on a miss.

python -m tests.matrix                                    a daemon of this checkout, with small models
python -m tests.matrix --url http://host:port --chat NAME any gateway; checks without a model for their role are skipped
"""

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.matrix.gateway import own_gateway
from tests.matrix.registry import ROLES, Client, Target, load
from tests.matrix.results import as_facts, details, judge, table
from tests.matrix.roles import proven


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__.partition("\n")[0])
    parser.add_argument("--url", default="", help="root of the gateway, for example http://127.0.0.1:11435")
    parser.add_argument("--key", default="none", help="an API key, where the gateway wants one")
    for role in ROLES:
        parser.add_argument(f"--{role}", default="", metavar="MODEL", help=f"the gateway's model for the role {role!r}")
    parser.add_argument(
        "--client", action="append", default=[], help="only clients with this in their name (repeatable)"
    )
    parser.add_argument("--check", default="", help="only checks with this in their name")
    parser.add_argument("--all", action="store_true", help="heavy clients too")
    parser.add_argument("--list", action="store_true", help="print the checks, make none")
    parser.add_argument("--json", action="store_true", help="one JSON line a check in place of the table")
    return parser


def wanted(clients: list[Client], words: list[str], heavy: bool) -> list[Client]:
    """Those that were asked for: by name, or all that are not heavy."""
    if words:
        return [one for one in clients if any(word.lower() in one.name.lower() for word in words)]
    return [one for one in clients if heavy or not one.heavy]


def main(words: list[str] | None = None) -> int:
    """0 where every check that could be made holds, 1 on a miss, 2 where none was made."""
    asked = arguments().parse_args(words)
    checks = [
        check
        for client in wanted(load(), asked.client, asked.all)
        for check in client.checks
        if asked.check in check.name
    ]
    if asked.list:
        print("\n".join(f"{check.client.name}\t{check.route}\t{check.name}" for check in checks))
        return 0
    with ExitStack() as stack:
        if asked.url:
            roles = {role: getattr(asked, role) for role in ROLES}
            named = {role: name for role, name in roles.items() if name}
            target = proven(Target(asked.url.rstrip("/"), asked.key, named))
        else:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blazar-matrix-")))
            agents = any(need.startswith("agent:") for check in checks for need in check.client.needs)
            target = stack.enter_context(own_gateway(home, agents))
        outcomes = []
        for check in checks:
            outcomes.append(judge(check, target))
            if asked.json:
                print(json.dumps(as_facts(outcomes[-1])), flush=True)
    if not asked.json:
        print("\n".join([table(outcomes), *details(outcomes)]))
    if not any(one.verdict != "skipped" for one in outcomes):
        print("no check was made", file=sys.stderr)
        return 2
    return int(any(one.verdict == "missed" for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
