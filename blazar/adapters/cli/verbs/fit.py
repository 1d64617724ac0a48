"""`fit`: what a model would take and whether it fits. Asked of the daemon that runs here, which knows who uses what; else answered here.

Exit 1 when nothing that was asked about can be loaded, not even after idle models left.
"""

import argparse
import os
from pathlib import Path
from typing import Any

from blazar.adapters.cli.exits import FAILED, OK
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import put_json, working
from blazar.domain.references import implied_reference, parse_reference

_TOKENS = ("BLAZAR_REGISTRY_TOKEN", "HF_TOKEN")
_LOADABLE = frozenset({"fits", "fits-from-disk", "fits-after-eviction"})


def fit(args: argparse.Namespace, root: Root) -> int:
    """Print the verdict, and of a repository every quantisation with which one to take."""
    body = _question(args)
    with working(args, f"looking at {args.model}"):
        found = _answer(body, root, imagines="gpu" in body or "ram" in body)
    if args.json:
        put_json(found)
    elif args.quiet:
        print(found["take"] or "")
    else:
        from blazar.adapters.cli.fit_view import page

        print(page(found))
    return OK if any(row["outcome"] in _LOADABLE for row in found["quants"]) else FAILED


def _question(args: argparse.Namespace) -> dict[str, Any]:
    """The body of POST /api/fit."""
    said = {"ctx": args.ctx, "slots": args.slots, "kv": args.kv, "ram": args.ram}
    body: dict[str, Any] = {"model": _named(args.model), **{name: value for name, value in said.items() if value}}
    return body if args.gpu is None else body | {"gpu": list(args.gpu)}


def _answer(body: dict[str, Any], root: Root, *, imagines: bool) -> dict[str, Any]:
    """The daemon named is asked always; the one of this folder unless it knows less than we do.

    It knows nothing that matters of an imagined machine, and a token in this shell is not in its environment.
    """
    target, named = root.target(), body["model"]
    elsewhere = parse_reference(named) or implied_reference(named)
    ours = imagines or (elsewhere is not None and any(root.env.get(name) for name in _TOKENS))
    if target.explicit or (target.note and not ours):
        answer: dict[str, Any] = root.client().call("POST", "/api/fit", body, timeout=None)
        return answer
    return root.fit(body)


def _named(target: str) -> str:
    """A path as an absolute one, since a daemon stands elsewhere; other words as they are.

    A word is a path when it looks like one, or when it has a slash and is there. A bare word is a name, whatever lies here.
    """
    if "://" in target or target.lower().startswith(("hf:", "ollama:")):
        return target
    path = Path(os.path.expanduser(target))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    separated = os.sep in target or "/" in target
    looks = target.startswith((".", "~", "/")) or target.lower().endswith(".gguf") or path.is_absolute()
    if looks or (separated and path.exists()):
        return str(path.absolute())
    return target
