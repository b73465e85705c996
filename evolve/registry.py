"""Which operators and policies a campaign has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from archives.errors import ConfigError
from evolve.arms import Pair
from evolve.config import Config
from evolve.models.spec import ModelSpec, default_pool
from evolve.models.spec import unavailable as no_model
from evolve.operators.agents import READY, program
from evolve.operators.base import Operator, Repairer
from evolve.policies.base import Policy
from evolve.policies.champion import ChampionPolicy
from evolve.policies.independent import IndependentPolicy
from evolve.policies.qd import QualityDiversityPolicy
from evolve.prompts.templates import Templates, load
from evolve.tables.proposing import ASKING

if TYPE_CHECKING:
    from evolve.models import Gateway
    from evolve.models.ledger import Ledger
    from evolve.prompts.composing import Composer
    from evolve.workshop import AgentSpec, Workshop

OFFERED = ("tune", "mutate", "crossover", *ASKING)
SHARES = {"edit": 2.0, "rewrite": 0.5, "explore": 0.5, "simplify": 0.25, "fix": 0.5}
"""Shares of operators where the configuration names none; 1 for the others."""


def model_pool(config: Config) -> tuple[ModelSpec, ...]:
    """The models that may be asked: those of the configuration.

    Where none is configured but an operator that needs one is asked for by name, a small one of a provider
    whose key is at hand. A key that merely lies in the environment never sends code anywhere.
    """
    configured = tuple(ModelSpec(**table.model_dump()) for table in config.models.pool)
    if configured or not set(config.operators.shares()) & set(ASKING):
        return configured
    return default_pool(os.environ)


def asks(names: Sequence[str], config: Config) -> bool:
    """Whether any of the operators asks models."""
    return bool(set(names) & set(ASKING)) or ("crossover" in names and can_ask(config))


def usable(config: Config, paths: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Names of the operators that will run, and why others will not.

    Args:
        config: The campaign's configuration.
        paths: Files that may change.

    Raises:
        ConfigError: A named operator cannot work here, or none can.
    """
    named = config.operators.shares()
    found: list[str] = []
    skipped: dict[str, str] = {}
    offered = () if config.operators.manual else OFFERED
    for name in named or offered:
        reason = _unavailable(name, config, paths)
        if reason is None:
            found.append(name)
        elif named:
            raise ConfigError(f"operators.{name}: {reason}")
        else:
            skipped[name] = reason
    if set(found) <= {"crossover", "fix"} and not config.operators.manual:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise ConfigError(f"no operator can change these files ({reasons})")
    others = OFFERED if named or not offered else ()
    return found, skipped | {name: "evolve.toml names others" for name in others if name not in found}


def agent_spec(config: Config, folder: Path) -> AgentSpec:
    """The coding agent that is configured."""
    from evolve.workshop import AgentSpec

    table = config.operators.agent
    assert table is not None  # or the operator were not among the names
    ready = READY.get(table.use or "")
    return AgentSpec(
        name=table.use or program(table.command or "") or "agent",
        command=ready.command if ready else table.command or "",
        hosts=(*(ready.hosts if ready else ()), *table.hosts),
        env=(*(ready.keys if ready else ()), *table.env),
        read=tuple((folder / Path(path).expanduser()) for path in table.read),
        timeout=table.timeout,
        usd=table.usd,
        sandbox=config.evaluator.sandbox,
    )


def _no_agent(config: Config) -> str | None:
    """Why the coding agent that is configured cannot run here; None if it can."""
    table = config.operators.agent
    if table is None:
        return "no coding agent is configured"
    ready = READY.get(table.use or "")
    name = program(ready.command if ready else table.command or "")
    if ready and name and shutil.which(name) is None:
        return f"{name} is not on PATH; install it, or give its command"
    if ready and not any(os.environ.get(key, "").strip() for key in ready.keys):
        return f"{table.use} needs a key: set {ready.keys[0]} in the environment"
    if config.budget.usd is not None and table.usd is None:
        return "budget.usd could not be kept; say what one task may cost with operators.agent.usd"
    missing = [key for key in table.env if key not in os.environ]
    return f"set {missing[0]} in the environment" if missing else None


def _unavailable(name: str, config: Config, paths: Sequence[str]) -> str | None:
    if name == "agent":
        return _no_agent(config)
    if name in ASKING:
        pool = model_pool(config)
        if not pool and not config.operators.shares():
            return "no model is configured under [models]"
        return None if config.models.recording else no_model(pool, os.environ)
    if name in ("tune", "mutate") and not _offline(name).handles(paths):
        return "none of the files that may change is of a kind it can work on"
    return None


