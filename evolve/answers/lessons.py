"""Answer of `evolve lessons`."""

from __future__ import annotations

from typing import Literal

from archives.records import LessonState
from evolve.answers.base import Answer, Part


class LessonEntry(Part):
    """One lesson."""

    id: int
    """Its number."""
    claim: str
    """What it says."""
    scope: str
    """What it is about."""
    state: LessonState
    """active: prompts may carry it. pinned: all do. forgotten: none does."""
    word: Literal["new", "supported", "open", "fading"]
    """What its use has shown so far."""
    helps: float
    """Probability that proposals do better with it, in [0, 1]."""
    effect: float
    """How much more often proposals succeed with it than without it, in [-1, 1]."""
    uses: int
    """Proposals whose prompt carried it."""
    wins: int
    """Those of them whose candidate was better than its parent."""
    promoted: int
    """Those of them whose candidate became champion."""
    supports: list[int]
    """Evaluations named for it."""
    contradicts: list[int]
    """Evaluations named against it."""
    sources: list[int]
    """Proposals it was concluded from."""
    model: str
    """Model that wrote it."""


class Lessons(Answer):
    """`evolve lessons`: what the campaign has learned, the most helpful first."""

    lessons: list[LessonEntry]
    """The lessons."""
    forgotten: int
    """How many are forgotten."""
