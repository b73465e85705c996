"""A provider in trouble: three requests in ten fail, in every way there is, and nothing is lost but time."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from pathlib import Path

import pytest
import trio
from scripted_server import Scripted, Seen, fails, says, server
from targets import READ_VALUE, config, repository

import evolve as api
from archives.journal import Journal
from archives.reader import Reader
from evolve.budget import Budget
from evolve.models import Gateway, ModelSpec
from evolve.models.ledger import Ledger

EMPTY = Scripted(body=b'{"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 3}}')
ERROR = Scripted(body=b'{"error": "overloaded", "usage": {"prompt_tokens": 9, "completion_tokens": 0}}')
CUT = Scripted(body=says("fine").body[:60], claimed=900)
WAIT = 0.2


def trouble(kind: int) -> Scripted:
    """The faults in turn; a date in Retry-After holds whole seconds only."""
    faults = [
        fails(429, Retry_After=str(WAIT)),
        fails(500),
        EMPTY,
        fails(503, Retry_After=str(WAIT)),
        Scripted(reset=True),
        fails(429),
        CUT,
        fails(429, Retry_After=formatdate(time.time() + 1, usegmt=True)),
        Scripted(body=b'{"choices": [{"mess'),
        fails(529),
        ERROR,
        fails(502),
        fails(408),
    ]
    return faults[kind % len(faults)]


class Provider:
    """Answers, fails three times in ten, and keeps its own books."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.billed = [0, 0]
        self.faults = 0
        self.told: list[tuple[float, str, float]] = []

    def __call__(self, number: int) -> Scripted:
        bad = number % 10 in (1, 4, 7)
        answer = trouble(number // 10 * 3 + number % 10 // 3) if bad else self.good(number)
        self.faults += bad
        wait = answer.headers.get("Retry-After", "")
        if wait.replace(".", "").isdigit():
            self.told.append((time.monotonic(), json.dumps(self.seen.bodies[number]), float(wait)))
        if answer.status == 200 and answer.claimed is None and not answer.reset and answer is not CUT:
            try:
                usage = json.loads(answer.body)["usage"]
            except ValueError:
                return answer
            self.billed[0] += usage["prompt_tokens"]
            self.billed[1] += usage["completion_tokens"]
        return answer

    def good(self, number: int) -> Scripted:
        return says(f"Another value.\n\nvalue.txt\n```\n{number + 1}\n```\n")


def test_at_thirty_percent_faults_every_call_is_answered_and_the_bill_is_exact(tmp_path: Path) -> None:
    """200 calls, 16 at a time, their pauses not waited for but recorded."""
    provider = Provider()
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await trio.lowlevel.checkpoint()

    async def main(base: str, journal: Journal) -> None:
        spec = ModelSpec("tiny", api_base=base, price_in=1, price_out=10, max_tokens=50)
        ledger = Ledger(Budget({"usd": 1e6}), journal)
        following = iter(range(1, 201))

        async def worker() -> None:
            for number in following:
                ask = [{"role": "user", "content": f"question {number}"}]
                reply = await gateway.complete(ask, number=number, attempt=0)
                assert "value.txt" in reply.text

        async with (
            Gateway([spec], 0, env={}, ledger=ledger, pause=pause) as gateway,
            trio.open_nursery() as nursery,
        ):
            for _ in range(16):
                nursery.start_soon(worker)

    with server(provider) as seen, Journal.create(tmp_path / "campaign.db") as journal:
        provider.seen = seen
        trio.run(main, seen.base, journal)
        with Reader(journal.path) as reader:
            rows = list(reader.calls())
    assert len(rows) == len(seen.bodies)
    assert provider.faults >= 0.29 * len(rows)
    assert sum(row.state == "answered" for row in rows) == 200
    known = [row for row in rows if row.state in ("answered", "failed")]
    assert [sum(r.prompt_tokens for r in known), sum(r.completion_tokens for r in known)] == provider.billed
    assert sum(row.usd or 0 for row in known) == pytest.approx(
        (provider.billed[0] + 10 * provider.billed[1]) / 1e6
    )
    assert len(pauses) == provider.faults


def test_nobody_comes_back_before_the_provider_wants_it() -> None:
    """Seen from the provider: each question is another one, so its next request is known."""
    provider = Provider()
    came: list[tuple[float, str]] = []

    def answer(number: int) -> Scripted:
        came.append((time.monotonic(), json.dumps(provider.seen.bodies[number])))
        return provider(number)

    async def main(base: str) -> None:
        async with (
            Gateway([ModelSpec("tiny", api_base=base)], 0, env={}) as gateway,
            trio.open_nursery() as nursery,
        ):
            for number in range(40):
                ask = [{"role": "user", "content": f"question {number}"}]
                nursery.start_soon(lambda ask=ask, n=number: gateway.complete(ask, number=n, attempt=0))

    with server(answer) as seen:
        provider.seen = seen
        trio.run(main, seen.base)
    assert provider.told
    for told, body, wait in provider.told:
        assert all(when <= told or when >= told + wait for when, same in came if same == body)


def test_a_campaign_at_thirty_percent_faults_finishes_as_many_candidates(tmp_path: Path) -> None:
    provider = Provider()
    files = {"value.txt": "0\n", "evaluate.py": READ_VALUE}
    with server(provider) as seen:
        provider.seen = seen
        model = {"model": "tiny", "api_base": seen.base, "max_tokens": 50, "price_in": 1, "price_out": 10}
        campaign = api.create(
            repository(tmp_path / "target", files),
            config(
                operators={"edit": 1},
                models={"pool": [model]},
                budget={"proposals": 12, "usd": 1.0},
                workers={"propose": 6, "evaluate": 2},
                search={
                    "staleness": "accept"
                },  # or what was overtaken is put together, in a proposal that may fail
            ),
        )
        assert campaign.run_sync().state == "finished"
    with campaign.reader() as reader:
        proposals, rows = list(reader.proposals()), list(reader.calls())
    assert [proposal.outcome for proposal in proposals] == ["candidate"] * 12
    known = [row for row in rows if row.state in ("answered", "failed")]
    assert [sum(r.prompt_tokens for r in known), sum(r.completion_tokens for r in known)] == provider.billed
    assert len(rows) == len(seen.bodies) > 12
