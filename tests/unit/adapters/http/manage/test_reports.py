"""Engines, doctor, explain."""

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import SMALL, Parts


def test_engines_show_their_provenance() -> None:
    """What the command line shows (D20)."""
    assert call(Parts().app, "GET", "/api/engines").json() == {
        "engines": [
            {
                "tag": "b9000",
                "kind": "llamacpp",
                "provenance": "archive",
                "version": "9000",
                "active": True,
                "server_path": "/engines/b9000/llama-server",
                "installed_at": 5.0,
                "release": "",
                "source": "",
                "digest": "",
                "pinned": False,
                "architectures": [],
                "used_at": 0.0,
                "superseded_at": 0.0,
            }
        ],
        "updates": [],
    }


def test_doctor_answers_its_sections() -> None:
    """As the use case gives them."""
    assert call(Parts().app, "GET", "/api/doctor").json()["sections"][0]["name"] == "SYSTEM"


def test_explain_needs_a_model_and_spawns_nothing() -> None:
    """A dry run: missing and unknown models are said so with near matches."""
    parts = Parts(SMALL)
    assert call(parts.app, "GET", "/api/explain?model=smollm2").json()["model"] == "smollm2"
    missing = call(parts.app, "GET", "/api/explain")
    assert (missing.status, missing.json()["error"]["message"]) == (400, teaching.field_missing("model"))
    unknown = call(parts.app, "GET", "/api/explain?model=smollm")
    assert unknown.status == 404
    assert "did you mean smollm2" in unknown.json()["error"]["message"]
    assert parts.supervising.spawns == []


class ThreadNoting(Parts):
    """Remembers where the dry run ran."""

    threads: ClassVar[list[threading.Thread]] = []

    def explain(self, model: str, _: Sequence[object] = ()) -> dict[str, Any]:
        self.threads.append(threading.current_thread())
        return super().explain(model)


def test_explain_never_holds_up_the_loop() -> None:
    """It may have to run a build's `--help`: in a thread."""
    parts = ThreadNoting(SMALL)
    assert call(parts.app, "GET", "/api/explain?model=smollm2").status == 200
    assert len(parts.threads) == 1
    assert parts.threads[0] is not threading.main_thread()
