"""Whatever is done with stale work, nothing is judged twice, nothing is lost, and one worker never has any."""

from __future__ import annotations

from pathlib import Path

import pytest
from targets import config, repository

import evolve as api

FILES = {
    "shape.py": "A = 1.0\nB = 2.0\n\n\nC = 3.0\n\n\nD = 4.0\n",
    "evaluate.py": "import shape, time\ntime.sleep(0.02)\n"
    "print(-abs(shape.A - 0.3) - abs(shape.B - 5) - abs(shape.C + 1) - abs(shape.D - 9))\n",
}


def campaign(folder: Path, staleness: str, workers: int):  # type: ignore[no-untyped-def]
    return api.create(
        repository(folder, FILES),
        config(
            artifact={"include": ["shape.py"]},
            workers={"propose": workers, "evaluate": workers},
            operators={"tune": 2, "mutate": 1},
            search={"staleness": staleness},
            budget={"evaluations": 50},
        ),
    )


@pytest.mark.parametrize("staleness", ["accept", "discard", "update", "repair"])
def test_every_treatment_keeps_the_promises(tmp_path: Path, staleness: str) -> None:
    run = campaign(tmp_path / "target", staleness, 4)
    assert run.run_sync().state == "finished"
    assert run.best().score > run.show("base").score
    with run.reader() as reader:
        judged = [one.candidate for one in reader.evaluations()]
        assert len(judged) == len(set(judged)) <= 50
        assert [p.number for p in reader.proposals() if p.state != "done"] == []
        rebased = [one for one in reader.candidates() if one.rebased_from is not None]
        dropped = [one for one in reader.proposals() if one.outcome == "dropped"]
        for one in rebased:
            assert reader.candidate(one.rebased_from) is not None
    assert not rebased or staleness in ("update", "repair")
    assert not dropped or staleness == "discard"
    assert run.store.check() == []


def test_with_one_worker_nothing_is_ever_stale(tmp_path: Path) -> None:
    hashes = []
    for staleness in ("accept", "update"):
        run = campaign(tmp_path / staleness, staleness, 1)
        run.run_sync()
        with run.reader() as reader:
            assert all(one.stale is None for one in reader.proposals())
            hashes.append([one.commit for one in reader.candidates()])
    assert hashes[0] == hashes[1]
