"""Simplification by a language model: the same score with less code.

A version with fewer lines that is no worse is a success of its own (see `evolve.stages.admit`): later
changes are easier to make on it. Champion it becomes only if its score is better too.
"""

from __future__ import annotations

from evolve.operators.conversation import Asking


class Simplify(Asking):
    """Asks a model to remove what is not needed."""

    name = "simplify"
    inspire = False
