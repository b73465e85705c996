"""Ready commands for common coding agents, each run once without a person and with all its own questions off.

Each works in a checkout behind our walls, so its own sandbox, which could not be had inside ours, is off too.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ready:
    """How an agent is started, and what it needs of the world.

    Attributes:
        command: Shell command, see `evolve.workshop.AgentSpec`.
        keys: Environment variables with its key; one of them must be set.
        hosts: Its provider.
        tells_cost: Whether `{usd}` is a limit that it keeps.
    """

    command: str
    keys: tuple[str, ...]
    hosts: tuple[str, ...]
    tells_cost: bool = False


READY: dict[str, Ready] = {
    "claude": Ready(
        "IS_SANDBOX=1 claude -p --output-format json --dangerously-skip-permissions < {prompt}",
        ("ANTHROPIC_API_KEY",),
        ("api.anthropic.com",),
        tells_cost=True,
    ),
    "codex": Ready(
        "codex exec --skip-git-repo-check --ephemeral --sandbox danger-full-access - < {prompt}",
        ("CODEX_API_KEY", "OPENAI_API_KEY"),
        ("api.openai.com",),
    ),
    "gemini": Ready(
        "gemini --yolo --skip-trust < {prompt}",
        ("GEMINI_API_KEY",),
        ("generativelanguage.googleapis.com",),
    ),
    "aider": Ready(
        "aider --yes-always --no-git --no-check-update --no-show-model-warnings --message-file {prompt}",
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"),
        ("api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"),
    ),
}


def program(command: str) -> str | None:
    """Name of the program that a command starts, as far as that can be told."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    names = (word for word in words if "=" not in word and word not in ("exec", "env"))
    return next(names, None)
