"""A campaign as an object: run it, look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archives.reader import Reader
from evolve.layout import Layout
from evolve.ownership import owner

if TYPE_CHECKING:
    from archives.repository import Repository
    from archives.store import Store
    from evolve.answers import Lineage, Show
    from evolve.config import Config
    from evolve.engine import Ending

Listener = Callable[[str, Any], None]


class Campaign:
    """One campaign of one repository.

    Attributes:
        repository: The user's repository.
        layout: Paths of the campaign.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        started_in: Working tree it was started in.
        accept_evaluator: Whether the next run takes an evaluator that has changed as a new version of it.
    """

    def __init__(
        self,
        repository: Repository,
        layout: Layout,
        config: Config | Mapping[str, Any],
        prefix: str,
        started_in: Path | None = None,
        accept_evaluator: bool = False,
    ) -> None:
        self.accept_evaluator = accept_evaluator
        self.started_in = started_in or repository.root.resolve()
        self.repository = repository
        self.layout = layout
        self._config = config
        self.prefix = prefix

    @property
    def config(self) -> Config:
        """Its configuration, as the journal holds it; read when it is first asked for.

        Raises:
            ConfigError: The journal holds one that this program cannot read.
        """
        if isinstance(self._config, Mapping):
            from evolve.config import parse

            self._config = parse(self._config, "its journal")
        return self._config

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
        from archives.store import Store

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
            return show(reader, resolve(reader, candidate), self.owner() is not None)

    def lineage(self, candidate: str | None = None) -> Lineage:
        """Ancestry of a candidate, or of all.

        Args:
            candidate: As for `show`; None for the whole campaign.
        """
        from evolve.answering import lineage, resolve

        with self.reader() as reader:
            id = None if candidate is None else resolve(reader, candidate).id
            return lineage(reader, id, self.owner() is not None)


def _nobody(kind: str, what: Any) -> None:
    """Listens to nothing."""
