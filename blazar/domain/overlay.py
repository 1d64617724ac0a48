"""What a created model says on top of the weights that it shares with its base. Pure: decides what an overlay means to the configuration.

Everything in it becomes keys that `[model_overrides]` has anyway, so that every dialect and `explain` see the same model.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.go_template import as_jinja, literal, parse
from blazar.domain.whole_numbers import whole

OWNED: Final = ("ctx", "extra_args", "chat_template", "loras")
"""Keys of an override that an overlay writes, and takes away again."""

ROLES: Final = ("system", "user", "assistant")
STOPS: Final = "stop"
WINDOW: Final = "num_ctx"
SMALLEST_WINDOW: Final = 256
"""As `ctx` of an override has it."""
RANDOM_SEED: Final = 2**32 - 1
"""LLAMA_DEFAULT_SEED."""
USUAL_REACH: Final = 4096
"""Tokens that a penalty looks back where the overlay names no window."""
LONGEST: Final = 120_000
"""Bytes of a composed template. Linux hands a program no word above 128 KiB (MAX_ARG_STRLEN)."""

# ODD: a template of Go's and one of Jinja's look alike. Only Go's names fields with a leading dot, or begins with these words inside {{ }}.
_GO: Final = re.compile(r"\{\{-?\s*(?:\.[A-Za-z]|\$|(?:if|else|end|range|with|block|define|template)\b)")
CHATML: Final = (
    "{%- for message in messages %}{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
"""For weights without a template: what llama.cpp falls back to."""


class Parameter(NamedTuple):
    """How ollama's parameter is said on llama-server's command line, and of which type it is."""

    flag: str
    type: Callable[[str], Any]


PARAMETERS: Final[Mapping[str, Parameter]] = {
    "num_predict": Parameter("--n-predict", int),
    "num_keep": Parameter("--keep", int),
    "seed": Parameter("--seed", int),
    "temperature": Parameter("--temp", float),
    "top_k": Parameter("--top-k", int),
    "top_p": Parameter("--top-p", float),
    "min_p": Parameter("--min-p", float),
    "typical_p": Parameter("--typical", float),
    "repeat_last_n": Parameter("--repeat-last-n", int),
    "repeat_penalty": Parameter("--repeat-penalty", float),
    "presence_penalty": Parameter("--presence-penalty", float),
    "frequency_penalty": Parameter("--frequency-penalty", float),
    "mirostat": Parameter("--mirostat", int),
    "mirostat_tau": Parameter("--mirostat-ent", float),
    "mirostat_eta": Parameter("--mirostat-lr", float),
}
WITHOUT_EFFECT: Final = frozenset(
    {
        "draft_num_predict",
        "f16_kv",
        "logits_all",
        "low_vram",
        "main_gpu",
        "numa",
        "num_batch",
        "num_gpu",
        "num_thread",
        "penalize_newline",
        "tfs_z",
        "use_mlock",
        "use_mmap",
        "vocab_only",
    }
)
"""What ollama knows, too, and configuration decides here, or no engine does any more: kept, shown and told."""


class Overlay(NamedTuple):
    """Empty fields say nothing. `parameters` are typed; `stop` is a list. `adapters` are files of LoRAs."""

    base: str = ""
    template: str = ""
    system: str = ""
    parameters: Mapping[str, Any] = {}
    messages: tuple[tuple[str, str], ...] = ()
    license: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()

    @property
    def says(self) -> bool:
        """Whether anything but where it came from."""
        return any(self[1:])


def merged(below: Overlay | None, above: Overlay) -> Overlay:
    """What a model created from a created one says: the base's sayings, but for what is said anew."""
    if below is None:
        return above
    said = {name: value for name, value in above._asdict().items() if value}
    return below._replace(**{**said, "base": above.base, "parameters": {**below.parameters, **above.parameters}})


def read_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a client or a Modelfile gives them (there all is text), typed. Raises `Malformed` by name."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        field = f"parameters.{name}"
        if value is None or value == []:
            continue
        if name == STOPS:
            found[name] = _stops(value, field)
        elif name == WINDOW:
            found[name] = _number(value, int, name)
            if found[name] < SMALLEST_WINDOW:
                raise Malformed(teaching.field_must(field, "window_size"), field)
        elif name in PARAMETERS:
            found[name] = _number(value, PARAMETERS[name].type, name)
        elif name in WITHOUT_EFFECT:
            number = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10
            found[name] = int(value) if number else value
        else:
            raise Malformed(teaching.parameter_unknown(name), field)
    return found


def _stops(value: Any, field: str) -> list[str]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(
        isinstance(word, str) and word and not word.startswith("-") and "\0" not in word for word in words
    ):
        raise Malformed(teaching.field_must(field, "stop_words"), field)
    return list(dict.fromkeys(words))


