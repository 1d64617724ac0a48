"""A program that starts as the daemon does: note, /health, log; its first word says how it behaves.

Run as `python stub_daemon.py MODE RUN_DIR serve …`. It ends on SIGTERM (or does not, as `stubborn`).
"""

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

mode, run_dir, words = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
(run_dir / "words.json").write_text(json.dumps(words))


def say(code: int, text: str = "", log: str = "") -> None:
    """End as a daemon that could not start."""
    if log:
        with (run_dir / "daemon.log").open("a") as file:
            file.write(log + "\n")
    if text:
        os.write(int(os.environ["BLAZAR_REPORT_FD"]), text.encode())
    sys.exit(code)


if mode == "taken":
    say(3, "127.0.0.1:1 is taken by another program")
if mode == "logged":
    say(1, log="it said last")
if mode == "killed":
    os.kill(os.getpid(), signal.SIGKILL)


class Health(BaseHTTPRequestHandler):
    """Ready at once, but for `slow`."""

    def do_GET(self) -> None:
        ready = mode != "slow"
        data = json.dumps({"status": "ok" if ready else "starting"}).encode()
        self.send_response(200 if ready else 503)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Health)
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
note = {"url": f"http://127.0.0.1:{server.server_port}", "pid": os.getpid(), "start_time": start}
temporary = run_dir / "daemon.tmp"
temporary.write_text(json.dumps(note))
temporary.replace(run_dir / "daemon.json")
server.serve_forever(poll_interval=0.01)
(run_dir / "daemon.json").unlink()
