"""Files and batches as a client without a library sends them."""

import json
from typing import Any

from tests.support.daemon import WATCHDOG, Answer, Daemon, wait_until

CHAT = "/v1/chat/completions"
EDGE = "----blazar-edge"


def form(data: bytes, purpose: str = "batch", name: str = "in.jsonl") -> bytes:
    """A form with a file."""
    head = f'--{EDGE}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
    head += f'--{EDGE}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + data + f"\r\n--{EDGE}--\r\n".encode()


FORM = {"content-type": f"multipart/form-data; boundary={EDGE}"}


def upload(daemon: Daemon, data: bytes, **headers: str) -> Answer:
    """POST /v1/files."""
    return daemon.ask("POST", "/v1/files", form(data), {**FORM, **headers})


def chat_line(custom_id: str, text: str, model: str = "m") -> dict[str, Any]:
    """A request of a batch."""
    body = {"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": text}]}
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}


def make(daemon: Daemon, *lines: dict[str, Any], **headers: str) -> str:
    """A batch of these lines; its id."""
    file = upload(daemon, b"".join(json.dumps(line).encode() + b"\n" for line in lines), **headers).json()["id"]
    order = {"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"}
    made = daemon.ask("POST", "/v1/batches", order, headers)
    assert made.status == 200, made.body
    return str(made.json()["id"])


def look(daemon: Daemon, batch: str, **headers: str) -> Any:
    """The batch now."""
    return daemon.ask("GET", f"/v1/batches/{batch}", headers=headers).json()


def ended(daemon: Daemon, batch: str, **headers: str) -> Any:
    """The batch when it is over."""
    over = ("completed", "failed", "cancelled", "expired")
    assert wait_until(lambda: look(daemon, batch, **headers)["status"] in over, WATCHDOG), look(
        daemon, batch, **headers
    )
    return look(daemon, batch, **headers)


def lines_of(daemon: Daemon, file: str | None, **headers: str) -> list[Any]:
    """The results in a file; none without one."""
    if file is None:
        return []
    return [
        json.loads(line) for line in daemon.ask("GET", f"/v1/files/{file}/content", headers=headers).body.splitlines()
    ]
