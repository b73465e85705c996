"""Where things live: every path of a campaign is derived here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder of one campaign."""

    home: Path

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self.home.name

    @property
    def database(self) -> Path:
        """The journal."""
        return self.home / "campaign.db"

    @property
    def store(self) -> Path:
        """The bare Git store of candidates."""
        return self.home / "store.git"

    @property
    def checkouts(self) -> Path:
        """Folders in which candidates are judged."""
        return self.home / "checkouts"

    @property
    def scratch(self) -> Path:
        """Folders evaluations may write to."""
        return self.home / "scratch"

    @property
    def prepared(self) -> Path:
        """The checkout in which the evaluator's set-up was run."""
        return self.home / "prepared" / "slot-000"

    @property
    def agents(self) -> Path:
        """Where coding agents work, and their logs."""
        return self.home / "agents"

    @property
    def learned(self) -> Path:
        """What operators have learned, so that a resumed run need not work it out again."""
        return self.home / "learned"

    @property
    def inbox(self) -> Path:
        """Folder of the requests to the orchestrator."""
        return self.home / "inbox"

    @property
    def log(self) -> Path:
        """What an orchestrator in the background prints."""
        return self.home / "logs" / "run.log"

    @property
    def lock(self) -> Path:
        """File that the orchestrator holds locked while it lives."""
        return self.home / "lock"


def campaigns_folder(common_dir: Path, home: Path | None) -> Path:
    """Folder that holds the campaigns of a repository.

    Args:
        common_dir: Git's common folder of the repository.
        home: Folder the user chose with `--home` or EVOLVE_HOME, if any.
    """
    return home.absolute() if home is not None else common_dir / "evolve"
