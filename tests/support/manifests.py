"""Recorded help texts and their parsed form, one option a line so that a change shows as one."""

import json
from pathlib import Path
from typing import Any

from blazar.adapters.engines.manifests import SCHEMA, decode, encode
from blazar.domain.manifest import Manifest

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
HELP = FIXTURES / "help"
TEXTS = sorted(path.stem for path in HELP.glob("*.txt"))


def help_text(stem: str) -> str:
    """What that build printed."""
    return (HELP / f"{stem}.txt").read_text(encoding="utf-8")


def golden_file(stem: str) -> Path:
    """Where its parsed form lies."""
    return FIXTURES / "manifests" / f"{stem}.json"


def golden(stem: str) -> Manifest:
    """Its parsed form."""
    found = decode({"schema": SCHEMA, "options": json.loads(golden_file(stem).read_text(encoding="utf-8"))})
    assert found is not None
    return found


def page(found: Manifest) -> str:
    """As it is written into the golden file."""
    rows: list[dict[str, Any]] = encode(found)["options"]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"
