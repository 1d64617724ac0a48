"""One request in the words that its child's server wants: fields stripped, bounds said, a form dropped that nobody would hold.

Decides by `Manners` alone. For llama.cpp, whose words all requests are made in, there is nothing to do and nothing is parsed.
"""

import re
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed
from blazar.domain.manners import (
    APPLY_TEMPLATE,
    COUNTING,
    DETOKENIZE,
    FORMS,
    INFILL,
    LLAMACPP,
    LLAMACPP_ROUTES,
    THOUGHT,
    TOKENIZE,
    Manners,
)
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.fitting import fit
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.request import CHAT, ENDLESS, PROGRESS, ignored
from blazar.domain.wire.structured import constraint_of

BOUNDS: Final = ("max_completion_tokens", "max_tokens")
"""How long an answer may be, the winning field first."""
WHOLE: Final = (*BOUNDS, "n", "seed", "top_k", "top_logprobs", "min_tokens", "steps")
UNKNOWN_WINDOW: Final = 4096
"""Tokens of an answer where neither the caller nor the model names a bound: the default window of a text model of ours."""


class Polite(NamedTuple):
    """What the caller has to hear, and whether the engine still holds the answer to the form that was asked for."""

    warnings: tuple[str, ...] = ()
    held: bool = True


def as_it_is(manners: Manners) -> bool:
    """Whether this kind takes every request as it is."""
    return manners is LLAMACPP


def refusal(path: str, manners: Manners) -> BlazarError | None:
    """Why this kind cannot be asked there; None where it can."""
    if path not in LLAMACPP_ROUTES or path in manners.routes:
        return None
    if path == INFILL:
        return Malformed(teaching.field_unsupported("suffix", teaching.kind_fills_no_gap(manners.name)), "suffix")
    if path == APPLY_TEMPLATE:
        return Malformed(teaching.kind_shows_no_prompt(manners.name), "model")
    if path in (TOKENIZE, DETOKENIZE):
        return Malformed(teaching.kind_counts_no_tokens(manners.name), "model")
    return None  # counting: see `asked_for_one`


def asked_for_one(path: str, body: dict[str, Any], manners: Manners) -> str:
    """Where a count is to be had of a kind without a route for it: `body` becomes the real call with an answer of one token.

    Its prompt is counted as that of the real call will be, and lies in the cache for it then.
    """
    if path != COUNTING or path in manners.routes:
        return path
    body |= {"max_tokens": 1, "stream": False}
    return CHAT


def make_polite(body: dict[str, Any], manners: Manners, window: int, form_field: str = "response_format") -> Polite:
    """Change `body` in place; `window` is what its child may hold in tokens (0: unknown), `form_field` the caller's name of a form."""
    said = [ignored(field) for field in sorted(manners.strips & body.keys()) if body.pop(field) is not None]
    if not manners.foretells:
        body.pop(PROGRESS, None)
    held = _forms(body, manners, said)
    fitted = fit(body, manners.grammar, form_field)
    said += fitted.warnings
    _write_whole(body)
    if manners.bounded:
        _bound(body, window or UNKNOWN_WINDOW)
    elif body.get("max_tokens") == ENDLESS:
        del body["max_tokens"]  # others than llama.cpp refuse more than their window, and have no bound unasked
    if manners.tagged:
        _tag(body, manners.tagged)
    return Polite(tuple(said), held and fitted.held)


def _forms(body: dict[str, Any], manners: Manners, said: list[str]) -> bool:
    """Leave out what nobody would hold the answer to. A bare schema becomes the OpenAI field where that is held."""
    held = True
    for field in FORMS:
        if field not in body or field in manners.forms:
            continue
        asked = constraint_of({field: body[field]})
        schema = body.pop(field)
        if field == "json_schema" and asked and "response_format" in manners.forms:
            named = {"name": "answer", "schema": schema}
            body.setdefault("response_format", {"type": "json_schema", "json_schema": named})
        elif asked:
            held = False
            said.append(ignored(field))
    return held


def _write_whole(body: dict[str, Any]) -> None:
    """ODD: whole floats are written whole for servers with typed bodies. They refuse 10.0, which llama.cpp reads."""
    for field in WHOLE:
        if isinstance(body.get(field), float) and (number := whole(body[field])) is not None:
            body[field] = number


def _bound(body: dict[str, Any], window: int) -> None:
    """The caller's bound, else the window. ODD: zero and less is no bound. llama.cpp reads "until you are done", others an error."""
    given = [body.pop(field, None) for field in BOUNDS]
    asked = next((bound for bound in given if bound is not None), None)
    endless = asked in (None, ENDLESS) or (isinstance(asked, int) and asked < 1)
    body["max_tokens"] = window if endless else asked


def _tag(body: dict[str, Any], tag: str) -> None:
    """What OpenAI has no field for rides in the prompt, behind a tag; the caller's own text must not be taken for one.

    Numbers alone are written there: nothing in them can end the tag.
    """
    seed, steps, scale = (body.pop(field, None) for field in ("seed", "steps", "cfg_scale"))
    sampling: dict[str, Any] = {} if steps is None else {"sample_steps": steps}
    if scale is not None:
        sampling["guidance"] = {"txt_cfg": scale}
    orders: dict[str, Any] = {} if seed is None else {"seed": seed}
    if sampling:
        orders["sample_params"] = sampling
    prompt = without_tag(str(body.get("prompt", "")), tag)
    body["prompt"] = f"{prompt}<{tag}>{dump(orders).decode()}</{tag}>" if orders else prompt


def without_tag(text: str, tag: str) -> str:
    """The text with every tag of that name, open or closed, made one that means nothing."""
    return text.replace(f"<{tag}>", f"< {tag}>").replace(f"</{tag}>", f"</ {tag}>")


def with_thought(raw: bytes, manners: Manners) -> bytes:
    """Whole events or a whole answer, with thoughts under the name that all engines' have. Inside a text its quotes stand escaped."""
    if manners.thought == THOUGHT:
        return raw
    return re.sub(rb'"%b"(\s*:)' % manners.thought.encode(), rb'"%b"\1' % THOUGHT.encode(), raw)
