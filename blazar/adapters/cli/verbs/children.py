"""`ps`, `load`, `evict`, `explain`: what runs, and what would. All of it is the daemon's to know; nothing is decided here."""

import argparse
import sys
from typing import Any
from urllib.parse import quote

from blazar.adapters.cli.answer import keep_alive
from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.render import Column, clean, duration, outline, size, table
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm, put_json, working
from blazar.domain import teaching

_READY = "serving"  # as `ps` and `domain.instance.machine` call it
_PS = (
    Column("NAME"),
    Column("STATE"),
    Column("ENGINE"),
    Column("PROVENANCE"),
    Column("CTX", right=True),
    Column("SLOTS", right=True),
    Column("BUSY", right=True),
    Column("PORT", right=True),
    Column("SIZE", right=True),
    Column("PLANNED", right=True),
    Column("MEASURED", right=True),
    Column("HIT", right=True),
    Column("UNTIL"),
)


def ps(args: argparse.Namespace, root: Root) -> int:
    """The loaded models, or with --reset: close the crash breakers."""
    client = root.client()
    if args.reset:
        keys = [str(key) for key in client.call("POST", "/api/ps", {"reset": True}).get("reset", [])]
        confirm(args, teaching.breakers_reset(keys), reset=keys)
        return OK
    answer = client.call("GET", "/api/ps")
    if args.json:
        put_json(answer)
        return OK
    rows = answer.get("models") or []
    if args.quiet:
        print(*(row.get("name", "") for row in rows), sep="\n", end="\n" if rows else "")
    elif rows:
        print(table(_PS, [_ps_row(row) for row in rows]))
    else:
        print(teaching.nothing_loaded(), file=sys.stderr)
    return OK


def _ps_row(row: dict[str, Any]) -> list[str]:
    busy = row.get("in_flight", 0)
    waiting, abandoned = row.get("waiting") or 0, row.get("abandoned") or 0
    marks = [teaching.ps_abandoned(abandoned)] * (abandoned > 0) + [f"+{waiting}"] * (waiting > 0)
    return [
        str(row.get("key") or row.get("name", "-")),
        _state(row),
        str(row.get("engine", "-")),
        str(row.get("provenance", "-")),
        str(row.get("context_length") or "-"),
        str(row.get("slots") or "-"),
        f"{busy} ({', '.join(marks)})" if marks else str(busy),
        str(row.get("port") or "-"),
        size(row.get("size") or 0),
        *(size(row[name]) if row.get(name) else "-" for name in ("planned", "measured")),
        hit(row.get("cache_hint")),
        _until(row.get("until_seconds")),
    ]


def _state(row: dict[str, Any]) -> str:
    marks = [teaching.ps_sleeping()] * bool(row.get("blazar_sleeping")) + [teaching.ps_outdated()] * bool(
        row.get("outdated")
    )
    return str(row.get("state", "-")) + (f" ({', '.join(marks)})" if marks else "")


def hit(share: Any) -> str:
    """How much of its prompts its cache held."""
    return f"{share:.0%}" if isinstance(share, int | float) else "-"


def _until(seconds: Any) -> str:
    """The countdown to the idle eviction; none means that it stays loaded."""
    return duration(float(seconds)) if isinstance(seconds, int | float) else "stays"


def load(args: argparse.Namespace, root: Root) -> int:
    """Have it ready; starts the daemon if none answers (D3)."""
    from blazar.adapters.cli.background import ensure_daemon  # `ps` needs neither
    from blazar.adapters.cli.verbs.daemon import bind_of

    client = ensure_daemon(root, bind_of(args))
    body: dict[str, Any] = {"model": args.model}
    if args.keep_alive is not None:
        body["keep_alive"] = keep_alive(args.keep_alive)
    before = {row.get("key"): row for row in client.call("GET", "/api/ps").get("models") or []}
    with working(args, f"loading {args.model}"):
        answer = client.call("POST", "/api/load", body, timeout=None)
    name = str(answer.get("model") or args.model)
    seconds = float(answer.get("load_seconds") or 0)
    already = _is_same_child(before.get(answer.get("key")), answer)
    said = teaching.model_loaded_already(name) if already else teaching.model_loaded(name, seconds)
    confirm(args, said, **answer, already=already)
    return OK


def _is_same_child(before: dict[str, Any] | None, now: dict[str, Any]) -> bool:
    """Whether what is loaded now was ready before it was asked for."""
    return before is not None and before.get("state") == _READY and before.get("pid") == now.get("pid")


def evict(args: argparse.Namespace, root: Root) -> int:
    """Stop what `model`, `model#N` or `model@vision` means; without --force its requests end first (D4)."""
    body: dict[str, Any] = {"model": args.model, **({"force": True} if args.force else {})}
    with working(args, f"evicting {args.model}"):
        answer = root.client().call("POST", "/api/evict", body, timeout=None)
    keys = [str(key) for key in answer.get("evicted", [])]
    confirm(args, teaching.models_evicted(keys) if keys else teaching.nothing_to_evict(args.model), evicted=keys)
    return OK


_PARTS = ("weights", "kv", "recurrent", "compute", "projector", "draft", "lora")


def _plan(verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict in a few lines: its sentence, what is placed on each device, what was chosen and what would help."""
    if not verdict:
        return {}
    placed = {}
    for share in verdict.get("devices") or []:
        parts = ", ".join(f"{part} {size(share[part])}" for part in _PARTS if share.get(part))
        if parts:
            placed[f"on {share['device']}"] = f"{size(share['used'])} of {size(share['free'])} free: {parts}"
    chosen = verdict.get("chosen") or {}
    keys, values = chosen.get("cache_type_k"), chosen.get("cache_type_v")
    cache = keys if keys == values else f"{keys} (keys), {values} (values)"
    remarks = {name: verdict.get(name) for name in ("levers", "notes")}
    return {"plan": verdict.get("sentence"), **placed, "cache type": cache, **remarks}


def explain(args: argparse.Namespace, root: Root) -> int:
    """The daemon's dry run, as it says it, and each flag with its reason."""
    from blazar.adapters.cli.explain_view import command_lines, difference_lines  # `ps` needs neither

    answer = root.client().call("GET", f"/api/explain?model={quote(args.model, safe='')}")
    if args.json:
        put_json(answer)
    else:
        fit = answer.get("fit")
        if isinstance(fit, dict):
            plan = _plan(fit.pop("verdict", None) or {})
            answer["fit"] = {name: size(value) if type(value) is int else value for name, value in fit.items()} | plan
        decisions, difference = answer.pop("decisions", None), answer.pop("difference", None)
        running = answer.pop("running", None)
        argv, endpoint = answer.pop("argv", None) if decisions else None, answer.pop("endpoint", None) or ()
        print(outline(answer, commands=("argv",)))
        if argv and decisions:
            print(*command_lines(argv, decisions, endpoint), sep="\n")
        if difference:
            print(*difference_lines(difference), sep="\n")
        elif running:
            print(teaching.explain_runs(int(running["pid"]), clean(str(running["engine"]))))
    return OK
