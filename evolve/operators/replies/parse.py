"""Reading the edits out of a reply.

Three formats are understood, since models mix them whatever they are told: SEARCH/REPLACE blocks and
whole fenced files, both under a line with the path, and unified diffs. The reader goes through the lines
once and looks only at the start of a line. Three rules keep it honest:

- A fence ends at the first line that is as long as its opening, so files with fences of their own need a
  longer one outside. Where a shorter one leaves it open which line ends the file, the reply is refused.
- What looks like an edit but is not whole (a marker missing, a fence never closed, a line in a diff without
  its sign) is a problem and not prose.
- A fence without a path above it is an illustration. A reply without any edit is refused.

Nothing here looks at the files; whether an edit fits is for `apply` to say.
"""

from __future__ import annotations

import re
from collections.abc import Container

from evolve.operators.replies.diffs import DiffReader
from evolve.operators.replies.edits import Change, Edit, Parsed, Problem, ReplyError, Whole, change
from evolve.operators.replies.lines import SEARCH, STRAY, closes_fence, opens_fence, path_named

CUT_OFF = frozenset({"length", "max_tokens", "content_filter"})
THINKING = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


def parse(reply: str, *, finish_reason: str = "stop", known: Container[str] = frozenset()) -> Parsed:
    """Take a reply apart.

    Args:
        reply: The text of the reply.
        finish_reason: Why the model stopped, in the words of the chat protocol.
        known: Paths that exist; they are recognised even where they do not look like paths.

    Raises:
        ReplyError: It is cut off, malformed, or holds no edit.
    """
    text = THINKING.sub("", reply, count=1) if THINKING.match(reply) else reply
    reader = _Reader(text.split("\n"), known)
    reader.read()
    problems = list(reader.problems)
    if finish_reason in CUT_OFF:
        paths = ", ".join(dict.fromkeys(edit.path for edit in reader.edits))
        problems.append(Problem(paths or None, f"the reply was cut off (finish reason {finish_reason})"))
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        problems.append(Problem(None, "the reply is not valid Unicode text"))
    if not reader.edits and not problems:
        problems.append(Problem(None, "the reply holds no edit in any of the accepted formats"))
    if problems:
        raise ReplyError(problems)
    return Parsed(tuple(dict.fromkeys(reader.edits)), reader.prose())


