"""What a call of a model costs, and how many can be in flight: one command, all figures from one run.

A simulated server (a process of its own) answers every request after a fixed latency. Measured are, for each
width and each client, calls per second against width / latency, the processor time of this process per call,
and how soon a cancelled call is free and the server sees the disconnect. Nothing is left out of the way of a
call: budget, journal with its prompts, breaker, rates.

    python benchmarks/gateway.py --quick      # widths of 8 and 16 at 1 s, half a minute
    python benchmarks/gateway.py              # widths of 128 and 256 at 4 s, on a quiet machine
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from archives.journal import Journal
from evolve.budget import Budget
from evolve.models import Gateway, ModelSpec
from evolve.models.ledger import Ledger

TEXT = "def area(radius):\n    return 3.14159 * radius**2\n" * 40
"""About two thousand bytes: a small program, so that what is measured is the way and not the prompt."""
LIMITS = {"direct": 3.0, "litellm": 12.0}
"""Most milliseconds of processor time per call."""


async def serve(latency: float) -> None:
    """Answer chat completions after `latency` seconds; GET /stats says who hung up, and when."""
    from aiohttp import web

    hung: list[float] = []
    seen = {"requests": 0, "now": 0, "peak": 0}

    async def complete(request: web.Request) -> web.Response:
        await request.read()
        seen["requests"] += 1
        seen["now"] += 1
        seen["peak"] = max(seen["peak"], seen["now"])
        try:
            await asyncio.sleep(latency)
        except asyncio.CancelledError:
            hung.append(time.monotonic())
            raise
        finally:
            seen["now"] -= 1
        message = {"role": "assistant", "content": TEXT}
        usage = {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        return web.json_response({**answer, "choices": [choice], "usage": usage})

    async def stats(_: web.Request) -> web.Response:
        return web.json_response({**seen, "hung": hung, "monotonic": time.monotonic()})

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/stats", stats)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@dataclass
class Server:
    """The simulated server, as long as the benchmark runs."""

    latency: float
    process: subprocess.Popen[str] = field(init=False)
    port: int = field(init=False)

    def __enter__(self) -> Server:
        command = [sys.executable, __file__, "--serve", str(self.latency)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, Any]:
        from urllib.request import urlopen

        with urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


def model(client: str, server: Server) -> ModelSpec:
    """The same server, through one client or the other."""
    if client == "direct":
        return ModelSpec("simulated", api_base=server.base, price_in=1, price_out=2)
    return ModelSpec(
        "hosted_vllm/simulated", api_base=server.base, api_key_env="BENCH_KEY", price_in=1, price_out=2
    )


async def flood(client: str, server: Server, width: int, rounds: int, folder: Path) -> dict[str, float]:
    """Keep `width` calls in flight for `rounds` times the latency.

    The rate is that between the first answer of the second round and that of the last one: the first round
    opens the connections, and the last one runs dry.
    """
    ask = [{"role": "user", "content": TEXT}]
    with Journal.create(folder / f"{client}-{width}-{server.port}.db") as journal:
        ledger = Ledger(Budget({"usd": 1e6}), journal)
        env = {**os.environ, "BENCH_KEY": "none"}
        async with Gateway([model(client, server)], 0, env=env, ledger=ledger) as gateway:
            await gateway.complete(ask, number=0, attempt=0)  # imports and the first connection
            ended: list[float] = []
            following = iter(range(1, width * rounds + 1))

            async def worker() -> None:
                for number in following:
                    prompt = [{"role": "user", "content": f"{number}\n{TEXT}"}]
                    await gateway.complete(prompt, number=number, attempt=0, operator="edit")
                    ended.append(time.monotonic())

            started = time.process_time()
            async with trio.open_nursery() as nursery:
                for _ in range(width):
                    nursery.start_soon(worker)
            cpu = time.process_time() - started
    rate = width * (rounds - 2) / (ended[width * (rounds - 1)] - ended[width])
    return {
        "rate": rate,
        "share": rate / (width / server.latency),
        "cpu_ms": cpu / (width * rounds) * 1e3,
    }


async def hang_up(client: str, server: Server, times: int) -> dict[str, float]:
    """Cancel calls in the middle; seconds until they are free, and until the server knows."""
    freed: list[float] = []
    known: list[float] = []
    env = {**os.environ, "BENCH_KEY": "none"}
    async with Gateway([model(client, server)], 0, env=env) as gateway:
        await gateway.complete([{"role": "user", "content": "warm"}], number=0, attempt=0)
        for number in range(1, times + 1):
            before = len((await trio.to_thread.run_sync(server.stats))["hung"])
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    ask = [{"role": "user", "content": "wait"}]
                    nursery.start_soon(lambda ask=ask, n=number: gateway.complete(ask, number=n, attempt=0))
                    while not (await trio.to_thread.run_sync(server.stats))["now"]:
                        await trio.sleep(0.02)
                    cancelled = time.monotonic()
                    scope.cancel()
            freed.append(time.monotonic() - cancelled)
            with trio.fail_after(10):
                while len(hung := (await trio.to_thread.run_sync(server.stats))["hung"]) == before:
                    await trio.sleep(0.02)
            known.append(hung[-1] - cancelled)
    return {"freed": max(freed), "known": max(known), "median": statistics.median(known)}


def measure(widths: list[int], latency: float, rounds: int) -> bool:
    """Measure and print; whether everything is as it should be."""
    good = True

    def require(what: str, holds: bool) -> None:
        nonlocal good
        good &= holds
        print(f"  {'ok  ' if holds else 'MISS'}  {what}", flush=True)

    with tempfile.TemporaryDirectory() as folder, Server(latency) as server:
        for client, most in LIMITS.items():
            print(f"{client}, latency {latency:g} s", flush=True)
            for width in widths:
                found = trio.run(flood, client, server, width, rounds, Path(folder))
                share, cpu = found["share"], found["cpu_ms"]
                require(
                    f"{width} in flight: {found['rate']:.1f} calls/s, {share:.3f} of the ideal", share >= 0.95
                )
                require(
                    f"{width} in flight: {cpu:.2f} ms of processor time per call (at most {most:g})",
                    cpu <= most,
                )
            found = trio.run(hang_up, client, server, 5)
            require(f"a cancelled call is free after {found['freed']:.3f} s at most", found["freed"] < 0.5)
            require(f"the server knows after {found['known']:.3f} s at most", found["known"] < 0.5)
        print(f"most requests at once at the server: {server.stats()['peak']}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small widths and a short latency")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
        return 0
    return 0 if measure([8, 16] if options.quick else [128, 256], 1.0 if options.quick else 4.0, 5) else 1


if __name__ == "__main__":
    sys.exit(main())
