"""What a campaign has learned, from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from archives.errors import EvolveError
from archives.reader import Reader
from archives.records import Lesson
from evolve.answers.lessons import LessonEntry, Lessons
from evolve.memory import Memory


def lessons(reader: Reader, ids: Collection[int] = (), everything: bool = False) -> Lessons:
    """The lessons with their record, the most helpful first.

    Args:
        reader: The journal.
        ids: Only these; all if empty.
        everything: Whether forgotten ones are shown too.

    Raises:
        EvolveError: One of `ids` is not known.
    """
    with reader.snapshot():
        memory, promoted = _remembered(reader)
    if missing := [id for id in ids if id not in memory.lessons]:
        raise EvolveError(f"there is no lesson {missing[0]}; `evolve lessons --all` shows all")
    shown = [
        lesson
        for lesson in memory.lessons.values()
        if (lesson.id in ids if ids else everything or lesson.state != "forgotten")
    ]
    entries = [_entry(lesson, memory, promoted) for lesson in shown]
    return Lessons(
        lessons=sorted(entries, key=lambda entry: (entry.state == "forgotten", -entry.helps, entry.id)),
        forgotten=sum(lesson.state == "forgotten" for lesson in memory.lessons.values()),
    )


def _remembered(reader: Reader) -> tuple[Memory, Counter[int]]:
    """The memory as a run would rebuild it, and how often each lesson was carried by a champion's prompt."""
    memory = Memory(reader.lessons())
    champions = {champion.candidate for champion in reader.champions()}
    promoted: Counter[int] = Counter()
    taught = [p for p in reader.proposals("done") if p.lessons is not None]
    for proposal in sorted(taught, key=lambda p: p.admitted or 0):
        memory.hear(proposal)
        if proposal.candidate in champions and proposal.outcome == "candidate":
            promoted.update(proposal.lessons or ())
    return memory, promoted


def _entry(lesson: Lesson, memory: Memory, promoted: Counter[int]) -> LessonEntry:
    standing = memory.standing(lesson.id)
    return LessonEntry(
        id=lesson.id,
        claim=lesson.claim,
        scope=lesson.scope,
        state=lesson.state,
        word=standing.word,
        helps=standing.helps,
        effect=standing.effect,
        uses=standing.uses,
        wins=standing.wins,
        promoted=promoted[lesson.id],
        supports=list(lesson.supports),
        contradicts=list(lesson.contradicts),
        sources=list(lesson.sources),
        model=lesson.model,
    )
