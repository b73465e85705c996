"""Hostile candidates one after the other in one slot: no success, nothing left, and the next is judged as ever."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import hostile
import pytest
import trio
from evaluator_bench import REQUEST, Slot, processes_with, walls_available

from archives.folders import remove

TIME_LIMIT = 1.0


def restore(slot: Slot, plan: str) -> None:
    """Bring the checkout back to what it was, as the campaign's own checkouts do, and put a plan into it."""
    descriptor = os.open(slot.checkout, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for entry in list(os.scandir(slot.checkout)):
            remove(os.fsencode(entry.name), descriptor, entry.is_dir(follow_symlinks=False))
    finally:
        os.close(descriptor)
    slot.write(evaluate=hostile.EVALUATE, plan=plan)


@pytest.mark.skipif(not walls_available(), reason="this machine gives no user namespaces")
def test_no_hostile_candidate_succeeds_or_leaves_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = Slot.make(tmp_path)
    monkeypatch.setenv("EVOLVE_TEST_API_KEY", "sesame")
    user = {"evaluate.py": hostile.EVALUATE, "holdout.txt": "secret"}
    for name, content in user.items():
        (slot.root / name).write_text(content)
    problems: dict[str, object] = {}

    async def main(port: int) -> None:
        known = {"root": str(slot.root), "scratch": str(slot.scratch), "port": port, "note": tmp_path.name}
        async with slot.runner(memory=400_000_000, timeout=TIME_LIMIT * 4) as runner:
            for name in (*hostile.QUICK, "leaves notes for the next"):
                restore(slot, hostile.text(name, **known))
                outcome = await runner.evaluate(REQUEST)
                if (outcome.score or 0.0) > 0.0:
                    problems[name] = outcome
                if left := processes_with(str(slot.checkout)) + processes_with("sleep\0" + "6123"):
                    problems[name] = left
            restore(slot, hostile.HONEST)
            assert (await runner.evaluate(REQUEST)).score == 0.25
        async with slot.runner(timeout=TIME_LIMIT) as runner:
            for name in hostile.SLOW:
                restore(slot, hostile.text(name, **known))
                outcome = await runner.evaluate(REQUEST)
                if outcome.verdict != "failed" or processes_with(str(slot.checkout)):
                    problems[name] = outcome

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        trio.run(main, server.getsockname()[1])
    assert problems == {}
    assert {name: (slot.root / name).read_text() for name in user} == user
    assert list(slot.scratch.iterdir()) == []
    assert len(hostile.QUICK) + len(hostile.SLOW) >= 20