def _number(value: Any, kind: Callable[[str], Any], name: str) -> Any:
    """A list of one text is taken for it: ollama's command line sends some so. What the engine's integers cannot hold would end it at its start."""
    field = f"parameters.{name}"
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Malformed(teaching.field_must(field, _WANT[kind]), field)
    number: Any = None
    with suppress(ValueError):
        number = kind(value) if isinstance(value, str) else value
    if kind is int:
        number = whole(number)
    if number is None or not abs(number) < (2**32 if name == "seed" else 2**31):  # nor NaN, nor infinity
        raise Malformed(teaching.field_must(field, _WANT[kind]), field)
    if name == "repeat_penalty" and number <= 0:
        raise Malformed(teaching.field_must(field, "above_zero"), field)
    return number


_WANT: Final[Mapping[Callable[[str], Any], str]] = {int: "integer", float: "number"}


def silent_parameters(overlay: Overlay) -> tuple[str, ...]:
    """Those that change nothing here."""
    return tuple(name for name in overlay.parameters if name in WITHOUT_EFFECT)


def settings_of(overlay: Overlay, template: str) -> dict[str, Any]:
    """The override: keys of OWNED that have something to say. `template` is that of the weights, "" where they have none."""
    found: dict[str, Any] = {}
    if WINDOW in overlay.parameters:
        found["ctx"] = overlay.parameters[WINDOW]
    window = overlay.parameters.get(WINDOW, USUAL_REACH)
    words = [word for name, value in overlay.parameters.items() for word in _words(name, value, window)]
    if words:
        found["extra_args"] = words
    if overlay.template or overlay.system or overlay.messages:
        found["chat_template"] = _fitting(_composed(overlay, template_of(overlay.template) or template or CHATML))
    if overlay.adapters:
        found["loras"] = list(overlay.adapters)
    return found


def _words(name: str, value: Any, window: int) -> list[str]:
    """ODD: below 0 a seed is "any" and a reach is "the window". In requests engines read it so, on their command line it ends them."""
    if name == STOPS:
        return [word for stop in value for word in ("--reverse-prompt", stop)]
    if name == "seed" and value < 0:
        value = RANDOM_SEED
    elif name == "repeat_last_n" and value < 0:
        value = window
    return [PARAMETERS[name].flag, str(value)] if name in PARAMETERS else []


def _fitting(text: str) -> str:
    """Fit for a command line, which carries it."""
    if "\0" in text:
        raise Malformed(teaching.overlay_has_nul())
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise Malformed(teaching.overlay_too_long(LONGEST))
    return text


def template_of(given: str) -> str:
    """In Jinja, which engines read; raises `Malformed` for a template that cannot be said in it, or that prints no messages."""
    if _GO.search(given):
        return as_jinja(parse(given))
    if given and "messages" not in given:
        raise Malformed(teaching.template_without_messages(), "template")
    return given


def _composed(overlay: Overlay, template: str) -> str:
    """The template, told before it prints anything what stands before every conversation.

    The order is ollama's: the messages of the overlay, then the caller's; its system prompt first, unless the caller brings one.
    """
    lines = []
    if overlay.messages:
        pairs = ",".join(f"{{'role':{literal(role)},'content':{literal(text)}}}" for role, text in overlay.messages)
        lines.append(
            "{%- if messages and messages[0]['role'] == 'system' %}"
            f"{{%- set messages = [messages[0]] + [{pairs}] + messages[1:] %}}"
            f"{{%- else %}}{{%- set messages = [{pairs}] + messages %}}{{%- endif %}}"
        )
    if overlay.system:
        first = f"{{'role':'system','content':{literal(overlay.system)}}}"
        lines.append(
            "{%- if not messages or messages[0]['role'] != 'system' %}"
            f"{{%- set messages = [{first}] + messages %}}{{%- endif %}}"
        )
    return "".join(lines) + template


def parameters_text(overlay: Overlay) -> str:
    """As `/api/show` tells them: a line each, the name filled up to 30 columns, texts quoted."""
    rows = [
        (name, one)
        for name, value in sorted(overlay.parameters.items())
        for one in (value if isinstance(value, list) else [value])
    ]
    return "\n".join(f"{name:<30} {_quoted(one)}" for name, one in rows)


def _quoted(value: Any) -> str:
    """Go's %q for texts, near enough."""
    if isinstance(value, str):
        inner = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{inner}"'
    return str(value)


def modelfile_of(overlay: Overlay, files: tuple[str, ...]) -> str:
    """The Modelfile that would create this model again: what it is made from, then everything that is said on top."""
    lines = [f"FROM {file}" for file in files]
    if overlay.template:
        lines.append(f"TEMPLATE {_block(overlay.template)}")
    if overlay.system:
        lines.append(f"SYSTEM {_block(overlay.system)}")
    for name, value in sorted(overlay.parameters.items()):
        lines += [f"PARAMETER {name} {_quotable(one)}" for one in (value if isinstance(value, list) else [value])]
    lines += [f"ADAPTER {file}" for file in overlay.adapters]
    lines += [f"LICENSE {_block(text)}" for text in overlay.license]
    lines += [f"MESSAGE {role} {_block(text)}" for role, text in overlay.messages]
    return "".join(f"{line}\n" for line in lines)


def _block(text: str) -> str:
    """In three quotation marks where one line does not hold it."""
    if '"' in text or "\n" in text or text != text.strip():
        return f'"""{text}"""'
    return text


def _quotable(value: Any) -> str:
    return _block(value) if isinstance(value, str) else str(value)
