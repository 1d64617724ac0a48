"""Completion scripts for bash, zsh and fish, made from `build_parser()`: a new verb or option needs no word here."""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from blazar.adapters.cli.parser import build_parser


class Option(NamedTuple):
    """One option; `takes` says that a value follows, `values` which ones there are (none: any)."""

    names: tuple[str, ...]
    takes: bool
    text: str
    values: tuple[str, ...] = ()


class Node(NamedTuple):
    """One verb: `path` is `engine list`, empty for the program itself."""

    path: str
    text: str
    verbs: tuple[str, ...]
    options: tuple[Option, ...]
    words: tuple[str, ...]  # a closed set that a positional is one of
    listed: tuple[str, ...]  # commands that print what a positional may be, one a line


MODEL_NAMES = "blazar list --quiet 2>/dev/null"
ENGINE_TAGS = "blazar engine list --quiet 2>/dev/null"
KEY_NAMES = "blazar config list --quiet 2>/dev/null"
_LISTED = {"MODEL": MODEL_NAMES, "SRC": MODEL_NAMES, "TARGET": MODEL_NAMES, "KEY": KEY_NAMES, "TAG": ENGINE_TAGS}
"""By the name that a positional has in the help."""
_OF_VERB = {
    "engine pin": "blazar engine list --quiet --pinnable 2>/dev/null",
    "engine unpin": "blazar engine list --quiet --pinned 2>/dev/null",
    **dict.fromkeys(("keys rm", "keys rotate", "keys usage"), "blazar keys list --quiet 2>/dev/null"),
}
"""Verbs that not every such thing is for, and those whose word is a name of another kind."""


def nodes(parser: argparse.ArgumentParser | None = None, path: str = "", text: str = "") -> Iterator[Node]:
    """The program, then every verb and alias below it."""
    parser = parser or build_parser()
    options: list[Option] = []
    verbs: dict[str, argparse.ArgumentParser] = {}
    helps: dict[str, str] = {}
    words: list[str] = []
    listed: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            verbs = dict(action.choices)
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
        elif action.option_strings:
            values = tuple(map(str, action.choices or ()))
            options.append(Option(tuple(action.option_strings), action.nargs != 0, action.help or "", values))
        elif action.choices:
            words += [str(choice) for choice in action.choices]
        elif command := _OF_VERB.get(path) or _LISTED.get(str(action.metavar)):
            listed.append(command)
    yield Node(path, text, tuple(verbs), tuple(options), tuple(words), tuple(dict.fromkeys(listed)))
    for name, verb in verbs.items():
        label = next((text for head, text in helps.items() if head.split(" ")[0] == name), verb.description or "")
        yield from nodes(verb, f"{path} {name}".strip(), label)


def script(shell: str) -> str:
    """The script for one shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](list(nodes()))


def _valued(tree: list[Node]) -> str:
    names = sorted({name for node in tree for option in node.options if option.takes for name in option.names})
    return "|".join(names)


def _groups(tree: list[Node]) -> str:
    return "|".join(node.path for node in tree if node.path and node.verbs)


def _cases(tree: list[Node]) -> str:
    """`path) set what may follow ;;` rows, alike in bash and zsh."""
    rows = []
    for node in tree:
        options = " ".join(name for option in node.options for name in option.names)
        words = " ".join((*node.verbs, *node.words))
        listed = "".join(f" $({command})" for command in node.listed)
        rows.append(f'    "{node.path}") options="{options}"; found="{words}{listed}"{_values(node)} ;;')
    return "\n".join(rows)


def _values(node: Node) -> str:
    """What may stand behind an option, in the place of what a positional may be."""
    rows = [f'{"|".join(one.names)}) found="{" ".join(one.values)}" ;;' for one in node.options if one.values]
    return f'; case "$before" in {" ".join(rows)} esac' if rows else ""


_FIND = """\
  local options="" found="" verb="" i word before="{before}"
  for (( i = {first}; i < {current}; i++ )); do
    word="{word}"
    case "$word" in
      {valued}) (( i++ )) ;;
      -*) ;;
      *)
        case "$verb" in
          "") verb="$word" ;;
          {groups}) verb="$verb $word" ;;
        esac ;;
    esac
  done
  case "$verb" in
{cases}
  esac
"""


def _found(tree: list[Node], first: int, current: str, words: str) -> str:
    """What finds the verb and its words; the shells differ in where a line's words stand, and from which number on."""
    return _FIND.format(
        first=first,
        current=current,
        word=f"${{{words}[i]}}",
        before=f"${{{words}[{current}-1]}}",
        valued=_valued(tree),
        groups=_groups(tree),
        cases=_cases(tree),
    )


def _bash(tree: list[Node]) -> str:
    find = _found(tree, 1, "COMP_CWORD", "COMP_WORDS")
    return f"""\
# bash completion for blazar: source <(blazar completion bash)
_blazar() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}"
{find}\
  if [[ "$cur" == -* ]]; then
    COMPREPLY=( $(compgen -W "$options" -- "$cur") )
  else
    COMPREPLY=( $(compgen -W "$found" -- "$cur") )
  fi
}}
complete -o default -F _blazar blazar
"""


def _zsh(tree: list[Node]) -> str:
    find = _found(tree, 2, "CURRENT", "line")
    return f"""\
#compdef blazar
# zsh completion for blazar: blazar completion zsh > "${{fpath[1]}}/_blazar"
_blazar() {{
  local -a line
  line=("${{words[@]}}")
{find}\
  if [[ "${{line[CURRENT]}}" == -* ]]; then
    compadd -- ${{=options}}
  elif [[ -n "$found" ]]; then
    compadd -- ${{=found}}
  else
    _files
  fi
}}
if [[ "$funcstack[1]" == _blazar ]]; then
  _blazar "$@"
else
  compdef _blazar blazar
fi
"""


def _fish(tree: list[Node]) -> str:
    lines = ["# fish completion for blazar: blazar completion fish > ~/.config/fish/completions/blazar.fish"]
    texts = {node.path: node.text for node in tree}
    for node in tree:
        when = _fish_condition(node)
        for verb in node.verbs:
            about = texts[f"{node.path} {verb}".strip()]
            lines.append(f"complete -c blazar -f -n {when} -a {verb} -d {_quoted(about)}")
        lines += [f"complete -c blazar -f -n {when} -a {word}" for word in node.words]
        lines += [f"complete -c blazar -f -n {when} -a '({command})'" for command in node.listed]
        lines += [_fish_option(option, when) for option in node.options]
    return "\n".join(lines) + "\n"


def _fish_condition(node: Node) -> str:
    if not node.path:
        return "__fish_use_subcommand"
    words = node.path.split()
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words)
    return _quoted(f"{seen}; and not __fish_seen_subcommand_from {' '.join(node.verbs)}" if node.verbs else seen)


def _fish_option(option: Option, when: str) -> str:
    names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
    takes = f" -x -a {_quoted(' '.join(option.values))}" if option.values else " -r" if option.takes else ""
    return f"complete -c blazar -n {when} {names}{takes} -d {_quoted(option.text)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
