"""Rewrites by a language model: whole files, where small edits no longer get on."""

from __future__ import annotations

from evolve.operators.conversation import Asking


class Rewrite(Asking):
    """Asks a model for whole files."""

    name = "rewrite"
