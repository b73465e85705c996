"""Creating a campaign: whole or not at all, with everything in its journal that the journal has to know."""

from __future__ import annotations

import errno
import tempfile
import time
from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from archives.journal import Journal
from archives.measures import builtin
from archives.records import Candidate, Champion, Event, Setting
from archives.repository import Repository
from archives.store import Store
from evolve.campaign import Campaign
from evolve.config import Config
from evolve.layout import Layout, campaigns_folder
from evolve.removal import remove_tree
from evolve.territory import editable, survey


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
    _make_folder(folder)
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


def try_folder(folder: Path) -> None:
    """Check that campaigns could be kept in a folder, which need not exist, and leave nothing there.

    Raises:
        ConfigError: They could not.
    """
    there = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        Path(tempfile.mkdtemp(prefix=".evolve-", dir=there)).rmdir()
    except OSError as error:
        raise ConfigError(_no_room(folder, error)) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(_no_room(folder, error)) from None


def _no_room(folder: Path, error: OSError) -> str:
    return (
        f"no campaign can be kept in {folder} ({error.strerror}); name a folder that can be written to by "
        "--home or EVOLVE_HOME"
    )


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
        "staleness": config.search.staleness,
    }
