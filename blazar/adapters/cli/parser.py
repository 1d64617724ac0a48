"""What may be typed: every verb, its words and its help, which is also the man page. Imports nothing but argparse.

Each verb sets `action`, the key into the table of `verbs`, so that aliases need no second row. What a parse cannot accept is
raised as `UsageError`; the shell prints it in one line and exits with 2.
"""

import argparse
import re
from collections.abc import Collection, Sequence
from typing import Any, NoReturn, Protocol

EXIT_CODES = (
    ("0", "done"),
    ("1", "refused or failed; the sentence on stderr says why"),
    ("2", "wrong usage"),
    ("3", "the address or the data folder is taken"),
    ("4", "no daemon answers"),
    ("130", "interrupted"),
    ("143", "ended by SIGTERM"),
)
ENVIRONMENT = (
    ("BLAZAR_HOST", "the daemon to talk to, as --host"),
    ("BLAZAR_API_KEY", "the key sent to it (default: [[keys]] of config.toml)"),
    ("BLAZAR_ENGINE_PATH", "a llama-server of your own, used by the daemon"),
    ("BLAZAR_GH_BASE", "host of engine releases, for GitHub's"),
    ("BLAZAR_REPO", "llama.cpp's repository: OWNER/NAME"),
    ("HF_TOKEN", "token for private and gated repositories (hf:…)"),
    ("HF_ENDPOINT", "another hub than https://huggingface.co (hf:…)"),
    ("BLAZAR_DEBUG", "show tracebacks"),
    ("NO_COLOR", "no colours"),
    ("XDG_CONFIG_HOME", "holds blazar/config.toml (default: ~/.config)"),
    ("XDG_DATA_HOME", "holds blazar/ with the catalog (default: ~/.local/share)"),
)


def _listed(title: str, rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"{title}:", *(f"  {name.ljust(width)}  {text}" for name, text in rows)])


FIT_EXAMPLES = """\
examples:
  blazar fit smollm2-135m                    a model of the catalog
  blazar fit ~/big-00001-of-00003.gguf       a file, or a set of shards
  blazar fit hf:ggml-org/Qwen3-8B-GGUF       every quantisation of a repository
  blazar fit hf:ggml-org/Qwen3-8B-GGUF:Q8_0 --ctx 32768 --slots 2
  blazar fit ollama:qwen3:8b --kv q8_0       a tag, with a smaller cache
  blazar fit hf:ggml-org/Qwen3-8B-GGUF --gpu 24,24 --ram 64

  exit code 1: it fits in no way

  HF_TOKEN (or BLAZAR_REGISTRY_TOKEN, which wins) opens private and gated
  repositories, HF_ENDPOINT (or BLAZAR_REGISTRY_BASE) names another hub.
"""


class UsageError(Exception):
    """Words that cannot be parsed. `word` and `choices` are there when one of a closed set was wanted."""

    def __init__(self, message: str, prog: str, word: str = "", choices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.prog, self.word, self.choices = prog, word, tuple(choices)


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of printing two lines, and never guesses at abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["allow_abbrev"] = False
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.prog)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in (action.choices or ()):  # noqa: SLF001
            raise UsageError(f"no verb '{value}'", self.prog, str(value), [*(action.choices or ())])
        super()._check_value(action, value)


def _common(defaults: bool) -> argparse.ArgumentParser:
    """The options that may stand before and after the verb; behind it they only override (no defaults of their own)."""
    common = argparse.ArgumentParser(add_help=False)

    def default(value: Any) -> Any:
        return value if defaults else argparse.SUPPRESS

    common.add_argument("--json", action="store_true", default=default(False), help="answer and errors as JSON")
    common.add_argument("-q", "--quiet", action="store_true", default=default(False), help="print results only")
    common.add_argument("--config", metavar="FILE", default=default(None), help="use this configuration file")
    return common


def _target(defaults: bool) -> argparse.ArgumentParser:
    """`--host URL` of a running daemon; `serve --host` is another thing and has another destination."""
    target = argparse.ArgumentParser(add_help=False)
    target.add_argument(
        "--host",
        dest="target",
        metavar="URL",
        default=None if defaults else argparse.SUPPRESS,
        help="the daemon to talk to (default: $BLAZAR_HOST, else the one of this data folder, else 127.0.0.1:11435)",
    )
    return target


class Word(Protocol):
    """What a verb's options are added to."""

    def add_argument(self, *names: str, **about: Any) -> Any: ...


