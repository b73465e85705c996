"""Which operators and policies a campaign has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archives.errors import ConfigError
from evolve.config import Config
from evolve.models.spec import ModelSpec, default_pool
from evolve.models.spec import unavailable as no_model
from evolve.operators.agents import READY, program
from evolve.operators.base import Operator, Repairer
from evolve.policies.base import Policy
from evolve.policies.champion import ChampionPolicy
from evolve.policies.independent import IndependentPolicy
from evolve.policies.qd import QualityDiversityPolicy

if TYPE_CHECKING:
    from evolve.models import Gateway
    from evolve.workshop import AgentSpec, Workshop

OFFERED = ("tune", "mutate", "crossover", "edit")


def model_pool(config: Config) -> tuple[ModelSpec, ...]:
    """The models that may be asked: those of the configuration.

    Where none is configured but `edit` is asked for by name, a small one of a provider whose key is at
    hand. A key that merely lies in the environment never sends code anywhere.
    """
    configured = tuple(ModelSpec(**table.model_dump()) for table in config.models.pool)
    if configured or config.operators.edit is None:
        return configured
    return default_pool(os.environ)


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
    if set(found) <= {"crossover"} and not config.operators.manual:
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
    missing = [key for key in table.env if key not in os.environ]
    return f"set {missing[0]} in the environment" if missing else None


def _unavailable(name: str, config: Config, paths: Sequence[str]) -> str | None:
    if name == "agent":
        return _no_agent(config)
    if name == "edit":
        pool = model_pool(config)
        if not pool and config.operators.edit is None:
            return "no model is configured under [models]"
        return None if config.models.recording else no_model(pool, os.environ)
    if name in ("tune", "mutate") and not _offline(name).handles(paths):
        return "none of the files that may change is of a kind it can work on"
    return None


def operators_for(
    names: Sequence[str],
    config: Config,
    folder: Path,
    models: Gateway | None,
    workshop: Workshop | None = None,
) -> dict[str, Operator]:
    """The operators by name.

    Args:
        names: As `usable` gives them.
        config: The campaign's configuration.
        folder: Folder of the configuration.
        models: The gateway to the models, where "edit" is among the names.
        workshop: Where coding agents work, where "agent" is among the names.
    """
    return {name: _make(name, config, folder, models, workshop) for name in names}


def _make(
    name: str, config: Config, folder: Path, models: Gateway | None, workshop: Workshop | None
) -> Operator:
    if name == "agent" and workshop is not None:
        from evolve.operators.agent import Agent

        judged = config.evaluator
        agent = agent_spec(config, folder)
        return Agent(workshop, agent, config.artifact.include, judged.objective, judged.direction)
    if name == "patches" and config.operators.patches is not None:
        from evolve.operators.patches import Patches

        return Patches(folder, config.operators.patches.folder, config.operators.patches.branches)
    if name == "edit" and models is not None:
        from evolve.operators.edit import Edit

        return Edit(models, objective=config.evaluator.objective, direction=config.evaluator.direction)
    return _offline(name)


def _offline(name: str) -> Operator:
    if name == "tune":
        from evolve.operators.tune import Tune

        return Tune()
    if name == "mutate":
        from evolve.operators.mutate import Mutate

        return Mutate()
    from evolve.operators.crossover import Crossover

    return Crossover()


def repairs(config: Config) -> bool:
    """Whether a model can be asked about stale changes."""
    pool = model_pool(config)
    known = config.models.recording is not None
    return bool(pool) and (known or no_model(pool, os.environ) is None)


def repairer_for(config: Config, models: Gateway) -> Repairer:
    """Who carries over stale changes that a merge cannot."""
    from evolve.operators.repair import Repair

    return Repair(models, objective=config.evaluator.objective, direction=config.evaluator.direction)


def policies_for(config: Config) -> Mapping[str, Policy]:
    """The policies among which each proposal's parent is chosen."""
    known: dict[str, Policy] = {
        p.name: p for p in (QualityDiversityPolicy(), ChampionPolicy(), IndependentPolicy())
    }
    if config.search.policy == "adaptive":
        return {name: known[name] for name in ("qd", "champion")}
    return {config.search.policy: known[config.search.policy]}
