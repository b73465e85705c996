"""A campaign as an object: find one, create one, run it, look at it."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archives.errors import ConfigError, EvolveError
from archives.journal import Journal
from archives.measures import builtin
from archives.reader import Reader
from archives.records import Candidate, Champion, Event, Setting
from archives.repository import Repository
from archives.store import Store
from evolve import config as configuration
from evolve.config import Config
from evolve.layout import Layout, campaigns_folder
from evolve.ownership import owner
from evolve.removal import remove_tree
from evolve.territory import editable, survey

if TYPE_CHECKING:
    from evolve.answers import Lineage, Show
    from evolve.engine import Ending

Listener = Callable[[str, Any], None]

# What decides what a result means; the rest of evolve.toml may change between two runs.
IDENTITY = ("artifact", "evaluator", "holdout", "promotion")


class Campaign:
    """One campaign of one repository.

    Attributes:
        repository: The user's repository.
        layout: Paths of the campaign.
        config: Its configuration, as the journal holds it.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        started_in: Working tree it was started in.
    """

    def __init__(
        self,
        repository: Repository,
        layout: Layout,
        config: Config,
        prefix: str,
        started_in: Path | None = None,
    ) -> None:
        self.started_in = started_in or repository.root.resolve()
        self.repository = repository
        self.layout = layout
        self.config = config
        self.prefix = prefix

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return self.layout.name

    @property
    def home(self) -> Path:
        """Folder of the campaign."""
        return self.layout.home

    @property
    def folder(self) -> Path:
        """Folder of the configuration in the user's working tree."""
        return self.repository.root / self.prefix

    @property
    def store(self) -> Store:
        """The Git store of the candidates."""
        return Store(self.layout.store)

    def reader(self) -> Reader:
        """A read-only view of the journal; close it after use."""
        return Reader(self.layout.database)

    def owner(self) -> int | None:
        """Process number of the living orchestrator, None if there is none."""
        return owner(self.layout.lock)

    async def run(self, listener: Listener | None = None) -> Ending:
        """Run, or go on, until a budget is used up; call it from trio.

        Args:
            listener: Called with a kind ("champion", "evaluation", "proposal", …) and what happened.

        Returns:
            How it ended.

        Raises:
            CampaignBusy: Another process runs it.
            EvolveError: The base cannot be judged, or a part of the machine failed.
        """
        from evolve.engine import run_campaign

        return await run_campaign(self, listener or _nobody)

    def run_sync(self, listener: Listener | None = None) -> Ending:
        """Like `run`, for programs without trio."""
        import trio

        return trio.run(self.run, listener)

    def best(self) -> Show:
        """The champion with its score and the evidence for it."""
        return self.show("best")

    def show(self, candidate: str) -> Show:
        """What is known of one candidate.

        Args:
            candidate: Id or commit, the beginning of one, or "base" or "best".
        """
        from evolve.answering import resolve, show

        with self.reader() as reader:
            return show(reader, resolve(reader, candidate))

    def lineage(self, candidate: str | None = None) -> Lineage:
        """Ancestry of a candidate, or of all.

        Args:
            candidate: As for `show`; None for the whole campaign.
        """
        from evolve.answering import lineage, resolve

        with self.reader() as reader:
            return lineage(reader, None if candidate is None else resolve(reader, candidate).id)


def _nobody(kind: str, what: Any) -> None:
    """Listens to nothing."""


def find_config(start: Path, root: Path) -> Path:
    """The nearest evolve.toml from a folder up to the repository's root.

    Raises:
        ConfigError: There is none.
    """
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


def create_campaign(start: Path, config: Config, home: Path | None = None, prefix: str = "") -> Campaign:
    """Create a campaign whose base is the commit that the configuration names.

    It appears whole or not at all: it is made under another name and then renamed.

    Raises:
        ConfigError: The configuration does not fit the repository, or the campaign exists.
        RepositoryError: The repository cannot be used.
    """
    repository = Repository.find(start)
    base = repository.resolve(config.campaign.base)
    folder = campaigns_folder(repository.common_dir, home)
    layout = Layout(folder / (config.campaign.name or default_name(repository, prefix)))
    if layout.home.exists():
        raise ConfigError(_taken(layout))
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(folder, layout.name)
    draft = Layout(Path(tempfile.mkdtemp(prefix=f".{layout.name}.", dir=folder)) / layout.name)
    try:
        draft.home.mkdir()
        store = Store.create(draft.store, repository.common_dir, base)
        paths = [entry.path for entry in store.files(store.tree_of(base))]
        survey(config, paths, prefix, repository.root / prefix, base)
        _first_records(draft, store, repository, config, base, prefix, paths)
        draft.home.rename(layout.home)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise ConfigError(_taken(layout)) from None
        raise
    finally:
        remove_tree(draft.home.parent)
    return Campaign(repository, layout, config, prefix)


