"""What a resumed run knows again: operators and choices, as if they had never stopped.

All of it follows from the journal, in the order of admission. For the choices that is a few numbers a
proposal. An operator gets whole proposals; the one that learns from tens of thousands of them leaves what it
has learned in a file now and then, with the place in the order up to which it goes, so that only what came
later is told again. The file is a view: one that is
missing, broken or of another program's making is not used, and everything is told again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from evolve.operators.base import Operator, Source, Stateless
from evolve.run import Run
from evolve.stages.admit import observed, weighed

FORMAT = 1
"""Grows whenever what an operator would learn from the same journal changes."""


@runtime_checkable
class Learner(Protocol):
    """An operator that can leave what it has learned, and take it up again."""

    name: str

    def learned(self, source: Source) -> tuple[int, Any]:
        """The place in the order of admission up to which it has learned, and its state as JSON."""
        ...

    def take_up(self, state: Any) -> None:
        """Be as it was when it returned this state; raises ValueError, KeyError or TypeError for another."""
        ...


def relearn(run: Run, folder: Path) -> None:
    """Teach operators and choices again what the journal says was learned, in the same order."""
    for admission in run.reader.admissions():
        weighed(run, admission)
        run.admitted = admission.admitted
    through = {
        name: _taken_up(run, operator, folder)
        for name, operator in run.operators.items()
        if not isinstance(operator, Stateless)
    }
    if not through:
        return
    for proposal in run.reader.admitted(after=min(through.values())):
        for name, reached in through.items():
            if (proposal.admitted or 0) > reached:
                observed(run, run.operators[name], proposal)


def _taken_up(run: Run, operator: Operator, folder: Path) -> int:
    """Up to where an operator knows again what it left; 0 where that cannot be used."""
    if not isinstance(operator, Learner):
        return 0
    try:
        left = json.loads((folder / f"{operator.name}.json").read_bytes())
        if left["format"] != [FORMAT, run.learned_before] or not 0 < left["through"] <= run.admitted:
            return 0
        operator.take_up(left["state"])
        return int(left["through"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def leave(run: Run, folder: Path) -> None:
    """Write what operators have learned, for the next run; to be called while none of them proposes."""
    for operator in list(run.operators.values()):
        if isinstance(operator, Learner):
            through, state = operator.learned(run.source)
            folder.mkdir(parents=True, exist_ok=True)
            target = folder / f"{operator.name}.json"
            fresh = target.with_suffix(".new")
            said = {"format": [FORMAT, run.learned_before], "through": through, "state": state}
            fresh.write_text(json.dumps(said), encoding="utf-8")
            fresh.replace(target)
