"""Versions of the judge: what happens when the evaluator, the holdout or the measures are others from now on.

Results are compared with one another, so they must come from one judge. A new evaluator is a new version:
what earlier ones said stays in the journal, but nothing is concluded from it any more
(`archives.reader.BELIEVED`). What they said well of, the champion and what the archive holds, are *claims*:
they are judged again before anything is proposed, and the archive is rebuilt from what comes of it
(`evolve.stages.renew`). The same is done where the holdout changes, for what it said of the champion, and
where the archive gets a measure that elites have not reported.

Candidates are trees, and hold the evaluator of the base. A later version is laid over each of them in the
checkout it is judged in; what is exported is the candidate's tree, for the user has the new evaluator.

All that a change means is one transaction, so a killed command has accepted it or has not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from archives.journal import Journal
from archives.reader import Reader
from archives.records import Event, Record, Setting
from archives.store import Store
from evolve import readymade
from evolve.campaign import Campaign
from evolve.claims import CLAIMS, claims_of, next_seed
from evolve.config import Config, parse
from evolve.creation import changeable_facts
from evolve.derived import look
from evolve.globs import matcher
from evolve.judging import judging_files
from evolve.pins import Pins
from evolve.territory import editable, evaluator_words, survey

VERSION = "evaluator_version"
HOLDOUT_SINCE = "holdout_since"
OVERLAY = "overlay"


@dataclass(frozen=True, slots=True)
class Overlay:
    """Files of a later evaluator, laid over every tree that is judged.

    Attributes:
        tree: Tree of the base with these files as they are now.
        files: New bytes by path; None where the file is gone.
    """

    tree: str
    files: Mapping[str, bytes | None]


def overlay_of(store: Store, reader: Reader) -> Overlay | None:
    """What is laid over candidates; None while the base's own evaluator judges."""
    said = reader.setting(OVERLAY)
    if said is None:
        return None
    return Overlay(said["tree"], {path: store.read(said["tree"], path) for path in said["paths"]})


def judged_files(campaign: Campaign, tree: str, config: Config | None = None) -> dict[str, Path]:
    """Where the evaluator's files of a tree are in the user's working tree, by the name they are known by."""
    config, store = config or campaign.config, campaign.store
    paths = [entry.path for entry in store.files(tree)]
    may_change = editable(config, paths, campaign.prefix)
    known = frozenset(paths)
    read: Callable[[str], bytes | None] = lambda path: store.read(tree, path) if path in known else None  # noqa: E731
    found = judging_files(evaluator_words(config), known, read, campaign.prefix, may_change)
    of_suite = readymade.protects(config.evaluator, campaign.prefix)
    wanted = dict.fromkeys([*found, *(path for path in paths if of_suite(path))])
    return {path: campaign.repository.root / path for path in wanted}


def take_up(campaign: Campaign, journal: Journal, accept: bool) -> list[str]:
    """Take up what has changed since the last run, before anything else is done.

    Args:
        campaign: The campaign under today's configuration, owned by this process.
        journal: Its journal.
        accept: Whether an evaluator that has changed is the judge from now on.

    Returns:
        What was taken up, one line each.

    Raises:
        ConfigError: It cannot be.
    """
    with campaign.reader() as reader:
        before = parse(reader.setting("config"), "its journal")
        records: list[Record] = []
        if accept and _another_evaluator(campaign, reader, before):
            records += _next_version(campaign, reader)
        elif before.archive.measures != campaign.config.archive.measures:
            records += _unmeasured(campaign, reader)
        if before.holdout != campaign.config.holdout:
            records += _next_holdout(campaign, reader)
    if records:
        facts = changeable_facts(campaign.config)
        del facts["budget"]
        journal.write(*records, *(Setting(name, value) for name, value in facts.items()))
    return [record.text for record in records if isinstance(record, Event)]


def _another_evaluator(campaign: Campaign, reader: Reader, before: Config) -> bool:
    pinned = reader.setting("pins")
    if pinned is None:
        return False
    overlay = reader.setting(OVERLAY)
    places = pinned_places(campaign, before, overlay["tree"] if overlay else reader.setting("base"))
    return before.evaluator.rules() != campaign.config.evaluator.rules() or bool(
        Pins.said(pinned, places).changed()
    )


