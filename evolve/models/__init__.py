"""Language models: which ones, how to call them, what goes wrong.

Importing this package is cheap; HTTP and provider libraries are imported by the first call that needs them.
"""

from evolve.models.errors import BudgetSpent, CallFailed, ContextOverflow, MissingKey, NoModelAnswers
from evolve.models.gateway import Gateway, Reply
from evolve.models.spec import ModelSpec, default_pool, missing_key, unavailable

__all__ = [
    "BudgetSpent",
    "CallFailed",
    "ContextOverflow",
    "Gateway",
    "MissingKey",
    "ModelSpec",
    "NoModelAnswers",
    "Reply",
    "default_pool",
    "missing_key",
    "unavailable",
]
