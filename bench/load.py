"""The load generator where there is no C compiler: the same words and the same JSON line as `load.c`, but slower than what it measures.

usage: load.py PORT PATH CONCURRENCY REQUESTS SECONDS RATE KEY < body
Ratios between two targets measured by it are still ratios; its absolute figures are its own.
"""

import asyncio
import json
import sys
import time


class Run:
    """One load: what is asked, until when, and what came of it."""

    def __init__(self, words: list[str], body: bytes) -> None:
        port, path, width, limit, seconds, rate, key = words
        self.port, self.width, self.limit = int(port), int(width), int(limit)
        self.seconds, self.rate = float(seconds), float(rate)
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\n"
        self.request = f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
        self.sent = self.errors = self.parts = self.bytes = 0
        self.totals: list[float] = []
        self.firsts: list[float] = []

    async def all(self) -> float:
        self.begin = time.perf_counter()
        await asyncio.gather(*(self.client() for _ in range(self.width)))
        return time.perf_counter() - self.begin

    async def client(self) -> None:
        """One connection, one request after the other."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while self.sent < self.limit and time.perf_counter() - self.begin < self.seconds:
            due = self.begin + self.sent / self.rate if self.rate else time.perf_counter()
            self.sent += 1
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(self.request)
            try:
                await self.answer(reader, due)
            except (OSError, asyncio.IncompleteReadError, ValueError):
                self.errors += 1
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.close()

    async def answer(self, reader: asyncio.StreamReader, due: float) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.errors += not head.startswith(b"HTTP/1.1 200")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        first = 0.0
        if length:
            self.count(await reader.readexactly(int(length)))
            first = time.perf_counter()
        else:
            while size := int(await reader.readline(), 16):
                self.count(await reader.readexactly(size))
                first = first or time.perf_counter()
                await reader.readexactly(2)
            await reader.readline()
        self.totals.append(time.perf_counter() - due)
        self.firsts.append(first - due)

    def count(self, data: bytes) -> None:
        self.bytes += len(data)
        self.parts += data.count(b"}\n")

    def line(self, took: float) -> dict[str, float]:
        def at(times: list[float], share: float) -> float:
            return round(sorted(times)[int((len(times) - 1) * share)] * 1e6, 1) if times else 0.0

        done = len(self.totals)
        speeds = {"rps": done / took, "parts_per_s": self.parts / took}
        waits = {"p50": at(self.totals, 0.5), "p99": at(self.totals, 0.99)}
        firsts = {"first_p50": at(self.firsts, 0.5), "first_p99": at(self.firsts, 0.99)}
        counts = {"done": done, "errors": self.errors, "parts": self.parts, "bytes": self.bytes}
        return {**counts, "seconds": took, **speeds, **waits, **firsts}


if __name__ == "__main__":
    run = Run(sys.argv[1:], sys.stdin.buffer.read())
    print(json.dumps(run.line(asyncio.run(run.all()))))