def _taken(layout: Layout) -> str:
    where = layout.home.parent
    if not (layout.database.is_file() and layout.store.is_dir()):
        return f"{layout.home} is a damaged campaign; `evolve remove --campaign {layout.name}` removes it"
    return f"campaign {layout.name} exists in {where}; run it, or choose another campaign.name"


def _sweep(folder: Path, name: str) -> None:
    """Remove what a killed creation left behind."""
    for left in folder.glob(f".{name}.*"):
        if time.time() - left.stat().st_mtime > 3600:
            remove_tree(left)


def default_name(repository: Repository, prefix: str) -> str:
    """A name made of the folder's name, with what a name may not hold replaced."""
    folder = (repository.root / prefix).name
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in folder).strip("-._")
    return kept[:60] or "campaign"


def _first_records(
    layout: Layout,
    store: Store,
    repository: Repository,
    config: Config,
    base: str,
    prefix: str,
    paths: list[str],
) -> None:
    tree = store.tree_of(base)
    candidate = Candidate(
        id=tree,
        commit=base,
        number=0,
        parents=(),
        proposal=0,
        operator="base",
        summary="the base",
        measures=builtin(store, tree, tree, tree, editable(config, paths, prefix)),
    )
    facts = {
        "campaign": config.campaign.name or default_name(repository, prefix),
        "created": time.time(),
        "repository": str(repository.root),
        "prefix": prefix,
        "base": tree,
        "base_commit": base,
        "base_time": store.time_of(base),
        "depth": config.archive.depth or 1,
        "state": "stopped",
        "reason": "not started yet",
        **changeable_facts(config),
    }
    journal = Journal.create(layout.database)
    try:
        journal.write(
            candidate,
            Champion(0, tree),
            Event("created", f"campaign on {base[:10]}"),
            *(Setting(name, value) for name, value in facts.items()),
        )
    finally:
        journal.close()
    store.move_champion(base, None)


def changeable_facts(config: Config) -> dict[str, Any]:
    """Settings that follow from the configuration, written again when it changes."""
    from archives.measures import DEFAULT_AXES

    axes = [m.model_dump() for m in config.archive.measures] or [
        {"name": a.name, "bins": a.bins, "low": a.low, "high": a.high, "values": a.values}
        for a in DEFAULT_AXES
    ]
    return {
        "config": config.model_dump(mode="json", exclude_unset=True),
        "direction": config.evaluator.direction,
        "objective": config.evaluator.objective,
        "axes": axes,
        "budget": config.budget.limits(),
    }


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


def _opened(repository: Repository, layout: Layout) -> tuple[float, Campaign]:
    if not layout.database.is_file():
        raise EvolveError("it has no campaign.db")
    if not layout.store.is_dir():
        raise EvolveError("it has no store.git")
    with Reader(layout.database) as reader:
        facts = reader.settings()
    if missing := {"config", "created", "prefix", "repository"} - facts.keys():
        raise EvolveError(f"its journal does not tell its {min(missing)}")
    config = configuration.parse(facts["config"], "its journal")
    started_in = Path(facts["repository"]).resolve()
    return facts["created"], Campaign(repository, layout, config, facts["prefix"], started_in)


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
    repository = Repository.find(start)
    path, prefix = locate(start, repository)
    config = configuration.load(path)
    if name is not None:
        config = renamed(config, name)
    wanted = config.campaign.name or default_name(repository, prefix)
    if (campaign := _named(wanted, start, home)) is not None:
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
    if not re.fullmatch(configuration.NAME, name):
        raise ConfigError(f"--campaign {name!r}: use letters, digits, '.', '_' and '-', at most 60")
    table = config.campaign.model_copy(update={"name": name})
    return config.model_copy(update={"campaign": table})


def _named(name: str, start: Path, home: Path | None) -> Campaign | None:
    return next((one for one in list_campaigns(start, home) if one.name == name), None)


def _continue(campaign: Campaign, config: Config) -> Campaign:
    """The existing campaign under today's evolve.toml."""
    old, new = campaign.config, config
    changed = [table for table in IDENTITY if getattr(old, table) != getattr(new, table)]
    if old.campaign.seed != new.campaign.seed:
        changed.append("campaign.seed")
    if changed:
        raise ConfigError(
            f"evolve.toml: {changed[0]} has changed since campaign {campaign.name} began; its results "
            "could not be compared; change it back, or give the new campaign another campaign.name"
        )
    return Campaign(campaign.repository, campaign.layout, new, campaign.prefix)


def reopen(start: Path, name: str | None = None, home: Path | None = None) -> Campaign:
    """An existing campaign to go on with, under today's evolve.toml where that still describes it."""
    campaign = open_campaign(start, name, home)
    path = campaign.folder / configuration.FILE_NAME
    if not path.is_file():
        return campaign
    config = configuration.load(path)
    named = config.campaign.name or default_name(campaign.repository, campaign.prefix)
    return _continue(campaign, config) if named == campaign.name else campaign
