"""The judge of a campaign, made ready: the evaluator as configured, its set-up done once, its data pinned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from archives.checkouts import Checkouts
from archives.errors import EvaluatorError
from archives.records import Setting
from evaluators.preparation import fingerprint, run_setup
from evaluators.spec import EvaluatorSpec, Provided
from evolve.bench import Bench
from evolve.campaign import Campaign
from evolve.foreign import entry_point, foreign
from evolve.globs import matcher
from evolve.territory import origin
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
        function=table.function or entry_point(table),
        objective=table.objective,
        timeout=table.timeout,
        python=None if table.python is None else campaign.folder / table.python,
        env=tuple(table.env),
        data=tuple(table.data),
        network=table.network,
        memory=table.memory,
        cpus=table.cpus,
        threads=table.threads,
        warm=table.warm,
        sandbox=table.sandbox,
        setup=table.setup,
        hide=(campaign.home,),
        origin=origin(campaign.config, paths, campaign.prefix),
        foreign=foreign(campaign.config),
    )


def bench(campaign: Campaign, spec: EvaluatorSpec, width: int) -> Bench:
    """Places to judge at."""
    hidden = matcher(campaign.config.holdout.files, campaign.prefix)
    return Bench(campaign.store, campaign.layout, spec, campaign.prefix, hidden, width)


def agents_workshop(campaign: Campaign) -> Workshop:
    """Where coding agents work, without the holdout."""
    hidden = matcher(campaign.config.holdout.files, campaign.prefix)
    home = campaign.home
    return Workshop(campaign.store, campaign.layout.agents, campaign.folder, campaign.prefix, home, hidden)


def prepared(
    campaign: Campaign, spec: EvaluatorSpec, check: Callable[[], object] = lambda: None
) -> tuple[EvaluatorSpec, list[Setting]]:
    """Run the set-up command if it has not been run, and check that the data are what they were.

    Blocks as long as the set-up takes; what `check` raises meanwhile ends it.

    Returns:
        The evaluator with what its set-up made, and facts to be journaled.

    Raises:
        EvaluatorError: The set-up failed, or the data have changed since the campaign began.
    """
    facts = []
    pins = _pins(campaign)
    with campaign.reader() as reader:
        known, made, base = (reader.setting(name) for name in ("pins", "provided", "base"))
    if known is None:
        facts.append(Setting("pins", pins))
    elif changed := [path for path in pins if pins[path] != known.get(path)]:
        raise EvaluatorError(
            f"evaluator.data: {changed[0]} has changed since the campaign began, so results could not be "
            "compared; put it back, or start a campaign with another name"
        )
    if spec.setup is None:
        return spec, facts
    folder = campaign.layout.prepared
    if made is None or not folder.is_dir():
        slot = Checkouts(campaign.store, folder.parent).slot(0)
        slot.move_to(base, matcher(campaign.config.holdout.files, campaign.prefix))
        done = run_setup(spec, slot.path / campaign.prefix, check)
        made = [[one.path, str(one.source)] for one in done]
        facts.append(Setting("provided", made))
    return replace(spec, provided=tuple(Provided(path, Path(source)) for path, source in made)), facts


def _pins(campaign: Campaign) -> dict[str, Any]:
    pins = {}
    for path in campaign.config.evaluator.data:
        place = campaign.folder / path
        if not place.exists():
            raise EvaluatorError(f"evaluator.data: {place} does not exist; put it there, or correct the path")
        pins[path] = fingerprint([(path, place)])
    return pins
