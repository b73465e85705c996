"""A recorded campaign, run again without asking any model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from archives.reader import Reader
from evolve.campaign import Campaign
from evolve.config import BudgetTable, Config
from evolve.lookup import list_campaigns, open_campaign, renamed
from evolve.tables.proposing import ModelTable


def replay(start: Path, recorded: str, name: str | None = None, home: Path | None = None) -> Campaign:
    """The campaign that gives a recorded one's replies again, created if it does not exist.

    It has the configuration and the base of the recorded one, whatever `evolve.toml` says today.

    Args:
        start: A folder in the repository.
        recorded: Name of the recorded campaign.
        name: Name of the new one; default: the recorded one's and "-again".
        home: Folder of the campaigns, if it is not in the repository.

    Raises:
        ConfigError: The recorded campaign asked no model.
        EvolveError: There is none of that name.
    """
    from evolve.creation import create_campaign

    source = open_campaign(start, recorded, home)
    wanted = name or f"{source.name}-again"
    for existing in list_campaigns(start, home):
        if existing.name == wanted:
            return existing
    with source.reader() as reader:
        config = renamed(_config(source, reader), wanted)
    return create_campaign(start, config, home, source.prefix)


def _config(source: Campaign, reader: Reader) -> Config:
    config = source.config
    asked = sorted({cost.model for cost in reader.costs() if cost.stage != "agent"})
    if not asked:
        raise ConfigError(f"campaign {source.name} asked no model, so there is nothing to give again")
    # Without a pool the model was chosen by a key in the environment, which need not be there today.
    pool = config.models.pool or [ModelTable(model=model) for model in asked]
    models = config.models.model_copy(update={"pool": pool, "recording": str(source.home)})
    campaign = config.campaign.model_copy(update={"base": reader.setting("base_commit")})
    limits = {name: limit if name in ("wall", "usd") else int(limit) for name, limit in _limits(reader)}
    tables = {"models": models, "campaign": campaign, "budget": BudgetTable(**limits)}
    return config.model_copy(update=tables)


def _limits(reader: Reader) -> Iterable[tuple[str, Any]]:
    """The limits that held in the end, with what was added to them."""
    return dict(reader.setting("budget")).items()
