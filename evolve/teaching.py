"""What people say about lessons: which ones to forget, and which ones every prompt shall carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from archives.reader import Reader
from archives.records import Lesson, LessonState

_STATES: dict[str, LessonState] = {"forget": "forgotten", "pin": "pinned", "unpin": "active"}
_WORDS = {"forget": "forgotten", "pin": "pinned", "unpin": "no longer pinned"}


def taught(reader: Reader, given: Mapping[str, Any]) -> tuple[str | None, str, list[Lesson]]:
    """Lessons in the state that is asked for.

    Args:
        reader: The journal.
        given: `do` (forget, pin, unpin), and `ids` of lessons or a `source`: all that was learned from this
            evaluation.

    Returns:
        Why nothing is to be done, if so; what is done, in one line; the lessons to be written.
    """
    do = str(given.get("do"))
    if do not in _STATES:
        return f"{do!r} cannot be done to a lesson; forget, pin and unpin can", "", []
    known = {lesson.id: lesson for lesson in reader.lessons()}
    source = given.get("source")
    if source is not None:
        chosen = _from(reader, int(source), known)
        if not chosen:
            return f"nothing was learned from evaluation {source}", "", []
    else:
        ids = [int(id) for id in given.get("ids") or ()]
        if missing := [id for id in ids if id not in known]:
            return f"there is no lesson {missing[0]}", "", []
        chosen = [known[id] for id in ids]
    words = ", ".join(str(lesson.id) for lesson in chosen)
    return None, f"{_WORDS[do]}: {words}", [replace(lesson, state=_STATES[do]) for lesson in chosen]


def _from(reader: Reader, evaluation: int, known: Mapping[int, Lesson]) -> list[Lesson]:
    """Lessons that name an evaluation, or whose writer has read it."""
    read = next(reader.evaluations_after(evaluation - 1), None)
    proposal = read.proposal if read is not None and read.id == evaluation else None
    return [
        lesson
        for lesson in known.values()
        if evaluation in (*lesson.supports, *lesson.contradicts) or proposal in lesson.sources
    ]