class _Lines(argparse.HelpFormatter):
    """Wraps paragraphs and leaves tables as they are; argparse itself does both or neither."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return "".join(indent + line for line in text.splitlines(keepends=True))


def _epilog(text: str) -> dict[str, Any]:
    """Examples below a help text; their lines must stay lines."""
    return {"epilog": text, "formatter_class": _Lines} if text else {}


class _Left:
    """Takes the options of a verb that is not built."""

    def add_argument(self, *_: str, **__: Any) -> None:
        """Nothing is kept."""


class Family:
    """Adds verbs with the common options and the same text as help and description.

    With `only`, verbs whose name is not in it are left out: making all thirty costs a third of what `ps` takes.
    """

    def __init__(self, verbs: Any, only: Collection[str]) -> None:
        self._verbs = verbs  # what `add_subparsers` returns; its class is private to argparse. None: leave all out
        self._only = only
        self._common = _common(defaults=False)
        self._target = _target(defaults=False)

    def _wants(self, *names: str) -> bool:
        return self._verbs is not None and (not self._only or any(name in self._only for name in names))

    def add(
        self, name: str, text: str, *, aliases: Sequence[str] = (), action: str = "", host: bool = True, more: str = ""
    ) -> Word:
        if not self._wants(name, *aliases):
            return _Left()
        verb: Parser = self._verbs.add_parser(
            name,
            aliases=aliases,
            parents=[self._common, self._target] if host else [self._common],
            help=text,
            description=text[:1].upper() + text[1:] + ".",
            **_epilog(more),
        )
        verb.set_defaults(action=action or name, local=not host)
        return verb

    def group(self, name: str, text: str, metavar: str, more: str = "") -> "Family":
        """A verb with verbs of its own (`engine list`)."""
        if not self._wants(name):
            return Family(None, ())
        about = text[:1].upper() + text[1:] + "."
        parser = self._verbs.add_parser(name, parents=[self._common], help=text, description=about, **_epilog(more))
        verbs = parser.add_subparsers(dest="subverb", metavar=metavar, required=True, parser_class=Parser)
        return Family(verbs, self._only)


def build_parser(only: Collection[str] = ()) -> argparse.ArgumentParser:
    """The whole command line, or with `only` just the verbs of these names."""
    parser = Parser(
        prog="blazar",
        description="Local inference server: one gateway for OpenAI, ollama and Anthropic clients over unmodified engines.",
        **_epilog(f"{_listed('exit codes', EXIT_CODES)}\n\n{_listed('environment', ENVIRONMENT)}\n"),
        parents=[_common(defaults=True), _target(defaults=True)],
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version and exit")
    verbs = Family(parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", parser_class=Parser), only)
    _add_daemon(verbs)
    _add_run(verbs)
    _add_models(verbs)
    _add_children(verbs)
    _add_fit(verbs)
    if not only or "engine" in only:
        from blazar.adapters.cli.engine_words import add_engines

        add_engines(verbs)
    if not only or {"config", "migrate"} & set(only):
        from blazar.adapters.cli.config_words import add_config  # its words would cost every other verb

        add_config(verbs)
    if not only or "keys" in only:
        from blazar.adapters.cli.key_words import add_keys

        add_keys(verbs)
    if not only or "search" in only:
        from blazar.adapters.cli.search_words import add_search

        add_search(verbs)
    _add_installation(verbs)
    return parser


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse with the verbs that the words can mean; what is wrong, or asks for help, is looked at with all of them."""
    if words and not {"-h", "--help"} & set(words):
        try:
            return _parse(build_parser(frozenset(words)), words)
        except UsageError:
            pass
    return _parse(build_parser(), words)


