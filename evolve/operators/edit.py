"""Edits by a language model: one change of the parent that should be judged better."""

from __future__ import annotations

from evolve.operators.conversation import Asking


class Edit(Asking):
    """Asks a model for one change."""

    name = "edit"
