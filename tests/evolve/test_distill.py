"""Overtaken changes put together: what fits is in the candidate, what contradicts is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from operator_store import Repo

from evolve.operators.base import Refused
from evolve.operators.distill import Distill

LINES = "".join(f"P{place} = 0\n\n" for place in range(5))


def changed(**values: int) -> dict[str, str]:
    text = LINES
    for name, value in values.items():
        text = text.replace(f"{name} = 0", f"{name} = {value}")
    return {"shape.py": text}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path, {"shape.py": LINES})


def test_all_that_fits_is_put_onto_the_champion(repo: Repo) -> None:
    champion = repo.candidate(changed(P0=9))
    overtaken = [repo.candidate(changed(P1=1)), repo.candidate(changed(P3=3)), repo.candidate(changed(P0=2))]
    draft = Distill().propose(repo.order(parent=champion, inspirations=tuple(overtaken)), repo.source)
    assert repo.read(draft, "shape.py") == changed(P0=9, P1=1, P3=3)["shape.py"]
    assert draft.summary == "distil 2 overtaken changes"
    assert overtaken[2].id[:8] not in draft.rationale


def test_one_alone_is_no_batch(repo: Repo) -> None:
    champion = repo.candidate(changed(P0=9))
    overtaken = (repo.candidate(changed(P1=1)), repo.candidate(changed(P0=2)), champion)
    with pytest.raises(Refused, match="1 of 3 overtaken changes fit"):
        Distill().propose(repo.order(parent=champion, inspirations=overtaken), repo.source)