def _parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Free words that stand behind options (`run MODEL --verbose say hi`) are collected too.

    argparse before 3.12 gives a `*` positional its empty match as soon as the positional before it is filled.
    """
    args, rest = parser.parse_known_args(words)
    if rest:
        if getattr(args, "action", "") != "run" or any(word.startswith("-") and word != "-" for word in rest):
            verb, action = getattr(args, "verb", None) or "", getattr(args, "action", "")
            # A verb of a family has a help of its own.
            prog = f"blazar {action.replace('-', ' ') if action.startswith(f'{verb}-') else verb}".rstrip()
            hint = _sentence("config_words_behind_dashes", args.key, rest) if action == "config-set" else ""
            raise UsageError(f"unrecognized arguments: {' '.join(rest)}{hint}", prog)
        args.prompt = [*args.prompt, *rest]
    if getattr(args, "action", "") == "config-set" and not args.values and "=" not in args.key:
        raise UsageError(_sentence("config_value_missing", args.key), "blazar config set")
    return args


def _bind(verb: Word) -> None:
    verb.add_argument(
        "--host", dest="bind_host", metavar="ADDRESS", help="address to listen on (default: host in config.toml)"
    )
    verb.add_argument(
        "--port",
        dest="bind_port",
        type=_port,
        metavar="N",
        help="port to listen on; 0 takes a free one (default: port in config.toml)",
    )


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number


_port.__name__ = "port"  # argparse says "invalid port value"


def _positive(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


_positive.__name__ = "number"


MOST_GIB = 2**20
"""Of one card or of main memory that is imagined; `PreviewFit` has the same bound."""


def _wrong(sentence: str, fact: Any) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(_sentence(sentence, fact))


def _sentence(name: str, *facts: Any) -> str:
    """Of `teaching`, which is imported when somebody errs."""
    from blazar.domain import teaching

    return str(getattr(teaching, name)(*facts))


def _tokens(text: str) -> int:
    """A number of tokens; `32k` is 32768, as windows are counted."""
    match = re.fullmatch(r"(\d{1,12})([kKmM]?)", text, re.ASCII)
    if match is None:
        raise _wrong("fit_bad_tokens", text)
    return int(match[1]) * {"": 1, "k": 2**10, "m": 2**20}[match[2].lower()]


def _sizes(text: str) -> tuple[float, ...]:
    """Sizes of cards; `0` and `none` are a machine without."""
    if text in ("0", "none"):
        return ()
    try:
        sizes = tuple(float(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or not all(0 < size <= MOST_GIB for size in sizes):
        raise _wrong("fit_bad_cards", text)
    return sizes


def _gib(text: str) -> float:
    """A size of main memory."""
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size <= MOST_GIB:
        raise _wrong("fit_bad_ram", MOST_GIB)
    return size


def _add_daemon(verbs: Family) -> None:
    serve = verbs.add("serve", "run the daemon: the gateway and its engines", aliases=["start"], host=False)
    _bind(serve)
    serve.add_argument("--detach", action="store_true", help="start it in the background and return when it is ready")
    verbs.add("stop", "stop the daemon of this data folder; answers under way have up to 30 s to finish", host=False)
    restart = verbs.add(
        "restart", "stop the daemon and start it in the background, with the options it was started with", host=False
    )
    _bind(restart)
    verbs.add("status", "say whether a daemon answers, where, and for how long it has been up")
    logs = verbs.add("logs", "print the log of the daemon, or of the engine of one model", host=False)
    logs.add_argument("model", nargs="?", metavar="MODEL", help="the model whose engine is meant (default: the daemon)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on printing what is added")
    logs.add_argument(
        "-n",
        "--lines",
        type=_positive,
        default=200,
        metavar="N",
        help="begin N lines before the end; 0: all (default: 200)",
    )


def _add_run(verbs: Family) -> None:
    run = verbs.add("run", "chat with a model: one answer with a PROMPT or piped input, else a conversation")
    run.add_argument("model", metavar="MODEL", help="name of the model (blazar list)")
    run.add_argument("prompt", nargs="*", default=[], metavar="PROMPT", help="the prompt; piped input is added to it")
    run.add_argument("-i", "--interactive", action="store_true", help="hold a conversation even if the input is piped")
    run.add_argument("--system", metavar="TEXT", help="system prompt")
    run.add_argument(
        "--think", action=argparse.BooleanOptionalAction, default=None, help="have the model think first, or not"
    )
    run.add_argument("--hide-thinking", action="store_true", help="do not print what the model thinks")
    run.add_argument("--format", choices=["json"], metavar="json", help="have the model answer in JSON")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a sampling option of the ollama API, such as temperature=0; repeatable",
    )
    run.add_argument(
        "--keep-alive", metavar="D", help="how long the model stays loaded afterwards: 10m, seconds, 0, -1"
    )
    run.add_argument("-v", "--verbose", action="store_true", help="print token counts and speeds after each answer")


def _add_models(verbs: Family) -> None:
    add = verbs.add("import", "add a model to the catalog by hardlink, without copying it", host=False)
    add.add_argument(
        "path",
        metavar="PATH",
        help="a GGUF file (of a set of shards any one), a folder of safetensors or MLX weights, or a diffusion model",
    )
    add.add_argument("--name", metavar="N", help="name of the model (default: from the file's or the folder's name)")
    add.add_argument(
        "--with",
        action="append",
        default=[],
        dest="parts",
        metavar="ROLE=PATH",
        help="a file that a diffusion model needs besides its own: vae, tae, clip_l, clip_g, t5xxl, llm, …; repeatable",
    )
    verbs.add("list", "list the models of the catalog; with --quiet their names only", aliases=["ls"])
    show = verbs.add("show", "say what is known about a model")
    show.add_argument("model", metavar="MODEL")
    show.add_argument("-v", "--verbose", action="store_true", help="all metadata of the file as well")
    remove = verbs.add("rm", "remove models from the catalog, and their links; a file that was only referred to stays")
    remove.add_argument("models", nargs="+", metavar="MODEL")
    remove.add_argument(
        "-f", "--force", action="store_true", help="stop a running engine at once, requests in flight are cut"
    )
    copy = verbs.add("cp", "give a model a second name, with what is set for it; takes no space")
    copy.add_argument("source", metavar="SRC")
    copy.add_argument("target_name", metavar="DST")
    create = verbs.add("create", "create a model from a Modelfile: other settings on the same weights, copied nowhere")
    create.add_argument("name", metavar="NAME")
    create.add_argument("-f", "--file", metavar="FILE", default="Modelfile", help="the Modelfile (default: Modelfile)")
    from blazar.adapters.cli.pull_words import add_pull

    add_pull(verbs)


def _add_children(verbs: Family) -> None:
    ps = verbs.add("ps", "list the loaded models and the engines that serve them")
    ps.add_argument("--reset", action="store_true", help="let models be tried again at once whose engine kept crashing")
    load = verbs.add("load", "load a model now; starts the daemon if none answers")
    load.add_argument("model", metavar="MODEL", help="MODEL, or MODEL@vision to have its projector attached at once")
    load.add_argument("--keep-alive", metavar="D", help="how long it stays without requests: 10m, seconds, -1 (stays)")
    evict = verbs.add(
        "evict", "stop the engine of a model; answers under way have up to 30 s to finish", aliases=["unload"]
    )
    evict.add_argument("model", metavar="MODEL", help="MODEL, or one of its instances: MODEL#N, MODEL@vision")
    evict.add_argument("-f", "--force", action="store_true", help="do not wait for requests in flight")
    explain = verbs.add("explain", "say how a model would be served: engine and why, command line, fit; loads nothing")
    explain.add_argument("model", metavar="MODEL")
    why = verbs.add("why", "say why a request was slow, refused or how it was served; without TRACE list the newest")
    why.add_argument("trace", nargs="?", metavar="TRACE", help="the x-blazar-trace-id of its answer: plm-…")
    why.add_argument("--model", metavar="MODEL", help="only requests for this model")
    why.add_argument("--key", metavar="NAME", help="only requests with this key")
    why.add_argument("--status", metavar="STATUS", help="only those that ended so: 503, 5xx, refused, left, broken")
    why.add_argument("-n", "--limit", type=_positive, default=20, metavar="N", help="at most N requests (default: 20)")
    verbs.add("watch", "show what runs, waits and happens, until Ctrl-C; lines where it is piped")


def _add_fit(verbs: Family) -> None:
    fit = verbs.add(
        "fit",
        "say what a model would take and whether it fits, on this machine or an imagined one; loads nothing",
        more=FIT_EXAMPLES,
    )
    fit.add_argument(
        "model",
        metavar="TARGET",
        help="a model of the catalog, a file or folder, hf:owner/repo[:QUANT] or ollama:name[:tag] "
        "(of which only headers are read)",
    )
    fit.add_argument(
        "--ctx", type=_tokens, default=0, metavar="N", help="window of one request in tokens: 32768 or 32k"
    )
    fit.add_argument(
        "--slots",
        type=_positive,
        default=0,
        metavar="N",
        help="requests at the same time, each with a window of its own",
    )
    fit.add_argument("--kv", default="", metavar="TYPE[,TYPE]", help="cache type, or one for keys and one for values")
    fit.add_argument(
        "--gpu", type=_sizes, metavar="GiB,…", help="imagine empty cards of these sizes: 24,24; 0 for none"
    )
    fit.add_argument("--ram", type=_gib, metavar="GiB", help="imagine this much main memory, all of it free")


def _add_installation(verbs: Family) -> None:
    verbs.add("doctor", "examine machine, GPUs, engines, models and daemon; each row says what to do")
    completion = verbs.add("completion", "print a completion script for a shell", host=False)
    completion.add_argument("shell", choices=["bash", "zsh", "fish"], metavar="bash|zsh|fish")
    verbs.add("version", "print the version", host=False)
    about = verbs.add("help", "print the help of a verb, or of all", host=False)
    about.add_argument("words", nargs="*", default=[], metavar="VERB", help="a verb: blazar help engine install")
    for name in ("login", "signin", "logout"):
        verbs.add(name, "refused: there are no accounts", action="accounts", host=False)
