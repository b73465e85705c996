"""The judge of a campaign, made ready: the evaluator as configured, its set-up done once, its data pinned."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from archives.checkouts import Checkouts
from archives.errors import EvaluatorError
from archives.records import Setting
from evaluators.executors.base import Executor
from evaluators.executors.local import LocalExecutor
from evaluators.preparation import listed, run_setup
from evaluators.spec import EvaluatorSpec, Provided
from evolve import readymade
from evolve.bench import Bench
from evolve.campaign import Campaign
from evolve.config import Config
from evolve.foreign import entry_point, foreign
from evolve.globs import matcher
from evolve.pins import Pins
from evolve.territory import origin
from evolve.versions import judged_files, overlay_of, pinned_places
from evolve.workshop import Workshop


def evaluator_spec(campaign: Campaign) -> EvaluatorSpec:
    """The evaluator of a campaign as a runner needs it."""
    table = campaign.config.evaluator
    with campaign.reader() as reader:
        base = reader.setting("base")
    paths = [entry.path for entry in campaign.store.files(base)]
    return EvaluatorSpec(
        root=campaign.folder,
        command=table.command,
        argv=readymade.argv(table, campaign.prefix),
        function=table.function or entry_point(table),
        objective=table.objective,
        timeout=table.timeout,
        python=None if table.python is None else campaign.folder / table.python,
        env=tuple(table.env),
        data=tuple(table.data),
        network=table.network,
        memory=table.memory,
        cpus=table.cpus or (None if table.benchmark is None else 1),
        threads=table.threads,
        warm=table.warm,
        sandbox=table.sandbox,
        setup=table.setup,
        hide=(campaign.home,),
        origin=origin(campaign.config, paths, campaign.prefix),
        foreign=foreign(campaign.config),
    )


@asynccontextmanager
async def bench(campaign: Campaign, spec: EvaluatorSpec, width: int | None = None) -> AsyncIterator[Bench]:
    """Places to judge at.

    Args:
        campaign: The campaign.
        spec: The evaluator.
        width: Evaluations at a time, to begin with. Default: as configured, or as many as there is room for.

    Raises:
        EvaluatorError: There is no such place.
    """
    async with _executor(campaign) as executor:
        width = width or evaluators_of(campaign.config, executor.processors)
        async with Bench(campaign.store, executor, spec, width) as places:
            yield places


@asynccontextmanager
async def _executor(campaign: Campaign) -> AsyncIterator[Executor]:
    store, layout, folder = campaign.store, campaign.layout, campaign.prefix.rstrip("/")
    hidden = matcher(campaign.config.holdout.files, campaign.prefix)
    if campaign.config.evaluator.executor == "local":
        yield LocalExecutor(store, layout.checkouts, layout.scratch, folder, hidden)
        return
    from evaluators.executors.ray import cluster  # Ray is optional, and heavy

    with campaign.reader() as reader:
        base = reader.setting("base")
    async with cluster(store, base, folder, hidden, campaign.config.evaluator.cpus or 1) as executor:
        yield executor


def evaluators_of(config: Config, processors: int) -> int:
    """Evaluations at a time, to begin with."""
    wanted = config.workers.evaluate
    return max(1, processors // (config.evaluator.cpus or 1)) if wanted == "auto" else wanted


def agents_workshop(campaign: Campaign) -> Workshop:
    """Where coding agents work, without the holdout."""
    hidden = matcher(campaign.config.holdout.files, campaign.prefix)
    home = campaign.home
    return Workshop(campaign.store, campaign.layout.agents, campaign.folder, campaign.prefix, home, hidden)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The judge, ready.

    Attributes:
        spec: The evaluator with what its set-up made.
        overlay: Files laid over every tree that is judged, None where one is gone; None for nothing.
        pins: All that must not change while it judges.
        facts: What is to be journaled.
        notes: What a person should know, one line each.
    """

    spec: EvaluatorSpec
    overlay: Mapping[str, bytes | None] | None
    pins: Pins
    facts: list[Setting]
    notes: list[str]


