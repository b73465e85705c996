"""From the text of a model's reply to changed files.

`parse` reads the edits out of a reply; `apply` turns them into new file contents. Both refuse a reply as
a whole, with every reason, rather than use a part of it: the parts were meant together.
"""

from evolve.operators.replies.apply import apply
from evolve.operators.replies.edits import Change, Delete, Edit, Parsed, Problem, ReplyError, Whole
from evolve.operators.replies.parse import parse

__all__ = ["Change", "Delete", "Edit", "Parsed", "Problem", "ReplyError", "Whole", "apply", "parse"]
