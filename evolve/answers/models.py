"""Answers about what is said to models and what they reply."""

from __future__ import annotations

from evolve.answers.base import Answer, Part


class PromptText(Part):
    """One template."""

    name: str
    """Its name, that of its file without `.md`."""
    version: str
    """For the template of an operator the version of its whole prompt, as its proposals record it; for one
    that all share that of its text."""
    shared: bool
    """Whether all operators use it."""
    replaced: str | None
    """File of the campaign that stands in for the one that comes with Evolve."""
    placeholders: list[str]
    """Placeholders that it may use."""
    text: str
    """The template."""


class Prompts(Answer):
    """`evolve prompts`: the texts that prompts are made of."""

    folder: str | None
    """Folder with templates of the campaign's own (`models.prompts`)."""
    prompts: list[PromptText]
    """The templates; with `show NAME` only that one."""
    written: list[str]
    """Files that `--write` has made."""


class ReplyProblem(Part):
    """One reason why a reply is refused."""

    path: str | None
    """The file it is about."""
    reason: str
    """What is wrong."""
    text: str
    """The part of the reply that it is about."""


class TriedReply(Answer):
    """`evolve try-reply`: what a reply of a model would change, or why it is refused."""

    parent: str
    """Candidate that it would change."""
    usable: bool
    """Whether it would lead to a new candidate."""
    outcome: str
    """What the proposal would count as: candidate, duplicate, unchanged, rejected (it touches what is
    protected) or failed (an edit does not fit, or there is none)."""
    reason: str | None
    """Why it would lead to no new candidate, in one line."""
    problems: list[ReplyProblem]
    """Every reason why it is refused."""
    candidate: str | None
    """The known candidate that it would lead to again."""
    summary: str
    """The title of the change."""
    changed: list[str]
    """Paths that would change."""
    diff: str
    """What would change, as a unified diff in Git's format."""
