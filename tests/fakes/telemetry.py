"""Reporters that remember what they were told."""

from collections.abc import Collection
from typing import Any

from blazar.application.ports.telemetry import Events, Meter, Served


def a_served(**changes: Any) -> Served:
    """A finished chat; `changes` replace fields."""
    served = Served(
        trace="plm-0011-1",
        key="editor",
        method="POST",
        path="/v1/chat/completions",
        dialect="openai",
        model="tiny",
        status=200,
        seconds=0.25,
        queue_seconds=0.01,
        first_byte_seconds=0.05,
        prompt_tokens=12,
        completion_tokens=34,
        stream=True,
        peer="127.0.0.1",
        known=True,
        placed=True,
    )
    return served._replace(**changes)


class MemoryMeter(Meter):
    """Lists of everything; the exposition counts them."""

    def __init__(self) -> None:
        self.served: list[Served] = []
        self.spawns: list[tuple[str, float]] = []
        self.evictions: list[tuple[str, str]] = []
        self.crashes: list[str] = []

    def on_served(self, served: Served) -> None:
        self.served.append(served)

    def on_spawn(self, model: str, seconds: float) -> None:
        self.spawns.append((model, seconds))

    def on_evicted(self, model: str, cause: str) -> None:
        self.evictions.append((model, cause))

    def on_crashed(self, model: str) -> None:
        self.crashes.append(model)

    def exposition(self, models: Collection[str] | None = None) -> bytes:
        del models  # nothing here is counted by model
        rows = {"requests": self.served, "spawns": self.spawns, "evictions": self.evictions, "crashes": self.crashes}
        lines = []
        for name, told in rows.items():
            full = f"blazar_{name}_total"
            lines += [f"# HELP {full} How many.", f"# TYPE {full} counter", f"{full} {len(told)}"]
        return ("\n".join(lines) + "\n").encode()


class MemoryEvents(Events):
    """(kind, facts) in order."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, dict[str, Any]]] = []

    def emit(self, kind: str, **facts: Any) -> None:
        self.emitted.append((kind, facts))
