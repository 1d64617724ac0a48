"""`fit`: what a model would take and whether it fits. Asked of the daemon that runs here, which knows who uses what; else answered here.

Exit 1 when nothing that was asked about can be loaded, not even after idle models left.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.cli.exits import FAILED, OK, WrongUse
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import put_json, working
from blazar.domain import teaching
from blazar.domain.errors import NotFound, Refusal
from blazar.domain.references import HF, HUB_VARIABLES, implied_reference, names_registry, parse_reference

if TYPE_CHECKING:
    from blazar.adapters.cli.locate import Target

_REGISTRY = (*HUB_VARIABLES, "BLAZAR_REGISTRY_TOKEN", "HF_TOKEN")
"""Variables by which this shell means a registry, or an account there, that a daemon does not know of."""
_OPTIONS = frozenset({"ctx", "slots", "kv", "gpu", "ram"})
_LOADABLE = frozenset({"fits", "fits-from-disk", "fits-after-eviction"})
_NOT_FOUND = 404


def fit(args: argparse.Namespace, root: Root) -> int:
    """Print the verdict, and of a repository every quantisation with which one to take."""
    body = _question(args)
    try:
        with working(args, f"looking at {args.model}"):
            found = _answer(body, root)
    except Refusal as refused:
        if (better := _explained(refused, args.model, body["model"])) is None:
            raise
        raise better from refused
    if args.json:
        put_json(found)
    elif not args.quiet:
        from blazar.adapters.cli.fit_view import page

        print(page(found))
    elif found["take"]:
        print(found["take"])
    return OK if any(row["outcome"] in _LOADABLE for row in found["quants"]) else FAILED


def _question(args: argparse.Namespace) -> dict[str, Any]:
    """The body of POST /api/fit."""
    said = {"ctx": args.ctx, "slots": args.slots, "kv": args.kv}
    body: dict[str, Any] = {"model": _named(args.model), **{name: value for name, value in said.items() if value}}
    if args.gpu is not None:
        body["gpu"] = list(args.gpu)
    return body if args.ram is None else body | {"ram": args.ram}


def _answer(body: dict[str, Any], root: Root) -> dict[str, Any]:
    """The daemon named is asked always; the one of this folder unless it knows less than we do.

    It knows nothing that matters of a machine that is imagined as a whole. A registry, or a token for one, that this shell names is
    not in its environment: it would ask for a private model elsewhere.
    """
    target = root.target()
    elsewhere = parse_reference(body["model"]) or implied_reference(body["model"])
    known = [name for name in _REGISTRY if root.env.get(name)] if elsewhere else []
    if target.explicit and elsewhere and elsewhere.registry == HF:
        _check_hub(known, target)
    imagined = "gpu" in body and "ram" in body
    if target.explicit or (target.note and not imagined and not known):
        answer: dict[str, Any] = root.client().call("POST", "/api/fit", body, timeout=None)
        return answer
    return root.fit(body)


def _check_hub(known: list[str], target: "Target") -> None:
    """Raise where another hub is meant than the daemon would ask: the name of a private model is not for everyone."""
    for name in HUB_VARIABLES:
        if name in known:
            raise WrongUse(teaching.fit_hub_elsewhere(name, target.url))


def _explained(refused: Refusal, word: str, named: str) -> Refusal | None:
    """A refusal as this command line means it: of an option, of a name that is a file here; None: as it is."""
    field = getattr(refused, "field", None)
    if field in _OPTIONS:
        return WrongUse(str(refused), field)
    lacks = isinstance(refused, NotFound) or getattr(refused, "status", 0) == _NOT_FOUND
    if lacks and named == word and not names_registry(word) and Path(word).exists():
        return NotFound(teaching.fit_is_here(str(refused), word))
    return None


def _named(target: str) -> str:
    """A path as an absolute one, since a daemon stands elsewhere; other words as they are.

    A word is a path when it looks like one, or when it has a slash and is there. A bare word is a name, whatever lies here.
    """
    if "://" in target or names_registry(target):
        return target
    path = Path(os.path.expanduser(target))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    separated = os.sep in target or "/" in target
    looks = target.startswith((".", "~", "/")) or target.lower().endswith(".gguf") or path.is_absolute()
    if looks or (separated and path.exists()):
        return str(path.absolute())
    return target
