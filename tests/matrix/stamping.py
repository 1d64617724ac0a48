"""A server of the model context protocol with one tool that leaves a mark on the disk. Standard library alone.

An agent starts it as a program, stdin and stdout are the connection. It refuses every method but the four that an agent needs.
"""

import json
import sys
from pathlib import Path
from typing import Any

SEAL = "seal"
TOOL = {
    "name": "stamp",
    "description": "Stamp a file.",
    "inputSchema": {
        "type": "object",
        "properties": {"mark": {"type": "string", "enum": [SEAL]}},
        "required": ["mark"],
        "additionalProperties": False,
    },
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result, or nothing for a method that is not here."""
    if method == "initialize":
        about = {"name": "stamping", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        Path("stamped.json").write_text(json.dumps(params["arguments"]))
        return {"content": [{"type": "text", "text": f"stamped with the {params['arguments']['mark']}"}]}
    return {} if method == "ping" else None


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        result = answer(asked["method"], asked.get("params") or {})
        told = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)


if __name__ == "__main__":
    main()
