"""`python -m tests.fuzz.document`: schemathesis asks a daemon what its own /openapi.json says, and whether the answers are as it says.

The document is handed over with the seeds as its examples: requests that are made of a shape alone seldom name a model that is there.
Needs the extra `fuzz`. Ends with schemathesis' own code: 1 where document and daemon disagree.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from blazar.adapters.http.routes import ROUTES
from tests.fuzz.gateway import Watch, stub_gateway
from tests.fuzz.seeds import path_id_of, seeds_of
from tests.support.daemon import Daemon

CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
"""Not whether what a schema allows is taken: models have pictures, windows and states, and null is absent (A13)."""
ENDLESS: Final = "/api/events"
"""Its answers have no end, and this client waits for one."""


def with_examples(document: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """The document, with the valid requests of tests/fuzz/seeds.py in it."""
    for route in ROUTES:
        _as_events(document["paths"][route.path][route.method.lower()]["responses"])
        operation = document["paths"][route.path][route.method.lower()]
        seeds = seeds_of(route)
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is not None:
            bodies = [json.loads(_filled(json.dumps(seed.body), ids)) for seed in seeds if seed.body is not None]
            content["examples"] = {str(number): {"value": body} for number, body in enumerate(bodies)}
        given = {name: value for seed in seeds for name, value in seed.query}
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                parameter["example"] = _filled(path_id_of(route), ids)
            elif parameter["name"] in given:
                parameter["example"] = given[parameter["name"]]
    return document


def _as_events(responses: dict[str, Any]) -> None:
    """OpenAPI 3.1 has a schema for the whole text of a stream; schemathesis holds it against each event, as 3.2's `itemSchema`."""
    stream = responses.get("200", {}).get("content", {}).get("text/event-stream")
    if stream is not None:
        stream["schema"] = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}


def _filled(text: str, ids: dict[str, str]) -> str:
    for kind, one in ids.items():
        text = text.replace("{" + kind + "}", one)
    return text


def made(daemon: Daemon) -> dict[str, str]:
    """One kept thing of each kind, for paths that name one."""
    orders: dict[str, tuple[str, str]] = {
        "file": ("POST", "/v1/files"),
        "batch": ("POST", "/v1/batches"),
        "message_batch": ("POST", "/v1/messages/batches"),
        "response": ("POST", "/v1/responses"),
        "completion": ("POST", "/v1/chat/completions"),
    }
    ids: dict[str, str] = {}
    for kind, order in orders.items():
        route = next(route for route in ROUTES if (route.method, route.path) == order)
        wants = {"completion": "store", "response": "metadata"}.get(kind)
        seed = next(seed for seed in seeds_of(route) if wants is None or wants in (seed.body or {}))
        body = seed.raw if seed.body is None else _filled(json.dumps(seed.body), ids).encode()
        answer = daemon.ask(*order, body, dict(seed.headers))
        assert answer.status == 200, (kind, answer.body)
        ids[kind] = answer.json()["id"]
    return ids


def main(words: list[str] | None = None) -> int:
    """Run it against a daemon of this checkout."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.document", description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=50, help="requests that are made for each operation and phase")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blazar-document-")))
        daemon = stack.enter_context(stub_gateway(home))
        watch = Watch(daemon)
        document = with_examples(daemon.ask("GET", "/openapi.json").json(), made(daemon))
        file = home / "openapi.json"
        file.write_text(json.dumps(document))
        command = [
            sys.executable,
            "-c",
            "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())",
        ]
        command += ["run", str(file), "--url", daemon.url, "--seed", str(asked.seed), "--checks", ",".join(CHECKS)]
        command += ["--max-examples", str(asked.examples), "--exclude-path", ENDLESS, "--request-timeout", "60"]
        command += ["--phases", "examples,coverage,fuzzing", "--warnings", "off", "--continue-on-failure"]
        code = subprocess.run(command, cwd=home, stdin=subprocess.DEVNULL).returncode
        complaints = watch.complaints()
    print("\n".join(complaints))
    return code or int(bool(complaints))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the daemon is ended by its pid on the way out
    sys.exit(main())
