"""Who proposes: the operators, and the models that they ask."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from evolve.tables.base import Seconds, Share, Table

ASKING = ("edit", "rewrite", "explore", "simplify", "fix")
"""Operators that can do nothing without a model."""


class PatchesTable(Table):
    """Ready-made changes as proposals."""

    folder: str | None = None
    """Folder with files `NNN-name.patch`, tried in the order of their names."""
    branches: list[str] = []
    """Globs of branches of the repository, tried in the order of their names."""

    @model_validator(mode="after")
    def _something(self) -> PatchesTable:
        if self.folder is None and not self.branches:
            raise ValueError('give folder = "proposals" or branches = ["try/*"]')
        return self


class AgentTable(Table):
    """A command-line coding agent. Exactly one of `use` and `command`."""

    use: Literal["claude", "codex", "gemini", "aider"] | None = None
    """A known one: its command, its keys and its provider's host are filled in."""
    command: str | None = Field(default=None, min_length=1)
    """Any other, such as "my-agent --prompt-file {prompt}"; {prompt} is the path of its task, {usd} what it
    may cost. It runs in a checkout of the parent, and what it changes there is the proposal."""
    hosts: list[Annotated[str, Field(pattern=r"^(\*\.)?[A-Za-z0-9.-]+(:\d+)?$")]] = []
    """Hosts it may reach, such as "api.example.com" or "localhost:8000", besides that of `use`; no others."""
    env: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = []
    """Environment variables it gets to see, such as its key, besides those of `use`."""
    read: list[str] = []
    """Files and folders it may read although they lie in the home folder, such as its own installation."""
    timeout: Seconds = 900.0
    """Time limit of one task; everything it started is killed at it."""
    usd: float | None = Field(default=None, gt=0)
    """Dollars one task may cost: charged for each one unless the agent tells its cost itself."""
    share: float = Field(default=1.0, gt=0)
    """How often it is asked, compared with the other operators."""

    @model_validator(mode="after")
    def _one_way(self) -> AgentTable:
        if (self.use is None) == (self.command is None):
            raise ValueError('give exactly one of use = "claude" and command = "my-agent {prompt}"')
        return self


class OperatorsTable(Table):
    """Shares of the operators. Those named are the only ones; none named: all that can run here."""

    tune: Share | None = None
    """Numeric search (CMA-ES) over the numbers in the files."""
    mutate: Share | None = None
    """Small edits of the syntax tree of Python files."""
    crossover: Share | None = None
    """Merges of two lineages; where they contradict each other, by a language model if there is one."""
    edit: Share | None = None
    """One change by a language model."""
    rewrite: Share | None = None
    """Whole files by a language model."""
    explore: Share | None = None
    """Another approach by a language model."""
    simplify: Share | None = None
    """The same score with less code, by a language model."""
    fix: Share | None = None
    """Candidates that failed, corrected by a language model."""
    agent: AgentTable | None = None
    """Changes by a coding agent."""
    patches: PatchesTable | None = None
    """Ready-made changes."""
    manual: bool = False
    """Wait for proposals from outside (`evolve propose`) when no operator has anything to do."""

    def shares(self) -> dict[str, float]:
        """Share of each operator that is named."""
        named = {name: getattr(self, name) for name in type(self).model_fields if name != "manual"}
        return {
            name: getattr(v, "share", 1.0) if isinstance(v, Table) else v for name, v in named.items() if v
        }


def _address(text: str) -> str:
    """An address that a request can be sent to."""
    if not re.match(r"https?://[^/]", text):
        raise ValueError("no address, which begins as http://HOST:PORT/v1 does")
    return text


class ModelTable(Table):
    """One model of the pool."""

    model: str = Field(min_length=1)
    """Name as litellm knows it, such as "gpt-5-mini" or "openai/my-model"."""
    weight: float = Field(default=1.0, gt=0)
    """How often it is asked compared with the others."""
    api_base: Annotated[str, AfterValidator(_address)] | None = None
    """Address of an OpenAI-compatible server, such as "http://127.0.0.1:8000/v1"."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature; default: the model's own. Not sent to models that take none."""
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """How long a reasoning model may think; default: the model's own."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of one reply, thoughts included. Under a budget in tokens or dollars 16384 by default."""
    timeout: Seconds = 600.0
    """Time limit of one call."""
    price_in: float | None = Field(default=None, ge=0)
    """Dollars per million prompt tokens, where litellm knows none."""
    price_out: float | None = Field(default=None, ge=0)
    """Dollars per million reply tokens, where litellm knows none."""
    context: int | None = Field(default=None, ge=256)
    """Tokens it takes, prompt and reply together, where that is not known by its name."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Most requests a minute, of all calls together."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Most tokens a minute, of prompts and replies together."""


class ModelsTable(Table):
    """Language models; none is needed."""

    pool: list[ModelTable] = []
    """The models that may be asked."""
    allow_secrets: list[str] = []
    """Globs of files that are sent although they hold what looks like a secret."""
    recording: str | None = None
    """Folder of a campaign whose replies are given again, so that nobody is asked (run --from-recording)."""
    prompts: str | None = None
    """Folder with prompts of your own, which take the place of those that `evolve prompts` shows."""
