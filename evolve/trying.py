"""What a model's reply would change, tried in a store of its own that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from archives.beside import beside
from archives.errors import StoreError
from archives.reader import Reader
from archives.records import Candidate
from archives.store import Store
from evolve.answers import ReplyProblem, TriedReply
from evolve.campaign import Campaign
from evolve.likeness import Likenesses
from evolve.operators.base import Order, Source
from evolve.operators.conversation import outcome_of, read, title
from evolve.operators.replies import ReplyError
from evolve.territory import editable


@contextmanager
def campaign_or_draft(start: Path, name: str | None, home: Path | None) -> Iterator[Campaign]:
    """The campaign that is there, or one made from evolve.toml that is gone afterwards.

    Raises:
        EvolveError: There is neither, or the configuration is wrong.
    """
    from evolve.lookup import list_campaigns, open_campaign

    if name is not None or list_campaigns(start, home):
        yield open_campaign(start, name, home)
        return
    from archives.repository import Repository
    from evolve import config as configuration
    from evolve.creation import create_campaign
    from evolve.lookup import locate

    path, prefix = locate(start, Repository.find(start))
    with tempfile.TemporaryDirectory(prefix="evolve-try-") as folder:
        yield create_campaign(start, configuration.load(path), Path(folder), prefix)


def try_reply(
    campaign: Campaign, reader: Reader, parent: Candidate, text: str, finish_reason: str = "stop"
) -> TriedReply:
    """What a reply would change.

    Args:
        campaign: The campaign; nothing is written to it.
        reader: Its journal.
        parent: Candidate that the reply was made for.
        text: The reply.
        finish_reason: Why the model stopped.
    """
    base = reader.candidate(reader.setting("base")) or parent
    paths = [entry.path for entry in campaign.store.files(base.id)]
    may_change = editable(campaign.config, paths, campaign.prefix)
    with tempfile.TemporaryDirectory(prefix="evolve-try-") as folder:
        store = beside(campaign.store, Path(folder) / "store.git")
        order = Order(number=0, seed=0, parent=parent, base=base)
        try:
            parsed, changes = read(text, finish_reason, order, Source(store, may_change))
            tree = store.write_tree(parent.id, changes)
        except ReplyError as error:
            problems = [
                ReplyProblem(path=each.path, reason=each.reason, text=each.text) for each in error.problems
            ]
            return _answer(parent, outcome_of(error), str(error), problems=problems)
        except StoreError as error:
            return _answer(parent, "failed", str(error))
        outcome, reason, known = _standing(campaign, store, reader, base, parent, tree)
        return _answer(
            parent,
            outcome,
            reason,
            candidate=known,
            summary=title(parsed, changes),
            changed=list(store.changed_paths(parent.id, tree)),
            diff=store.diff(parent.id, tree).encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        )


def _standing(
    campaign: Campaign, store: Store, reader: Reader, base: Candidate, parent: Candidate, tree: str
) -> tuple[str, str | None, str | None]:
    """Whether a tree is new, as outcome, reason and the candidate that it is if it is not."""
    if reader.candidate(tree) is not None:
        return "duplicate", f"the same tree as candidate {tree[:10]}", tree
    if campaign.config.search.near_duplicates == "skip":
        likenesses = Likenesses(store, base.id)
        likenesses.see((base.id, parent.id))
        if (known := likenesses.first(likenesses.of(tree))) is not None:
            reason = f"the same program as candidate {known[:10]}, only written differently"
            return "duplicate", reason, known
    return "candidate", None, None


def _answer(
    parent: Candidate,
    outcome: str,
    reason: str | None,
    *,
    problems: list[ReplyProblem] | None = None,
    candidate: str | None = None,
    summary: str = "",
    changed: list[str] | None = None,
    diff: str = "",
) -> TriedReply:
    return TriedReply(
        parent=parent.id,
        usable=outcome == "candidate",
        outcome=outcome,
        reason=reason,
        problems=problems or [],
        candidate=candidate,
        summary=summary,
        changed=changed or [],
        diff=diff,
    )
