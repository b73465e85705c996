"""Places that come and go, and that nothing of a cluster is loaded where there is none."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from caserun import environment
from targets import READ_VALUE, TOML, evolve, repository

from archives.errors import EvaluatorError
from archives.records import Candidate
from evaluators.contract import Outcome, Request
from evaluators.executors.base import NoRoom
from evolve.bench import ALONE, LOOK_FOR_ROOM, Bench

CANDIDATE = Candidate("a" * 40, "b" * 40, 1, (), 1, "tune", "")


class Places:
    """An executor with room for so many seats at a time."""

    told, processors = "somewhere", 4

    def __init__(self, room: int) -> None:
        self.has = room
        self.judging: list[int] = []
        self.closed: list[int] = []
        self.widest = 0

    def seat(self, number: int, spec: Any) -> Any:
        return Chair(self, number)

    async def room(self) -> bool:
        return len(self.judging) < self.has


class Chair:
    def __init__(self, places: Places, number: int) -> None:
        self.places, self.number = places, number

    async def judge(self, tree: str, request: Request, timeout: Any = None, begun: Any = None) -> Outcome:
        if self.number >= self.places.has:
            await trio.sleep(1)
            raise NoRoom("no node is free")
        self.places.judging.append(self.number)
        self.places.widest = max(self.places.widest, len(self.places.judging))
        await trio.sleep(2)
        self.places.judging.remove(self.number)
        return Outcome("judged", float(request.seed))

    async def aclose(self) -> None:
        self.places.closed.append(self.number)


async def judged(bench: Bench, count: int) -> list[float | None]:
    scores: list[float | None] = []

    async def one(seed: int) -> None:
        found = await bench.judge(CANDIDATE, Request("a" * 40, seed=seed))
        scores.append(found.score)

    async with trio.open_nursery() as nursery:
        for seed in range(count):
            nursery.start_soon(one, seed)
    return sorted(scores, key=lambda score: score or 0.0)


def bench(places: Places, width: int) -> Bench:
    return Bench(None, places, None, width)  # type: ignore[arg-type]


@pytest.mark.trio
async def test_what_finds_no_place_is_judged_at_another(autojump_clock: trio.testing.MockClock) -> None:
    places = Places(2)
    async with bench(places, 4) as places_to_judge:
        assert await judged(places_to_judge, 8) == [float(seed) for seed in range(8)]
        assert places_to_judge.slots.width == 2
    assert sorted(places.closed) == [0, 1, 2, 3]


@pytest.mark.trio
async def test_room_that_is_there_again_is_used_again(autojump_clock: trio.testing.MockClock) -> None:
    places = Places(1)
    async with bench(places, 2) as places_to_judge:
        await judged(places_to_judge, 2)
        assert places_to_judge.slots.width == 1
        places.has, places.widest = 2, 0
        await trio.sleep(LOOK_FOR_ROOM + 1)
        assert await judged(places_to_judge, 6) == [float(seed) for seed in range(6)]
    assert places.widest == 2


@pytest.mark.trio
async def test_the_last_place_waits_for_room_but_not_for_ever(autojump_clock: trio.testing.MockClock) -> None:
    places = Places(0)
    async with bench(places, 1) as places_to_judge:
        began = trio.current_time()
        with pytest.raises(EvaluatorError, match="no node is free; make room, then `evolve resume`"):
            await judged_alone(places_to_judge)
        assert trio.current_time() - began > ALONE


async def judged_alone(places_to_judge: Bench) -> Outcome:
    return await places_to_judge.judge(CANDIDATE, Request("a" * 40))


def target(folder: Path, executor: str) -> Path:
    toml = TOML.format(evaluations=3).replace("[promotion]", f'executor = "{executor}"\n[promotion]')
    files = {"value.txt": "1.0\n", "evaluate.py": READ_VALUE, "evolve.toml": toml}
    return repository(folder / "target", files)


def test_on_one_machine_nothing_of_ray_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys, evolve\n"
        "assert evolve.create('.', 'evolve.toml').run_sync().state == 'finished'\n"
        "print([m for m in sys.modules if 'ray' in m.split('.') and 'array' not in m])\n"
    )
    repo = target(tmp_path, "local")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=repo, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_ray_that_is_not_installed_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    repo = target(tmp_path, "ray")
    for command in ("check", "run"):
        done = evolve(repo, command)
        assert done.returncode == 1
        assert done.stderr.strip().splitlines()[-1].endswith('pip install "evolve-campaigns[ray]"')
    assert "evolve-campaigns[ray]" in evolve(repo, "doctor").stdout


def test_where_evaluations_run_may_change_under_a_campaign(tmp_path: Path) -> None:
    repo = target(tmp_path, "local")
    assert evolve(repo, "run").returncode == 0
    path = repo / "evolve.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"local"', '"ray"'), encoding="utf-8")
    done = evolve(repo, "run", RAY_ADDRESS="127.0.0.1:9")
    assert done.returncode == 1 and "has changed" not in done.stderr and "Ray" in done.stderr
