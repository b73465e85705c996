"""Which operators and policies a campaign has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from archives.errors import ConfigError
from archives.repository import Repository
from evolve.config import Config
from evolve.operators.base import Operator
from evolve.policies.base import Policy
from evolve.policies.champion import ChampionPolicy
from evolve.policies.independent import IndependentPolicy
from evolve.policies.qd import QualityDiversityPolicy


def operators_for(
    config: Config, folder: Path, repository: Repository, paths: Sequence[str]
) -> dict[str, Operator]:
    """The operators that can work here: the named ones, or all that can.

    Args:
        config: The campaign's configuration.
        folder: Folder of the configuration.
        repository: The user's repository.
        paths: Files that may change.

    Raises:
        ConfigError: A named operator cannot work here.
    """
    named = config.operators.shares()
    found: dict[str, Operator] = {}
    for name in named or ("tune", "mutate", "crossover", "edit"):
        reason = unavailable(name, config, paths)
        if reason is None:
            found[name] = _make(name, config, folder, repository)
        elif named:
            raise ConfigError(f"operators.{name}: {reason}")
    if set(found) <= {"crossover"}:
        raise ConfigError(
            "no operator can change these files: none has numbers to tune, none is Python, and no model is configured"
        )
    return found


def unavailable(name: str, config: Config, paths: Sequence[str]) -> str | None:
    """Why an operator cannot work on these files here, None if it can."""
    if name == "edit":
        from evolve.models import unavailable as no_model

        return no_model(model_specs(config))
    if name in ("tune", "mutate") and not _offline(name).handles(paths):
        return "none of the files that may change is of a kind it can work on"
    return None


def _offline(name: str) -> Operator:
    if name == "tune":
        from evolve.operators.tune import Tune

        return Tune()
    if name == "mutate":
        from evolve.operators.mutate import Mutate

        return Mutate()
    from evolve.operators.crossover import Crossover

    return Crossover()


def _make(name: str, config: Config, folder: Path, repository: Repository) -> Operator:
    if name == "patches" and config.operators.patches is not None:
        from evolve.operators.patches import Patches

        return Patches(folder, config.operators.patches.folder, config.operators.patches.branches)
    if name == "edit":
        from evolve.operators.edit import Edit

        return Edit(model_specs(config), config.campaign.seed)
    return _offline(name)


def policies_for(config: Config) -> Mapping[str, Policy]:
    """The policies among which each proposal's parent is chosen."""
    known: dict[str, Policy] = {p.name: p for p in (QualityDiversityPolicy(), ChampionPolicy(), IndependentPolicy())}
    if config.search.policy == "adaptive":
        return {name: known[name] for name in ("qd", "champion")}
    return {config.search.policy: known[config.search.policy]}