def pinned_places(campaign: Campaign, config: Config, tree: str) -> dict[str, Path]:
    """Where all is that judges, what the set-up made left out, by the names it is pinned under."""
    data = {path: campaign.folder / path for path in config.evaluator.data}
    return judged_files(campaign, tree, config) | data


def _next_version(campaign: Campaign, reader: Reader) -> list[Record]:
    version = reader.setting(VERSION, 1) + 1
    base = reader.setting("base")
    overlay = _working_overlay(campaign, reader, base)
    if overlay is not None:
        said = f"Evaluator version {version}\n"
        when, parents = reader.setting("base_time"), [reader.setting("base_commit")]
        campaign.store.commit(overlay["tree"], parents, said, when, namespace="evaluators")
    population = look(reader)
    held = {entry.candidate for entries in population.grid.cells().values() for entry in entries}
    champion = population.champions[-1].candidate
    held |= {champion, *(claim["candidate"] for claim in claims_of(reader))} - {base}
    numbers = {id: population.candidates[id].number for id in held - {base}}
    # The champion first, for everything is compared with it; then the oldest claims.
    order = sorted(numbers, key=lambda id: (id != champion, numbers[id]))
    words = f"evaluator version {version}; {len(order)} candidates are judged again before they are believed"
    facts: dict[str, Any] = {
        VERSION: version,
        OVERLAY: overlay,
        CLAIMS: [{"candidate": id} for id in order],
        "pins": None,
        "provided": None,
        "rule": None,
        "noise": 0.0,
        "depth": campaign.config.archive.depth or 1,
        "decided_before": reader.counts().last_decision,
        "admitted_before": max((one.admitted or 0 for one in reader.proposals("done")), default=0),
        "summary": None,
    }
    return [Event("evaluator", words), *(Setting(name, value) for name, value in facts.items())]


def _working_overlay(campaign: Campaign, reader: Reader, base: str) -> dict[str, Any] | None:
    """The evaluator's files of the working tree, as far as they differ from the base's."""
    store, root, config = campaign.store, campaign.repository.root, campaign.config
    paths = [entry.path for entry in store.files(base)]
    survey(config, paths, campaign.prefix, campaign.folder, reader.setting("base_commit"))

    def read(path: str) -> bytes | None:
        place = root / path
        if place.is_symlink() or not place.is_file():
            return None
        return place.read_bytes()

    may_change = editable(config, paths, campaign.prefix)
    now = judging_files(evaluator_words(config), frozenset(paths), read, campaign.prefix, may_change)
    overlay = reader.setting(OVERLAY)
    then = judged_files(campaign, overlay["tree"] if overlay else base)
    changes = {path: content for path in {*now, *then} if (content := read(path)) != store.read(base, path)}
    if not changes:
        return None
    return {"tree": store.write_tree(base, changes), "paths": sorted(changes)}


def _next_holdout(campaign: Campaign, reader: Reader) -> list[Record]:
    config, base = campaign.config, reader.setting("base")
    paths = [entry.path for entry in campaign.store.files(base)]
    survey(config, paths, campaign.prefix, campaign.folder, reader.setting("base_commit"))
    hidden = matcher(config.holdout.files, campaign.prefix)
    if config.holdout.files:
        for candidate in reader.candidates():
            if taken := [path for path in candidate.changed if hidden(path)]:
                raise ConfigError(
                    f"holdout.files: {taken[0]} was changed by candidate {candidate.id[:10]}, so it is no "
                    "holdout; hold out other files, or start a campaign with another name"
                )
    words = "another holdout; what the last one said of the champion is not believed"
    return [Event("evaluator", words), Setting(HOLDOUT_SINCE, reader.last_evaluation())]


def _unmeasured(campaign: Campaign, reader: Reader) -> list[Record]:
    """Claims for what the archive holds and has not reported a measure that is an axis now."""
    names = {measure.name for measure in campaign.config.archive.measures}
    population, base = look(reader), reader.setting("base")
    held = {entry.candidate for entries in population.grid.cells().values() for entry in entries}
    held = {one for one in (*held, population.champions[-1].candidate) if one != base}
    without = [id for id in held if not names <= reader.measures(id).keys()]
    known = claims_of(reader)
    if not without:
        return []
    without.sort(key=lambda id: population.candidates[id].number)
    claims = [{"candidate": id, "seed": next_seed(reader, id)} for id in without]
    words = f"other measures; {len(without)} elites that have not reported them are judged again"
    return [Event("evaluator", words), Setting(CLAIMS, [*known, *claims])]
