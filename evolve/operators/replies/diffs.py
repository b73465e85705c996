"""Reading unified diffs as models write them.

The numbers in a hunk's header are wrong more often than not, so they are not read: the lines say where a
hunk belongs. That leaves its end to be found from the lines, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from evolve.operators.replies.edits import Change, Delete, Edit, Problem, Sign, Whole
from evolve.operators.replies.lines import closes_fence, header_paths

EXTENDED = re.compile(
    r"(index |new file mode |deleted file mode |old mode |new mode |similarity index |dissimilarity index "
    r"|rename from |rename to |copy from |copy to |Binary files |GIT binary patch)"
)
UNSUPPORTED = {
    "rename ": "a file cannot be renamed in one step: delete the old one and write the new one",
    "copy ": "a file cannot be copied: write the new one in full",
    "old mode ": "the mode of a file cannot be changed",
    "Binary files ": "binary files cannot be changed",
    "GIT binary patch": "binary files cannot be changed",
    "new file mode 120000": "links cannot be made",
    "new file mode 160000": "submodules cannot be made",
}
Hunk = tuple[tuple[Sign, str], ...]


class DiffReader:
    """Reads the diff of one file at a time out of the lines of a reply."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def starts(self, at: int) -> bool:
        """Whether the diff of a file starts at this line."""
        return self.lines[at].startswith("diff --git ") or self._headers(at)

    def _headers(self, at: int) -> bool:
        three = self.lines[at : at + 3]
        return (
            len(three) == 3
            and three[0].startswith("--- ")
            and three[1].startswith("+++ ")
            and three[2].startswith("@@")
        )

    def read(self, at: int, fence: str | None) -> tuple[int, list[Edit], list[Problem]]:
        """The diff of one file: where it ends, its edits, and what is wrong with it."""
        said: list[str] = []
        path: str | None = None
        if self.lines[at].startswith("diff --git "):
            path = self.lines[at].rstrip().rpartition(" b/")[2]
            at += 1
            while at < len(self.lines) and EXTENDED.match(self.lines[at]):
                said.append(self.lines[at])
                at += 1
        for start, reason in UNSUPPORTED.items():
            if any(line.startswith(start) for line in said):
                return self._skip(at, fence), [], [Problem(path, reason)]
        if at < len(self.lines) and self._headers(at):
            return self._file(at, fence)
        if any(line.startswith("new file") for line in said) and path:
            return at, [Whole(path, (), create=True)], []
        if any(line.startswith("deleted file") for line in said) and path:
            return at, [Delete(path)], []
        return at, [], [Problem(path, "the diff names a file and holds no hunk for it")]

    def _skip(self, at: int, fence: str | None) -> int:
        while at < len(self.lines) and not self.lines[at].startswith("diff --git "):
            if fence and closes_fence(self.lines[at], fence):
                break
            at += 1
        return at

    def _file(self, at: int, fence: str | None) -> tuple[int, list[Edit], list[Problem]]:
        old, new = header_paths(self.lines[at], self.lines[at + 1])
        path = new or old
        if path is None:
            end, _, _ = self.hunks(at + 2, "", fence)
            return end, [], [Problem(None, "the diff names no file")]
        end, hunks, problems = self.hunks(at + 2, path, fence)
        if old and new and old != new:
            problems.append(Problem(path, UNSUPPORTED["rename "]))
        if old is None:
            text = (_text(hunk, "+") for hunk in hunks)
            return end, [Whole(path, tuple(line for lines in text for line in lines), create=True)], problems
        if new is None:
            text = (_text(hunk, "-") for hunk in hunks)
            return end, [Delete(path, tuple(line for lines in text for line in lines))], problems
        return end, [Change(path, hunk) for hunk in hunks], problems

    def hunks(self, at: int, path: str, fence: str | None) -> tuple[int, list[Hunk], list[Problem]]:
        """The hunks from a line that begins with @@ on."""
        hunks: list[Hunk] = []
        problems: list[Problem] = []
        while at < len(self.lines) and self.lines[at].startswith("@@"):
            start = at
            at, hunk = self._hunk(at + 1, self._boundary(fence))
            hunks.append(hunk)
            if self._breaks_off(at, fence):
                reason = "a line of the diff begins with neither a space, + nor -"
                problems.append(Problem(path, reason, "\n".join(self.lines[start : at + 1])))
                break
        return at, hunks, problems

    def _boundary(self, fence: str | None) -> Callable[[int], bool]:
        def boundary(at: int) -> bool:
            line = self.lines[at]
            return (
                line.startswith("@@") or self.starts(at) or (fence is not None and closes_fence(line, fence))
            )

        return boundary

    def _hunk(self, at: int, boundary: Callable[[int], bool]) -> tuple[int, Hunk]:
        body: list[tuple[Sign, str]] = []
        bare = 0
        while at < len(self.lines) and not boundary(at):
            line = self.lines[at]
            # The blank of an empty context line often gets lost; at the end of a hunk it is no line at all.
            if not line or line[0] == " ":
                body.append((" ", line[1:]))
            elif line[0] == "-":
                body.append(("-", line[1:]))
            elif line[0] == "+":
                body.append(("+", line[1:]))
            elif line[0] != "\\":
                break
            bare = bare + 1 if not line else 0
            at += 1
        return at, tuple(body[: len(body) - bare])

    def _breaks_off(self, at: int, fence: str | None) -> bool:
        """Whether a hunk ended at a line that is neither its proper end nor prose after a blank line."""
        if at >= len(self.lines) or self._boundary(fence)(at):
            return False
        return fence is not None or bool(self.lines[at - 1])


def _text(hunk: Hunk, sign: Sign) -> list[str]:
    return [text for each, text in hunk if each in (sign, " ")]
