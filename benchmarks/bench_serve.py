"""Load test of `taxolearn serve` on this machine alone: requests a second and p99, and memory under mixed load.

Usage: python benchmarks/bench_serve.py [MODEL] [--minutes M] [--seconds S]

MODEL is a folder that `taxolearn demo` wrote (by default the one in the user's cache, made if it is missing).
The server is one process on one core, clients are another process on the other cores. Each client asks for the labels
of one held-out text of ICD-10-CM after the other, over a connection that stays open. Then, with --minutes, mixed load:
single texts, batches, explanations, searches, files, corrections, texts of a megabyte and bad requests.

A machine may be busy with other things, so that three figures are printed: requests a second on the clock, requests a
second of the server's own CPU time, which is what an idle core does, and the 99th percentile of waiting times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote_plus, urlsplit

import numpy as np

from taxolearn.cli.demo import demo_folder
from taxolearn.datasets import load_icd10cm

_CLIENTS = (1, 8, 64)
_LEAST_PER_SECOND = 500
_P99_LIMIT = 0.050
_MOST_GROWTH = 1.03  # of the memory in the last minute, against that of the third
_MEGABYTE = "fracture of femur " * 55_000


class Client:
    """One connection that stays open."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**24)

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        head += f"Content-Type: {kind}\r\n\r\n" if kind else "\r\n"
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        content = await self._reader.readexactly(int(length[1])) if length else b""
        if b"connection: close" in answer.lower():
            self._writer.close()
            await self.open()
        return int(answer[9:12]), content

    async def suggest(self, text: str) -> tuple[int, bytes]:
        body = f"text={quote_plus(text)}&limit=10".encode()
        return await self.ask("POST", "/v1/projects/demo/suggest", body, "application/x-www-form-urlencoded")

    async def send(self, path: str, value: object) -> tuple[int, bytes]:
        return await self.ask("POST", path, json.dumps(value).encode(), "application/json")

    def close(self) -> None:
        self._writer.close()


class Server:
    """The server process, on the first core."""

    def __init__(self, model: str, corrections: str, workers: int = 1) -> None:
        command = [sys.executable, "-m", "taxolearn.cli", "serve", model, "--port", "0", "--project", "demo"]
        command += ["--corrections", corrections, "--workers", str(workers)]
        self._process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.search(r"served at (\S+)", line)
        if found is None:
            raise SystemExit(line + self._process.stderr.read())
        self.port = urlsplit(found[1]).port or 0
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(self._process.pid, cores[:1])
            os.sched_setaffinity(0, cores[1:])

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory of its own: without what is mapped from files."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"RssAnon:\s+(\d+) kB", text)
        return int(found[1]) / 1024 if found else 0.0

    def end(self) -> int:
        self._process.terminate()
        return self._process.wait(60)


async def _load(
    server: Server, texts: list[str], n_clients: int, seconds: float
) -> tuple[float, float, float, float]:
    """Requests a second, requests a CPU second of the server, median and 99th percentile of waiting."""
    clients = [Client(server.port) for _ in range(n_clients)]
    for client in clients:
        await client.open()
    waited: list[float] = []

    async def work(client: Client, seed: int, until: float) -> None:
        draw = random.Random(seed)
        while (began := time.perf_counter()) < until:
            status, _ = await client.suggest(draw.choice(texts))
            assert status == 200, status
            waited.append(time.perf_counter() - began)

    await asyncio.gather(*(work(c, k, time.perf_counter() + 0.5) for k, c in enumerate(clients)))  # warm
    waited.clear()
    cpu, began = server.cpu_seconds(), time.perf_counter()
    await asyncio.gather(*(work(c, k, began + seconds) for k, c in enumerate(clients)))
    wall, spent = time.perf_counter() - began, server.cpu_seconds() - cpu
    for client in clients:
        client.close()
    middle, late = np.percentile(waited, [50, 99])
    return len(waited) / wall, len(waited) / max(spent, 1e-9), float(middle), float(late)