def prepared(campaign: Campaign, spec: EvaluatorSpec, check: Callable[[], object] = lambda: None) -> Prepared:
    """Run the set-up command if it has not been run, and check that what judges is what it was.

    Blocks as long as the set-up takes; what `check` raises meanwhile ends it.

    Raises:
        EvaluatorError: The set-up failed, or what judges has changed since the campaign began.
    """
    with campaign.reader() as reader:
        overlay = overlay_of(campaign.store, reader)
        known, made, base, tests = (reader.setting(name) for name in ("pins", "provided", "base", "tests"))
    tree = overlay.tree if overlay else base
    places = pinned_places(campaign, campaign.config, tree)
    _check_data(campaign)
    facts: list[Setting] = []
    notes: list[str] = []
    folder = campaign.layout.prepared
    if known is not None:
        Pins.said(known, places).check()
    if spec.setup is not None and (made is None or not folder.is_dir()):
        own = _checked_out(campaign, tree)
        made = [[one.path, str(one.source)] for one in run_setup(spec, own, check)]
        facts.append(Setting("provided", made))
        known = None
    if known is None:
        notes = _differing(campaign, tree, judged_files(campaign, tree))
    provided = tuple(Provided(path, Path(source)) for path, source in made or () if spec.setup is not None)
    places |= {f"set-up: {one.path}": one.source for one in provided}
    spec, more = _with_base(campaign, replace(spec, provided=provided), tree, tests, check)
    facts += more
    pins = Pins.of(places) if known is None else Pins.said(known, places)
    pins.check()
    facts.append(Setting("pins", pins.facts()))
    files = None if overlay is None else overlay.files
    return Prepared(spec, files, pins, facts, notes)


def _checked_out(campaign: Campaign, tree: str) -> Path:
    """A checkout of the base that is kept, without the holdout: the folder that the evaluator runs in."""
    slot = Checkouts(campaign.store, campaign.layout.prepared.parent).slot(0)
    slot.move_to(tree, matcher(campaign.config.holdout.files, campaign.prefix))
    return slot.path / campaign.prefix


def _with_base(
    campaign: Campaign,
    spec: EvaluatorSpec,
    tree: str,
    tests: Mapping[str, Any] | None,
    check: Callable[[], object],
) -> tuple[EvaluatorSpec, list[Setting]]:
    """Give the evaluator what it has to know of the base: the tests there are, or the base itself."""
    table = campaign.config.evaluator
    facts: list[Setting] = []
    if table.pytest is None and table.benchmark is None:
        return spec, facts
    if table.benchmark is not None or tests is None or tests["tree"] != tree:
        made = spec.setup is not None  # the set-up has left its checkout as it is needed here
        folder = campaign.layout.prepared / campaign.prefix if made else _checked_out(campaign, tree)
        if table.pytest is not None:
            command = readymade.argv(table, campaign.prefix, listing=True)
            tests = {"tree": tree, "names": listed(spec, folder, command, check)}
            facts.append(Setting("tests", tests))
    if table.benchmark is not None:
        beside = Provided(readymade.BESIDE, campaign.layout.prepared)
        return replace(spec, provided=(*spec.provided, beside)), facts
    return replace(spec, known=tuple(tests["names"] if tests else ())), facts


def _check_data(campaign: Campaign) -> None:
    for path in campaign.config.evaluator.data:
        place = campaign.folder / path
        if not place.exists():
            raise EvaluatorError(f"evaluator.data: {place} does not exist; put it there, or correct the path")


def _differing(campaign: Campaign, tree: str, files: Mapping[str, Path]) -> list[str]:
    """Files of the evaluator that are others in the working tree than those that judge."""
    store, found = campaign.store, []
    for path, place in files.items():
        if not place.is_file() or place.read_bytes() != store.read(tree, path):
            found.append(path)
    if not found:
        return []
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return [f"{found[0]}{more} differs from the base commit, whose evaluator is the one that judges"]
