"""Records to fill a journal with."""

from __future__ import annotations

import hashlib

from archives.records import (
    Basis,
    Call,
    Candidate,
    CaseScore,
    Champion,
    Decision,
    Evaluation,
    Event,
    Lesson,
    Proposal,
    Record,
    Setting,
)


def id_of(number: int) -> str:
    return hashlib.sha1(f"tree {number}".encode()).hexdigest()


def candidate(number: int, *parents: int) -> Candidate:
    commit = hashlib.sha1(f"commit {number}".encode()).hexdigest()
    ids = tuple(id_of(parent) for parent in parents)
    return Candidate(
        id_of(number), commit, number, ids, number, "tune" if parents else "base", f"candidate {number}"
    )


def proposal(number: int, parent: int = 0, **more: object) -> Proposal:
    return Proposal(number, "tune", id_of(parent), Basis(0, 0), **more)  # type: ignore[arg-type]


def evaluation(id: int, of: int = 0, **more: object) -> Evaluation:
    given = {"verdict": "judged", "score": float(id), **more}
    return Evaluation(id, id_of(of), of, **given)  # type: ignore[arg-type]


def one_of_each() -> list[Record]:
    """A small campaign in which every kind of record and every field is used."""
    return [
        Setting("state", "running"),
        Setting("config", {"goal": "pack 26 circles", "seed": 0, "include": ["packing.py"]}),
        candidate(0),
        Candidate(
            id=id_of(1),
            commit="c" * 40,
            number=1,
            parents=(id_of(0), id_of(0)),
            proposal=1,
            operator="crossover",
            summary="Join two layouts – ä, 円",
            measures={"lines": 120, "distance": 3.5, "kind": "grid"},
            changed=("packing.py", "Ordner/ä.py"),
            rebased_from=id_of(0),
        ),
        Proposal(
            number=1,
            operator="crossover",
            parent=id_of(0),
            basis=Basis(champion=0, archive=3, lessons=2, evaluator=1),
            policy="qd",
            partner=id_of(0),
            inspirations=(id_of(0),),
            state="done",
            outcome="candidate",
            candidate=id_of(1),
            reason="because",
            summary="Join two layouts",
            rationale="Both\nhalves.",
            payload={"x": [0.1, 2, None], "nested": {"deep": True}},
            model="some/model",
            gain=0.25,
            reward=1.0,
            admitted=1,
            stale="updated",
        ),
        evaluation(1, 0, purpose="baseline"),
        Evaluation(
            id=2,
            candidate=id_of(1),
            proposal=1,
            verdict="judged",
            stage="full",
            split="holdout",
            purpose="gate",
            seed=7,
            evaluator=1,
            score=2.5,
            metrics={"ms": 12.1},
            cases=(CaseScore("q1", 1.0), CaseScore("q2", 0.0, "expected 3 rows")),
            measures={"depth": 4},
            feedback="close",
            reason=None,
            artifacts={"profile.txt": "…"},
            seconds=1.5,
            cpu_seconds=1.25,
            attempts=2,
            counted=False,
        ),
        evaluation(3, 1, verdict="failed", score=None, reason="exit 1"),
        Decision(1, id_of(1), id_of(0), 1, True, "strict", "better on 2 of 2", {"gain": 0.25}),
        Champion(0, id_of(0)),
        Champion(1, id_of(1), 1),
        Call(1, 1, "some/model", "edit", 100, 20, 0.001, 3.5, None, "prompt", "reply"),
        Call(2, 1, "some/model", "edit", error="429", state="failed"),
        Lesson(1, "Grids waste the border", "packing.py", "pinned", "some/model", 1, (2,), (3,), (1,)),
        Event("started", "The campaign begins", id=1, time=1700000000.5, data={"pid": 1}),
        Event("promoted", "A new champion", id=2, time=1700000009.0),
    ]