@dataclass(frozen=True, slots=True)
class Tools:
    """What operators that ask somebody work with.

    Attributes:
        composer: Makes the prompts.
        models: The gateway to the models, where any operator asks them.
        workshop: Where coding agents work, where there is one.
        ledger: Where what they cost is charged.
    """

    composer: Composer
    models: Gateway | None = None
    workshop: Workshop | None = None
    ledger: Ledger | None = None


def operators_for(
    names: Sequence[str], config: Config, folder: Path, tools: Tools | None = None
) -> dict[str, Operator]:
    """The operators by name.

    Args:
        names: As `usable` gives them.
        config: The campaign's configuration.
        folder: Folder of the configuration.
        tools: What those need that ask somebody.
    """
    return {name: _make(name, config, folder, tools) for name in names}


def pairs_for(names: Sequence[str], config: Config) -> list[Pair]:
    """The operators with the models they may ask, and their shares."""
    from evolve.models.catalog import facts

    shares, pool = config.operators.shares(), model_pool(config)
    weights: dict[str, float] = {}
    prices: dict[str, float | None] = {}
    for spec in pool:
        weights[spec.model] = weights.get(spec.model, 0.0) + spec.weight
        prices[spec.model] = facts(spec).cost(750_000, 250_000)
    whole = sum(weights.values())
    pairs: list[Pair] = []
    for name in names:
        share = shares.get(name, 1.0 if shares else SHARES.get(name, 1.0))
        if name not in ASKING or not whole:
            pairs.append(Pair(name, share))
        else:
            pairs += [
                Pair(name, share * weight / whole, model, prices[model]) for model, weight in weights.items()
            ]
    return pairs


def composer_for(config: Config, folder: Path) -> Composer:
    """What makes the prompts of a campaign.

    Raises:
        ConfigError: A template of the campaign's own cannot be used.
    """
    from evolve.models.tokens import estimate
    from evolve.prompts.composing import Composer

    judged = config.evaluator
    texts = templates_for(config, folder)
    return Composer(texts, estimate, objective=judged.objective, direction=judged.direction)


def templates_for(config: Config, folder: Path) -> Templates:
    """The texts of a campaign's prompts.

    Raises:
        ConfigError: A template of the campaign's own cannot be used.
    """
    own = config.models.prompts
    return load(None if own is None else folder / own)


def _make(name: str, config: Config, folder: Path, tools: Tools | None) -> Operator:
    if name == "patches" and config.operators.patches is not None:
        from evolve.operators.patches import Patches

        return Patches(folder, config.operators.patches.folder, config.operators.patches.branches)
    if tools is not None and name == "agent" and tools.workshop is not None and tools.ledger is not None:
        from evolve.operators.agent import Agent

        agent = agent_spec(config, folder)
        return Agent(tools.workshop, agent, config.artifact.include, tools.composer, tools.ledger)
    if tools is None or tools.models is None or name in ("tune", "mutate"):
        return _offline(name)
    return _asking(name, tools.models, tools.composer)


def _asking(name: str, models: Gateway, composer: Composer) -> Operator:
    from evolve.operators.edit import Edit
    from evolve.operators.explore import Explore
    from evolve.operators.fix import Fix
    from evolve.operators.recombine import Recombine
    from evolve.operators.rewrite import Rewrite
    from evolve.operators.simplify import Simplify

    made = {each.name: each for each in (Edit, Rewrite, Explore, Simplify, Fix, Recombine)}
    return made[name](models, composer)


def _offline(name: str) -> Operator:
    if name == "tune":
        from evolve.operators.tune import Tune

        return Tune()
    if name == "mutate":
        from evolve.operators.mutate import Mutate

        return Mutate()
    from evolve.operators.crossover import Crossover

    return Crossover()


def can_ask(config: Config) -> bool:
    """Whether a model can be asked."""
    pool = model_pool(config)
    known = config.models.recording is not None
    return bool(pool) and (known or no_model(pool, os.environ) is None)


def repairer_for(models: Gateway, composer: Composer) -> Repairer:
    """Who carries over stale changes that a merge cannot."""
    from evolve.operators.repair import Repair

    return Repair(models, composer)


def policies_for(config: Config) -> Mapping[str, Policy]:
    """The policies among which each proposal's parent is chosen."""
    known: dict[str, Policy] = {
        p.name: p for p in (QualityDiversityPolicy(), ChampionPolicy(), IndependentPolicy())
    }
    if config.search.policy == "adaptive":
        return {name: known[name] for name in ("qd", "champion")}
    return {config.search.policy: known[config.search.policy]}
