"""Search and self-improvement over Git repositories.

    campaign = evolve.create("path/to/repository", config)   # or evolve.open("path/to/repository")
    ending = campaign.run_sync()
    print(campaign.best().score, campaign.lineage())

What is imported here is imported when it is used, so that `import evolve` costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archives.errors import (
    CampaignBusy,
    ConfigError,
    EvaluatorError,
    EvolveError,
    JournalError,
    ModelError,
    RepositoryError,
    StoreError,
)

if TYPE_CHECKING:
    from evolve.campaign import Campaign, Listener
    from evolve.engine import Ending

__all__ = [
    "CampaignBusy",
    "ConfigError",
    "EvaluatorError",
    "EvolveError",
    "JournalError",
    "ModelError",
    "RepositoryError",
    "StoreError",
    "create",
    "open",
    "run_sync",
]


def create(
    repository: str | Path, config: Mapping[str, Any] | str | Path, *, home: str | Path | None = None
) -> Campaign:
    """Create a campaign.

    Args:
        repository: A folder in the Git repository to improve.
        config: The tables of `evolve.toml` as nested mappings, or the path of such a file.
        home: Folder for the campaign, instead of one inside the repository's `.git`.

    Raises:
        ConfigError: The configuration is wrong, does not fit the repository, or the campaign exists.
        RepositoryError: The repository cannot be used.
    """
    from evolve import config as configuration
    from evolve.creation import create_campaign

    start = Path(repository)
    loaded = (
        configuration.parse(config, "config")
        if isinstance(config, Mapping)
        else configuration.load(Path(config))
    )
    return create_campaign(start, loaded, None if home is None else Path(home))


def open(repository: str | Path, name: str | None = None, *, home: str | Path | None = None) -> Campaign:
    """Open an existing campaign, running or not.

    Args:
        repository: A folder in the Git repository.
        name: The campaign's name; the newest one if None.
        home: Folder of the campaign, where it is not in the repository.

    Raises:
        EvolveError: There is none.
    """
    from evolve.lookup import open_campaign

    return open_campaign(Path(repository), name, None if home is None else Path(home))


def run_sync(campaign: Campaign, listener: Listener | None = None) -> Ending:
    """Run a campaign from a program that does not use trio; returns how it ended.

    Args:
        campaign: From `create` or `open`.
        listener: Called with a kind and what happened.

    Raises:
        CampaignBusy: Another process runs it.
        EvolveError: The base cannot be judged, or a part of the machine failed.
    """
    return campaign.run_sync(listener)
