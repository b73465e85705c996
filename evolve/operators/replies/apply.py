"""Turning edits into new file contents.

Every edit is held against the parent's own text, never against a half-changed one, so their order means
nothing. Its lines must stand there exactly once, as whole lines: no place is an error, two places are
one too, whatever a line number says. A path that may not change, that leaves the repository or leads
through a link refuses the whole reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evolve.operators.replies.edits import Change, Delete, Edit, Problem, ReplyError, Whole, change
from evolve.operators.replies.text import Splice, TextFile, overlap
from evolve.quoting import one_line

if TYPE_CHECKING:
    from archives.store import FileEntry
    from evolve.operators.base import Source

LINK = 0o120000
SUBMODULE = 0o160000


def apply(edits: Sequence[Edit], source: Source, tree: str) -> dict[str, bytes | None]:
    """The files that `edits` change in `tree`: path to new content, or None to delete.

    Raises:
        ReplyError: An edit does not fit, is not allowed, or nothing changes.
    """
    entries = {entry.path: entry for entry in source.store.files(tree)}
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    reasons = {path: _why_not(path, entries, source) for path in by_path}
    problems = [Problem(path, reason, kind="protected") for path, reason in reasons.items() if reason]
    if problems:
        raise ReplyError(problems)
    changes: dict[str, bytes | None] = {}
    for path, wanted in by_path.items():
        entry = entries.get(path)
        before = source.store.blob(entry.oid) if entry else None
        try:
            after = _edited(path, before, wanted)
        except ReplyError as error:
            problems += error.problems
            continue
        if after != before:
            changes[path] = after
    if problems:
        raise ReplyError(problems)
    if not changes:
        nothing = "the reply changes nothing"
        raise ReplyError([Problem(", ".join(by_path) or None, nothing, kind="nothing")])
    return changes


def _why_not(path: str, entries: Mapping[str, FileEntry], source: Source) -> str | None:
    """Why nothing may be written at a path, whatever the edit is."""
    parts = path.split("/")
    if ".." in parts:
        return "the path leaves the repository; name a file inside it, without '..'"
    if path.startswith(("/", "~")) or "\\" in path or path[1:2] == ":":
        return "the path is not relative to the root of the repository with '/' between its parts"
    if any(part in ("", ".") or part.lower() == ".git" for part in parts) or not path.isprintable():
        return "the path is not one of a file in the repository"
    for count in range(1, len(parts) + 1):
        entry = entries.get("/".join(parts[:count]))
        if entry and entry.mode in (LINK, SUBMODULE):
            kind = "link" if entry.mode == LINK else "submodule"
            return f"{entry.path} is a {kind}: nothing is written through it"
        if entry and count < len(parts):
            return f"{entry.path} is a file, not a folder"
    if not source.editable(path):
        return "the file is protected and must not change"
    if path not in entries and any(each.startswith(f"{path}/") for each in entries):
        return "the path is a folder"
    return None


def _edited(path: str, before: bytes | None, edits: Sequence[Edit]) -> bytes | None:
    if len(edits) > 1 and not all(isinstance(edit, Change) for edit in edits):
        raise ReplyError([Problem(path, "the file is given in full and by another edit too: choose one")])
    edit = edits[0]
    if isinstance(edit, Delete):
        _check_deletion(edit, before)
        return None
    if isinstance(edit, Whole):
        return _replaced(edit, before)
    return _changed(path, before, [each for each in edits if isinstance(each, Change)])


def _check_deletion(edit: Delete, before: bytes | None) -> None:
    if before is None:
        raise ReplyError([Problem(edit.path, "there is no such file to delete")])
    lines = [line.rstrip() for line in TextFile(before).lines]
    if edit.old and [line.rstrip() for line in edit.old] != lines:
        text = "\n".join(edit.old)
        raise ReplyError(
            [Problem(edit.path, "the diff deletes a file and its lines are not the file's", text)]
        )


def _replaced(edit: Whole, before: bytes | None) -> bytes:
    if before is None:
        return "".join(f"{line}\n" for line in edit.lines).encode()
    if edit.create:
        raise ReplyError([Problem(edit.path, "the diff creates a file that exists already")])
    if not any(line.strip() for line in edit.lines):
        raise ReplyError(
            [Problem(edit.path, "the fence is empty; to delete a file give a diff to /dev/null")]
        )
    file = _text_file(edit.path, before)
    splices = _splices(change(edit.path, file.lines, [line.removesuffix("\r") for line in edit.lines]), 0)
    if splices:
        file.whole_last = True
    return file.spliced(splices)


def _changed(path: str, before: bytes | None, changes: Sequence[Change]) -> bytes:
    if not before and len(changes) == 1 and not changes[0].old:
        return "".join(f"{line}\n" for _, line in changes[0].lines).encode()
    if before is None:
        text = "\n".join(changes[0].old)
        raise ReplyError([Problem(path, "there is no such file; give a new one in full", text)])
    file = _text_file(path, before)
    splices: list[Splice] = []
    problems: list[Problem] = []
    for each in changes:
        places = file.places(each.old)
        if len(places) == 1:
            splices += _splices(each, places[0])
        else:
            problems.append(_misfit(each, file, places))
    if not problems and overlap(splices):
        problems.append(Problem(path, "two edits change the same lines: make them one"))
    if problems:
        raise ReplyError(problems)
    return file.spliced(splices)


def _text_file(path: str, content: bytes) -> TextFile:
    if b"\0" in content:
        raise ReplyError([Problem(path, "the file is not a text file and cannot be edited")])
    return TextFile(content)


def _splices(edit: Change, start: int) -> list[Splice]:
    """Only the lines that differ, so that context keeps its bytes and may be shared between edits."""
    splices: list[Splice] = []
    stop, new = start, tuple[str, ...]()
    for sign, text in [*edit.lines, (" ", "")]:
        if sign == "-":
            stop += 1
        elif sign == "+":
            new += (text,)
        else:
            if stop > start or new:
                splices.append(Splice(start, stop, new))
            start = stop = stop + 1
            new = ()
    return splices


def _misfit(edit: Change, file: TextFile, places: Sequence[int]) -> Problem:
    text = "\n".join(edit.old)
    quoted = one_line(next((line for line in edit.old if line.strip()), ""), 80)
    if not edit.old:
        return Problem(
            edit.path,
            "the edit names no line of the file, so its place is unknown",
            "\n".join(text for _, text in edit.lines),
        )
    if places:
        numbers = ", ".join(str(place + 1) for place in places[:5])
        reason = f"the lines to change, from {quoted!r} on, stand at {len(places)} places (lines {numbers})"
        return Problem(edit.path, f"{reason}: name more lines around them", text)
    there = {line.rstrip() for line in file.lines}
    strange = next((line for line in edit.old if line.rstrip() not in there), None)
    if strange is not None:
        return Problem(edit.path, f"the line {one_line(strange, 100)!r} does not stand in the file", text)
    return Problem(
        edit.path, f"the lines to change, from {quoted!r} on, do not follow each other there", text
    )