async def _mixed(
    server: Server, texts: list[str], labels: list[str], minutes: float
) -> list[tuple[float, float]]:
    """(seconds, megabytes) while four clients do everything that can be done, some forty requests a second."""
    ends = time.monotonic() + 60 * minutes
    counts: dict[int, int] = {}

    async def work(seed: int) -> None:
        draw = random.Random(seed)
        client = Client(server.port)
        await client.open()
        while time.monotonic() < ends:
            text, turn = draw.choice(texts), draw.random()
            if turn < 0.5:
                status, _ = await client.suggest(text)
            elif turn < 0.6:
                documents = [{"text": draw.choice(texts)} for _ in range(draw.randint(1, 32))]
                status, _ = await client.send("/v1/projects/demo/suggest-batch", {"documents": documents})
            elif turn < 0.75:
                status, _ = await client.send("/v1/explain", {"text": text})
            elif turn < 0.85:
                status, _ = await client.ask("GET", f"/v1/nodes?q={quote_plus(text[: draw.randint(1, 12)])}")
            elif turn < 0.88:
                rows = "text\n" + "".join(f'"{draw.choice(texts)}"\n' for _ in range(50))
                status, _ = await client.ask("POST", "/v1/table?name=rows.csv", rows.encode(), "text/csv")
            elif turn < 0.92:
                status, _ = await client.send(
                    "/v1/corrections", {"text": text, "labels": [draw.choice(labels)]}
                )
            elif turn < 0.925:
                status, _ = await client.suggest(_MEGABYTE)
            elif turn < 0.93:
                status, _ = await client.suggest("x" * 9_000_000)  # too large
            else:
                path = draw.choice(
                    ["/nothing", "/", "/page.js", "/v1/model", "/v1/projects/other", "/v1/nodes?limit=x"]
                )
                status, _ = await client.ask("GET", path)
            counts[status] = counts.get(status, 0) + 1
            await asyncio.sleep(draw.uniform(0.05, 0.15))
        client.close()

    began, found = time.monotonic(), []

    async def watch() -> None:
        while time.monotonic() < ends:
            found.append((time.monotonic() - began, server.megabytes()))
            if len(found) % 12 == 0:
                print(f"  {found[-1][0] / 60:4.1f} minutes: {found[-1][1]:.1f} MB", flush=True)
            await asyncio.sleep(5)

    await asyncio.gather(watch(), *(work(seed) for seed in range(4)))
    print(f"  answers by status: {dict(sorted(counts.items()))}", flush=True)
    if set(counts) - {200, 201, 400, 404, 413}:
        raise SystemExit("some requests were answered otherwise than they should")
    return found


def main() -> int:
    """Print the figures last; return 0 when they are within the limits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default=str(demo_folder()))
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    if not Path(given.model, "model.json").exists():
        subprocess.run(
            [sys.executable, "-m", "taxolearn.cli", "demo", "-o", given.model, "--text", "cholera"],
            check=True,
        )
    data = load_icd10cm()
    texts, labels = data.test.texts[:2000], [str(label) for label in data.test.y[:200]]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(given.model, f"{folder}/corrections.jsonl")
        print("clients  requests/s  requests/CPU s  median ms  p99 ms", flush=True)
        for n_clients in _CLIENTS:
            clock, cpu, middle, late = asyncio.run(_load(server, texts, n_clients, given.seconds))
            print(
                f"{n_clients:7d} {clock:11.0f} {cpu:15.0f} {1e3 * middle:10.1f} {1e3 * late:7.1f}", flush=True
            )
            if cpu < _LEAST_PER_SECOND:
                missed.append(f"{cpu:.0f} requests per CPU second with {n_clients} clients")
            if n_clients == 8 and late > _P99_LIMIT:
                missed.append(f"p99 of {1e3 * late:.0f} ms with 8 clients")
        if given.minutes:
            print(f"mixed load for {given.minutes:g} minutes", flush=True)
            memory = asyncio.run(_mixed(server, texts, labels, given.minutes))
            at, size = np.array(memory).T
            start, end = size[(at >= 120) & (at < 180)], size[at >= at[-1] - 60]
            if len(start):
                before, after = start.mean(), end.mean()
                growth = after / before
                print(
                    f"memory in the third minute {before:.1f} MB, in the last {after:.1f} MB, ratio {growth:.3f}"
                )
                if growth > _MOST_GROWTH:
                    missed.append(f"memory grew to {growth:.3f} times")
        code = server.end()
        if code:
            missed.append(f"the server ended with {code}")
    print("bars: " + (f"missed: {'; '.join(missed)}" if missed else "all are met"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
