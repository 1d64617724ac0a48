"""Whether models that were named for a role with answers known in advance give them. Asked of a foreign gateway once, before its checks."""

import json
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import replace

from tests.matrix.registry import Target
from tests.support.scripted_gguf import HELLO

WITHIN = 120.0
"""Seconds: the model may have to be loaded first."""


def proven(target: Target) -> Target:
    """The same gateway without the models that are not what they were named for; checks of theirs are skipped with the reason."""
    lacks = {}
    scripted, played = target.models.get("scripted"), target.models.get("played")
    if scripted and HELLO not in _said(target, scripted, "hi"):
        lacks["scripted"] = (
            f"the model {scripted!r} does not give the scripted answers (tests.support.scripted_gguf makes it)"
        )
    if played and _status(target, played, "play refused/too_long") != 400:
        lacks["played"] = f"the model {played!r} plays no recordings (tests/stubs/player.py is the engine that does)"
    return replace(target, lacks=lacks)


def _said(target: Target, model: str, text: str) -> str:
    with suppress(OSError, ValueError, LookupError, TypeError), _asked(target, model, text) as answer:
        return str(json.loads(answer.read())["choices"][0]["message"]["content"])
    return ""


def _status(target: Target, model: str, text: str) -> int:
    try:
        with _asked(target, model, text) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def _asked(target: Target, model: str, text: str):  # type: ignore[no-untyped-def] # the answer's class is nobody's business
    body = json.dumps({"model": model, "max_tokens": 16, "messages": [{"role": "user", "content": text}]}).encode()
    headers = {"authorization": f"Bearer {target.key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{target.v1}/chat/completions", body, headers)
    return urllib.request.urlopen(request, timeout=WITHIN)
