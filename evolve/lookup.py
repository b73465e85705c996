"""Finding campaigns: the configuration of a folder, the campaigns of a repository, the one to run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archives.errors import ConfigError, EvolveError
from archives.reader import Reader, is_older
from archives.repository import Repository
from evolve.campaign import Campaign
from evolve.layout import Layout, campaigns_folder
from evolve.ownership import own
from evolve.tables.base import NAME

if TYPE_CHECKING:
    from evolve.config import Config

# What decides what a result means; the rest of evolve.toml may change between two runs.
IDENTITY = ("artifact", "evaluator", "promotion")


def find_config(start: Path, root: Path) -> Path:
    """The nearest evolve.toml from a folder up to the repository's root.

    Raises:
        ConfigError: There is none.
    """
    from evolve import config as configuration

    folder = start.resolve()
    for place in [folder, *folder.parents]:
        if (place / configuration.FILE_NAME).is_file():
            return place / configuration.FILE_NAME
        if place == root.resolve():
            break
    raise ConfigError(f"no {configuration.FILE_NAME} in {folder} or above it; `evolve init` writes one")


def locate(start: Path, repository: Repository) -> tuple[Path, str]:
    """The configuration file that holds for a folder, and its folder inside the repository ("" or "…/")."""
    path = find_config(start, repository.root)
    prefix = os.path.relpath(path.parent.resolve(), repository.root.resolve()).replace(os.sep, "/")
    return path, "" if prefix == "." else prefix + "/"


def open_campaign(start: Path, name: str | None = None, home: Path | None = None) -> Campaign:
    """Open an existing campaign.

    Args:
        start: A folder in the repository.
        name: Its name; the newest one if None.
        home: Folder of the campaigns, if it is not in the repository.

    Raises:
        EvolveError: There is none.
    """
    found, damaged = survey_campaigns(start, home)
    for one in damaged:
        if one.name == name:
            raise EvolveError(
                f"campaign {one.name} in {one.home} is damaged: {one.reason}; "
                f"`evolve remove --campaign {one.name}` removes it"
            )
    if name is not None:
        found = [campaign for campaign in found if campaign.name == name]
    if not found and name is None and damaged:
        raise EvolveError(damaged[-1].reason)
    if not found:
        what = f"no campaign {name}" if name else "no campaign yet"
        raise EvolveError(f"{what} in this repository; `evolve run` starts one, `evolve list` shows all")
    return found[-1]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A campaign's folder that cannot be opened as a campaign."""

    name: str
    home: Path
    reason: str


def list_campaigns(start: Path, home: Path | None = None) -> list[Campaign]:
    """The campaigns of a repository that can be opened, oldest first."""
    return survey_campaigns(start, home)[0]


def survey_campaigns(start: Path, home: Path | None = None) -> tuple[list[Campaign], list[Damaged]]:
    """The campaigns of a repository, oldest first, and the folders that are damaged ones."""
    repository = Repository.find(start)
    folder = campaigns_folder(repository.common_dir, home)
    found: list[tuple[float, str, Campaign]] = []
    damaged: list[Damaged] = []
    for place in sorted(folder.iterdir()) if folder.is_dir() else []:
        if place.name.startswith(".") or not place.is_dir():
            continue
        try:
            created, campaign = _opened(repository, Layout(place))
        except EvolveError as error:
            if any((place / name).exists() for name in ("campaign.db", "store.git", "checkouts")):
                damaged.append(Damaged(place.name, place, str(error)))
            continue
        if home is None or campaign.started_in == repository.root.resolve():
            found.append((created, place.name, campaign))
    return [campaign for _, _, campaign in sorted(found, key=lambda item: item[:2])], damaged


def _bring_up_to_date(repository: Repository, home: Path | None) -> None:
    """Give the campaigns that an earlier version of the program wrote the schema of this one."""
    folder = campaigns_folder(repository.common_dir, home)
    for place in sorted(folder.iterdir()) if folder.is_dir() else []:
        layout = Layout(place)
        if layout.database.is_file() and is_older(layout.database):
            from archives.journal import Journal

            with own(layout.lock):
                Journal.open(layout.database).close()


def _opened(repository: Repository, layout: Layout) -> tuple[float, Campaign]:
    if not layout.database.is_file():
        raise EvolveError("it has no campaign.db")
    if not layout.store.is_dir():
        raise EvolveError("it has no store.git")
    with Reader(layout.database) as reader:
        facts = reader.settings()
    if missing := {"config", "created", "prefix", "repository"} - facts.keys():
        raise EvolveError(f"its journal does not tell its {min(missing)}")
    if not isinstance(facts["config"], dict):
        raise EvolveError("its journal holds no configuration")
    started_in = Path(facts["repository"]).resolve()
    return facts["created"], Campaign(repository, layout, facts["config"], facts["prefix"], started_in)


