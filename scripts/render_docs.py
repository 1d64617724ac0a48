"""Write the generated pages of docs/ from the code that they describe; `--check` only says which of them are stale.

Every page is the same on every Python and every terminal: argparse lays out the manual page alone, at a fixed width.
"""
# ruff: noqa: SLF001 - argparse offers no public way to look at a parser

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import blazar
from blazar.adapters.cli.parser import ENVIRONMENT, EXIT_CODES, build_parser
from blazar.adapters.http.routes import ROUTES, Gate, Route
from blazar.application.config.page import configuration_page
from blazar.domain.instance.machine import GONE, TRANSITIONS, State
from blazar.domain.routing import BY_POLICY, LANES

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMAND = "make docs"
MAN_DATE = "2026-11-29"
"""A date of its own, so that the page does not change from one day to the next; raised with releases."""

_MADE = "<!-- Made by scripts/render_docs.py from {source}. Do not edit: change the source and run `make docs`. -->\n\n"


# Command line


def _verbs(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser, tuple[str, ...]]]:
    """(name, parser, aliases) of every verb, in the order in which they were added."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names: dict[int, list[str]] = {}
            for name, verb in action.choices.items():
                names.setdefault(id(verb), []).append(name)
            seen: set[int] = set()
            for name, verb in action.choices.items():
                if id(verb) not in seen:
                    seen.add(id(verb))
                    yield name, verb, tuple(names[id(verb)][1:])


def _argument(action: argparse.Action) -> str:
    """A positional as the synopsis shows it."""
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    form = {"*": f"[{name} …]", "+": f"{name} …", "?": f"[{name}]"}
    return form.get(str(action.nargs), name)


def _spelling(action: argparse.Action) -> str:
    """How an option or an argument is written."""
    if not action.option_strings:
        return f"`{_argument(action)}`"
    words = ", ".join(f"`{word}`" for word in action.option_strings)
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return words if action.nargs == 0 else f"{words} `{value}`"


def _actions(parser: argparse.ArgumentParser, common: set[str]) -> list[argparse.Action]:
    shown = []
    for action in parser._actions:
        hidden = isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS
        if not hidden and not common.intersection(action.option_strings):
            shown.append(action)
    return sorted(shown, key=lambda action: bool(action.option_strings))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _action_table(actions: list[argparse.Action]) -> str:
    rows = [f"| {_cell(_spelling(action))} | {_cell(action.help or '')} |" for action in actions]
    return "\n".join(["| word | meaning |", "| --- | --- |", *rows]) + "\n"


def _verb_part(words: str, verb: argparse.ArgumentParser, aliases: tuple[str, ...], common: set[str]) -> Iterator[str]:
    actions = _actions(verb, common)
    inner = list(_verbs(verb))
    if inner:
        if verb.epilog:
            yield f"## blazar {words}\n\n{verb.description}\n\n{_examples(verb)}"
        for name, child, more in inner:
            yield from _verb_part(f"{words} {name}", child, more, common)
        return
    synopsis = [f"blazar {words}", "[OPTIONS]" if any(action.option_strings for action in actions) else ""]
    synopsis += [_argument(action) for action in actions if not action.option_strings]
    also = f" Also: {', '.join(f'`{alias}`' for alias in aliases)}." if aliases else ""
    about = (verb.description or "").rstrip(".")
    yield f"## blazar {words}\n\n{about}.{also}\n\n```\n{' '.join(word for word in synopsis if word)}\n```\n"
    if actions:
        yield _action_table(actions)
    if verb.epilog:
        yield _examples(verb)


def _examples(verb: argparse.ArgumentParser) -> str:
    """What `--help` shows below the options."""
    lines = (verb.epilog or "").rstrip().splitlines()
    return "\n".join([f"{lines[0].capitalize()}\n", "```", *(line.removeprefix("  ") for line in lines[1:]), "```\n"])


def _pair_table(head: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| `{name}` | {_cell(text)} |" for name, text in rows]
    return "\n".join([f"| {head} | meaning |", "| --- | --- |", *lines]) + "\n"


def cli_page() -> str:
    """Every verb with its words."""
    parser = build_parser()
    shared = _actions(parser, {"--help"})
    common = {word for action in shared for word in action.option_strings if word not in {"-V", "--version"}}
    # `serve --host` is an address to bind and no URL: it is the verb's own.
    parts = [
        _MADE.format(source="`blazar.adapters.cli.parser`")
        + f"# Command line\n\n{parser.description}\n\n## Options of every verb\n\n{_action_table(shared)}\n"
        + f"## Exit codes\n\n{_pair_table('code', EXIT_CODES)}\n## Environment\n\n{_pair_table('variable', ENVIRONMENT)}"
    ]
    for name, verb, aliases in _verbs(parser):
        own = {word for action in verb._actions if action.dest == "bind_host" for word in action.option_strings}
        parts += _verb_part(name, verb, aliases, (common | {"-h", "--help"}) - own)
    return "\n".join(parts)


def man_page() -> str:
    """blazar(1)."""
    from argparse_manpage.manpage import Manpage

    data = {
        "date": MAN_DATE,
        "project_name": "blazar",
        "version": blazar.__version__,
        "manual_title": "Blazar manual",
        "description": "local inference server for OpenAI, ollama and Anthropic clients",
        "long_description": build_parser().description,
    }
    parser = build_parser()
    parser.epilog = None  # the library would put it under COMMENTS; what is in it has sections of its own
    with _plain_terminal():
        page = str(Manpage(parser, data, format="single-commands-section"))
    # A heading stands behind its macro: indexers of manual pages read no further than the line.
    page = re.sub(r"^\.SH\n(?=[A-Z]+$)", ".SH ", page, flags=re.MULTILINE).rstrip("\n")
    return f"{page}\n{_man_section('EXIT STATUS', EXIT_CODES)}{_man_section('ENVIRONMENT', ENVIRONMENT)}"


def _man_section(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f".TP\n\\fB{_roff(name)}\\fR\n{_roff(text)}" for name, text in rows]
    return "\n".join([f".SH {title}", *lines]) + "\n"


def _roff(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


@contextmanager
def _plain_terminal() -> Iterator[None]:
    """Argparse wraps and colours by the environment; the page must not."""
    wanted = {"COLUMNS": "100", "NO_COLOR": "1"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


# Routes

_GATES = {
    Gate.OPEN: "no",
    Gate.KEY: "yes",
    Gate.MANAGE: "yes, an unscoped one",
}


def _family(route: Route) -> str:
    if route.path.startswith("/v1/messages"):
        return "Anthropic"
    if route.path.startswith("/v1/"):
        return "OpenAI"
    if route.key.startswith(("library.", "lane.ollama")) or route.key in {"children.ps", "meta.version"}:
        return "ollama"
    return "Native" if route.path.startswith("/api/") else "Health and meta"


def endpoints_page() -> str:
    """Every route by dialect."""
    parts = [
        _MADE.format(source="`blazar.adapters.http.routes`") + "# Endpoints\n\n"
        "Bodies are JSON unless said otherwise. `GET` routes answer `HEAD` too. Errors have the shape of their dialect and the same sentence\n"
        "everywhere. Every response carries `x-blazar-trace-id`. `GET /openapi.json` describes the same routes for machines.\n\n"
        "What is no HTTP request (a broken head, `Host` missing or twice, a `Content-Length` that is none) is a 400, and so is what asks for no\n"
        "path (a whole `http://HOST/PATH` is one) or in small letters. Headers that are too large are a 431, a URL that is too long a 414, a coding that is not known a 501: in the shape of the path's dialect, as far as it can be read, without a trace, and the connection ends.\n"
        "A body that is announced as too large is a 413 before it is sent; with `Expect: 100-continue` only a body that is wanted is asked for.\n\n"
        "Keys are asked for as soon as one is configured; an unscoped key is one without a `models` list.\n"
    ]
    for family in ("OpenAI", "ollama", "Anthropic", "Native", "Health and meta"):
        rows = [
            f"| `{route.method} {route.path}` | {_cell(route.summary)} | {_GATES[route.gate]} |"
            for route in ROUTES
            if _family(route) == family
        ]
        parts.append(
            "\n".join([f"## {family}\n", "| route | what it does | needs a key |", "| --- | --- | --- |", *rows]) + "\n"
        )
    return "\n".join(parts)


# States


def states_page() -> str:
    """The life of a child, as a drawing and as a table."""
    rows = sorted(TRANSITIONS.items(), key=lambda item: list(State).index(item[0][0]))
    drawing = "\n".join(f"    {state} --> {step.to}: {event}" for (state, event), step in rows)
    table = "\n".join(
        f"| {state} | {event} | {step.to} | {', '.join(step.effects) or '–'} |" for (state, event), step in rows
    )
    gone = " or ".join(state for state in State if state in GONE)
    return (
        _MADE.format(source="`blazar.domain.instance.machine`") + "# Instance states\n\n"
        "What happens to an engine process, from the first request that wants it to its end. Any other pair of state and event is a bug and is\n"
        f"raised. An instance that is {gone} has no process and is not listed by `blazar ps`.\n\n"
        f"```mermaid\nstateDiagram-v2\n    [*] --> {State.COLD}\n{drawing}\n```\n\n"
        "| state | event | next | effects, in order |\n| --- | --- | --- | --- |\n" + table + "\n"
    )


# Routing


def routing_page() -> str:
    """Which engine serves which weights."""
    rows = [(weights, "any", lane) for weights, lane in LANES.items()]
    rows += [(weights, policy, lane) for (weights, policy), lane in BY_POLICY.items()]
    changed = {weights for weights, _ in BY_POLICY}
    table = "\n".join(
        f"| {weights} | {'any other' if policy == 'any' and weights in changed else policy} | "
        f"{', then '.join(f'`{kind}`' for kind in lane.kinds)} | {lane.why} |"
        for weights, policy, lane in rows
    )
    return (
        _MADE.format(source="`blazar.domain.routing`") + "# Which engine serves a model\n\n"
        "`blazar explain MODEL` shows the decision for one model, and why each other engine was not taken. It is made in this order:\n\n"
        "1. `engine` under `[model_overrides.NAME]`: the tag of an installed build, else an engine kind. It wins over everything below.\n"
        '2. `[engine_routing] mode = "manual"`: of the active engines the one that was chosen last (`blazar engine use TAG`) serves everything.\n'
        '3. `mode = "auto"`: what the weights are decides, for plain safetensors together with `policy`.\n\n'
        "| weights | policy | engine kinds | because |\n| --- | --- | --- | --- |\n" + table + "\n\n"
        "Neither an override nor manual mode makes an engine serve weights that are not in its row: such a request is refused with a sentence that\n"
        "names the engine to install and those that are installed. Nothing falls back to an engine that would answer garbage.\n\n"
        "## Builds of one kind\n\n"
        "The active build comes first, then the newest. Forks come last, however active they are: one serves a model only when the builds before it are known\n"
        "not to know the model's architecture and the fork says that it does, or when the model is pinned to it.\n\n"
        "## An architecture that a build does not know\n\n"
        "A build that ends while loading and says that it does not know the architecture is not asked for it again until it is installed anew or the daemon\n"
        "starts anew. The requests that wait go on to an installed build that lists the architecture, once. Where there is none, they and all later ones are answered\n"
        "with status 502 and a sentence that says how to build a fork, and which one a registry offers; no engine is started for them.\n"
    )


def _configuration() -> str:
    return _MADE.format(source="`blazar.application.config`") + configuration_page()


PAGES: dict[str, Callable[[], str]] = {
    "configuration.md": _configuration,
    "cli.md": cli_page,
    "endpoints.md": endpoints_page,
    "instance-states.md": states_page,
    "routing.md": routing_page,
    "man/blazar.1": man_page,
}


def stale(folder: Path = DOCS) -> list[str]:
    """Pages that are missing or differ from what the code says now."""
    found = []
    for name, render in PAGES.items():
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != render():
            found.append(name)
    return found


def main(words: list[str]) -> int:
    """Write the pages, or check them."""
    if words == ["--check"]:
        outdated = stale()
        for name in outdated:
            print(f"docs/{name} is stale: run {COMMAND}", file=sys.stderr)
        return 1 if outdated else 0
    for name, render in PAGES.items():
        file = DOCS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