class _Reader:
    """Goes through the lines; `at` is the next one, `floor` the end of the last edit."""

    def __init__(self, lines: list[str], known: Container[str]) -> None:
        self.raw = lines
        self.lines = [line.removesuffix("\r") for line in lines]
        self.known = known
        self.edits: list[Edit] = []
        self.problems: list[Problem] = []
        self.at = 0
        self.floor = 0
        self.wrapper: tuple[str, int] | None = None
        self.taken: set[int] = set()
        self.last_path: str | None = None
        self.doubtful: str | None = None
        self.diffs = DiffReader(self.lines)

    def read(self) -> None:
        """Read all lines."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if SEARCH.fullmatch(line):
                self._block()
            elif self.wrapper and closes_fence(line, self.wrapper[0]):
                self.wrapper = None
                self._take(self.at + 1)
            elif self.diffs.starts(self.at):
                self._diff()
            elif STRAY.fullmatch(line):
                reason = "a marker stands alone: a block is SEARCH, =======, REPLACE, with 7 signs each"
                self._problem(self.last_path, reason, line)
                self.at += 1
            elif not self.wrapper and (fence := opens_fence(line)):
                self._fence(fence)
            else:
                if self.wrapper and line[:1] in ("+", "-"):
                    self._problem(self.last_path, "a piece of a diff lacks its --- and +++ lines", line)
                self.at += 1
        if self.wrapper:
            self._problem(self.last_path, "its fence is never closed: the reply is cut off")

    def prose(self) -> str:
        """The lines that belong to no edit."""
        return "\n".join(line for i, line in enumerate(self.lines) if i not in self.taken).strip()

    def _take(self, end: int) -> None:
        self.taken.update(range(self.at, end))
        self.at = self.floor = end

    def _problem(self, path: str | None, reason: str, text: str = "") -> None:
        self.problems.append(Problem(path, reason, text))

    def _heading(self) -> str | None:
        """The path on the line above, across blank lines and the fence that wraps an edit."""
        for i in range(self.at - 1, self.floor - 1, -1):
            if self.wrapper and i == self.wrapper[1]:
                continue
            if self.lines[i].strip():
                path = path_named(self.lines[i], self.known)
                if path is not None:
                    self.taken.update(range(i, self.at))
                    self.last_path = path
                return path
        return None

    def _block(self) -> None:
        path = self._heading() or self.last_path
        marks = len(self.lines[self.at].rstrip().removesuffix("SEARCH").rstrip())
        end, middle = self._block_end(marks)
        text = "\n".join(self.lines[self.at : end])
        if not self.lines[end - 1].rstrip().endswith("REPLACE") or not middle:
            reason = (
                f"the block is not whole: SEARCH, {'=' * marks}, REPLACE each stand on a line of their own"
            )
            self._problem(path, reason, text)
        elif len(middle) > 1:
            reason = f"the block has several lines {'=' * marks}: make all three of its markers longer"
            self._problem(path, reason, text)
        elif path is None:
            self._problem(None, "a SEARCH block has no line with its path above it", text)
        else:
            old, new = self.lines[self.at + 1 : middle[0]], self.lines[middle[0] + 1 : end - 1]
            self.edits.append(change(path, old, new))
        self._take(end)

    def _block_end(self, marks: int) -> tuple[int, list[int]]:
        """Where the block ends, and which of its lines could be its middle."""
        close = re.compile(rf">{{{marks}}}\s*REPLACE\s*")
        middle: list[int] = []
        for i in range(self.at + 1, len(self.lines)):
            line = self.lines[i]
            if close.fullmatch(line):
                return i + 1, middle
            if (again := SEARCH.fullmatch(line)) and len(again[1]) == marks:
                return i, middle
            if line.rstrip() == "=" * marks:
                middle.append(i)
        return len(self.lines), middle

    def _diff(self) -> None:
        fence = self.wrapper[0] if self.wrapper else None
        end, edits, problems = self.diffs.read(self.at, fence)
        self._add(edits, problems)
        self._take(end)

    def _add(self, edits: list[Edit], problems: list[Problem]) -> None:
        self.edits += edits
        self.problems += problems
        self.last_path = next((each.path for each in [*edits, *problems] if each.path), self.last_path)

    def _fence(self, fence: str) -> None:
        path = self._heading()
        first = next((i for i in range(self.at + 1, len(self.lines)) if self.lines[i].strip()), None)
        if first is not None and path and self.lines[first].startswith("@@"):
            self.wrapper = (fence, self.at)
            self._take(first)
            end, lines, problems = self.diffs.hunks(first, path, fence)
            self._add([Change(path, hunk) for hunk in lines], problems)
            self._take(end)
            return
        if first is not None and self._wraps_edits(first, path):
            self.wrapper = (fence, self.at)
            self.taken.add(self.at)
            self.at += 1
            return
        self._whole(fence, path)

    def _wraps_edits(self, first: int, path: str | None) -> bool:
        """Whether the fence that opened just before holds blocks or diffs and is no file of its own."""
        if self.diffs.starts(first) or self._is_diff(path):
            return path is None or not path.endswith((".diff", ".patch"))
        if SEARCH.fullmatch(self.lines[first]):
            return True
        second = next((i for i in range(first + 1, len(self.lines)) if self.lines[i].strip()), None)
        if second is None or not SEARCH.fullmatch(self.lines[second]):
            return False
        inside = path_named(self.lines[first], self.known)
        return inside is not None and path in (None, inside)

    def _is_diff(self, path: str | None) -> bool:
        """Whether the fence at this line says that it holds a diff, whatever it begins with."""
        word = self.lines[self.at].strip("`~ ").lower()
        return word in ("diff", "patch") and not (path or "").endswith((".diff", ".patch"))

    def _whole(self, fence: str, path: str | None) -> None:
        bare = self.lines[self.at].rstrip() == fence
        if path is None and bare and self.doubtful:
            reason = "it cannot be told where the file ends: put a longer fence around it than any inside"
            self._problem(self.doubtful, reason)
        self.doubtful = path or self.doubtful
        start = self.at + 1
        end = next((i for i in range(start, len(self.lines)) if closes_fence(self.lines[i], fence)), None)
        if end is None:
            reason = "the fence is never closed: the reply is cut off"
            self._problem(path, reason, "\n".join(self.lines[start:][-5:]))
            self._take(len(self.lines))
        elif path is None:
            self.at = end + 1
        else:
            windows = self.raw[self.at].endswith("\r")
            lines = self.lines[start:end] if windows else self.raw[start:end]
            if len(fence) == 3 and any(map(STRAY.fullmatch, self.lines[start:end])):
                self._problem(
                    path, "the file holds markers: if they belong to it, put four backticks around it"
                )
            self.edits.append(Whole(path, tuple(lines)))
            self._take(end + 1)