def layout_of(start: Path, name: str | None = None, home: Path | None = None) -> Layout:
    """Where a campaign is, even if it is damaged and cannot be opened."""
    for one in survey_campaigns(start, home)[1]:
        if one.name == name:
            return Layout(one.home)
    return open_campaign(start, name, home).layout


def prepare(start: Path, name: str | None = None, home: Path | None = None) -> Campaign:
    """The campaign that `evolve run` runs: the one evolve.toml describes, created if it does not exist.

    Raises:
        ConfigError: What results mean has changed since the campaign began.
    """
    from evolve import config as configuration
    from evolve.creation import create_campaign, default_name

    repository = Repository.find(start)
    _bring_up_to_date(repository, home)
    path, prefix = locate(start, repository)
    config = configuration.load(path)
    if name is not None:
        config = renamed(config, name)
    wanted = config.campaign.name or default_name(repository, prefix)
    if (campaign := _named(wanted, start, home)) is not None and not _given_up(campaign):
        return _continue(campaign, config)
    try:
        return create_campaign(start, config, home, prefix)
    except ConfigError:
        if (campaign := _named(wanted, start, home)) is None:
            raise
    return _continue(campaign, config)  # another command was faster


def renamed(config: Config, name: str) -> Config:
    """The configuration under another name.

    Raises:
        ConfigError: No campaign can be called so.
    """
    if not re.fullmatch(NAME, name):
        raise ConfigError(f"--campaign {name!r}: use letters, digits, '.', '_' and '-', at most 60")
    table = config.campaign.model_copy(update={"name": name})
    return config.model_copy(update={"campaign": table})


def _named(name: str, start: Path, home: Path | None) -> Campaign | None:
    return next((one for one in list_campaigns(start, home) if one.name == name), None)


def _given_up(campaign: Campaign) -> bool:
    """Remove a campaign whose base could not be judged: it begins anew, with what was corrected since."""
    with campaign.reader() as reader:
        counts = reader.counts()
    tried = counts.evaluations > 0 and "judged" not in counts.verdicts and not counts.proposals
    if not tried or campaign.owner() is not None:
        return False
    from evolve.removal import remove_tree

    with own(campaign.layout.lock):
        remove_tree(campaign.home)
    return True


def _continue(campaign: Campaign, config: Config, accept: bool = False) -> Campaign:
    """The existing campaign under today's evolve.toml."""
    from evolve.territory import require_patches

    old, new = campaign.config, config
    accepted = ("evaluator",) if accept else ()
    changed = [
        table for table in IDENTITY if table not in accepted and _rules(old, table) != _rules(new, table)
    ]
    if old.campaign.seed != new.campaign.seed:
        changed.append("campaign.seed")
    if changed:
        raise ConfigError(
            f"evolve.toml: {changed[0]} has changed since campaign {campaign.name} began; its results "
            f"could not be compared; change it back, {_ways_out(changed)}"
        )
    require_patches(new, campaign.folder)
    layout, prefix = campaign.layout, campaign.prefix
    return Campaign(campaign.repository, layout, new, prefix, accept_evaluator=accept)


def _rules(config: Config, table: str) -> Any:
    return config.evaluator.rules() if table == "evaluator" else getattr(config, table)


def _ways_out(changed: list[str]) -> str:
    another = "or give the new campaign another campaign.name"
    if changed == ["evaluator"]:
        return f"judge everything anew with it (`evolve resume --accept-evaluator`), {another}"
    return another


def reopen(
    start: Path, name: str | None = None, home: Path | None = None, accept_evaluator: bool = False
) -> Campaign:
    """An existing campaign to go on with, under today's evolve.toml where that still describes it.

    Args:
        start: A folder in the repository.
        name: Its name; the newest one if None.
        home: Folder of the campaigns, if it is not in the repository.
        accept_evaluator: Whether an evaluator that has changed judges from now on.
    """
    from evolve import config as configuration
    from evolve.creation import default_name

    _bring_up_to_date(Repository.find(start), home)
    campaign = open_campaign(start, name, home)
    campaign.accept_evaluator = accept_evaluator
    path = campaign.folder / configuration.FILE_NAME
    if not path.is_file():
        return campaign
    config = configuration.load(path)
    named = config.campaign.name or default_name(campaign.repository, campaign.prefix)
    return _continue(campaign, config, accept_evaluator) if named == campaign.name else campaign
