"""`evolve check`: try the evaluator on the base, and say what a run would do and cost."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import trio

from archives.errors import ConfigError, EvaluatorError, EvolveError
from archives.records import Candidate, Split
from archives.repository import Repository
from evaluators.contract import Outcome, Request
from evaluators.executors.local import LocalExecutor
from evaluators.sandbox import probe
from evolve import config as configuration
from evolve.answers import Check, Doctor, Remark, SandboxFacts
from evolve.asking import how_to_go_on, recipients, refusals, secrets_of, tokens_of
from evolve.assembly import promised
from evolve.bench import Bench
from evolve.campaign import Campaign
from evolve.cascade import Stage, full, look, screens
from evolve.config import Config
from evolve.creation import create_campaign, try_folder
from evolve.environment import environment_findings
from evolve.forecast import forecast, foretold
from evolve.judge import bench, evaluator_spec, prepared
from evolve.lookup import locate
from evolve.models import ModelSpec
from evolve.probing import probe_models
from evolve.promotion import looks_noisy
from evolve.registry import agent_spec, asks, model_pool, usable
from evolve.removal import remove_tree
from evolve.stages.baseline import survey_result
from evolve.territory import editable, visible

RUNS = 5
TIME_CAP = 60.0


def check(start: Path, models: bool = False, home: Path | None = None) -> tuple[Check, str]:
    """Judge the base a few times, in a campaign of its own that is gone afterwards.

    Args:
        start: A folder in the repository.
        models: Whether to send one tiny request to each model.
        home: Folder that a run would keep its campaign in, if it is not in the repository.

    Returns:
        The answer, and the evaluator's own words where it did not judge.
    """
    repository = Repository.find(start)
    path, prefix = locate(start, repository)
    config = configuration.load(path)
    if home is not None:
        try_folder(home.absolute())
    temporary = Path(tempfile.mkdtemp(prefix="evolve-check-"))
    try:
        campaign = create_campaign(start, config, temporary, prefix)
        foretold(campaign)  # refuses what a run would refuse before its baseline
        tried = trio.run(_try, campaign)
        answer, outcomes = _answer(campaign, tried), tried.outcomes
        if models:
            answer.models = trio.run(probe_models, model_pool(config))
        return answer, outcomes[-1].feedback
    finally:
        remove_tree(temporary)


@dataclass(frozen=True, slots=True)
class _Tried:
    outcomes: list[Outcome]
    executor: str
    width: int


async def _try(campaign: Campaign) -> _Tried:
    config = campaign.config
    with campaign.reader() as reader:
        base = reader.candidate(reader.setting("base"))
    spec = prepared(campaign, evaluator_spec(campaign)).spec
    assert base is not None  # written when the campaign was created
    outcomes: list[Outcome] = []
    started = trio.current_time()
    async with bench(campaign, spec) as places:
        executor, width = places.executor.told, places.slots.width
        for seed in range(RUNS):
            outcomes.append(await _at(places, base, full(config), seed))
            if outcomes[-1].verdict != "judged" or trio.current_time() - started > TIME_CAP:
                break
        if outcomes[-1].verdict == "judged":
            try:
                survey_result(config, base, outcomes[-1])
            except EvaluatorError as error:
                outcomes.append(replace(outcomes[-1], verdict="invalid", score=None, reason=str(error)))
        if config.holdout.present and outcomes[-1].verdict == "judged":
            holdout = await _at(places, base, full(config, "holdout"), 0, "holdout")
            if holdout.verdict != "judged":
                outcomes.append(replace(holdout, reason=f"on the holdout: {holdout.reason}"))
        for stage in screens(config) if outcomes[-1].verdict == "judged" else ():
            found = await _at(places, base, stage, 0)
            if found.verdict != "judged":
                outcomes.append(replace(found, reason=f"at stage {stage.name}: {found.reason}"))
                break
    return _Tried(outcomes, executor, width)


async def _at(places: Bench, base: Candidate, stage: Stage, seed: int, split: Split = "search") -> Outcome:
    """Judge the base at a stage, all cases in one run that may take as long as all its runs."""
    request = Request(base.id, stage.name, split, stage.cases, seed)
    found = await places.judge(base, request, timeout=stage.timeout * stage.runs)
    broken = promised(found) if stage.chunk is not None else None
    return found if broken is None else replace(found, verdict="invalid", score=None, reason=broken)


def _answer(campaign: Campaign, tried: _Tried) -> Check:
    config, store, outcomes = campaign.config, campaign.store, tried.outcomes
    with campaign.reader() as reader:
        base = reader.setting("base")
    paths = [entry.path for entry in store.files(base)]
    may_change = editable(config, paths, campaign.prefix)
    scores = [o.score for o in outcomes if o.score is not None]
    running, skipped = usable(config, [p for p in paths if may_change(p)])
    sandbox = probe(config.evaluator.sandbox)
    inside = sorted({path for o in outcomes for path in o.inside if may_change(path)})
    shown = [p for p in paths if may_change(p)] if asks(running, config) else []
    pool = model_pool(config)
    found = [] if all(spec.here for spec in pool) else secrets_of(store, base, shown)
    return Check(
        verdict=outcomes[-1].verdict,
        score=statistics.fmean(scores) if scores else None,
        runs=len(outcomes),
        noise=statistics.stdev(scores) if len(scores) > 1 else None,
        seconds=statistics.fmean(o.seconds for o in outcomes),
        executor=tried.executor,
        sandbox=SandboxFacts(
            tier=sandbox.tier,
            walls=list(sandbox.walls),
            missing=list(sandbox.missing),
            isolated=any(o.isolated for o in outcomes) and not inside,
            inside=inside,
        ),
        operators=running,
        skipped=skipped,
        reason=outcomes[-1].reason,
        findings=_findings(campaign, outcomes),
        sends=[
            *(f"{path} → {', '.join(recipients(pool))}" for path in shown),
            *(_outlined(config, paths, campaign.prefix, pool) if shown else ()),
            *_shown_to_agent(campaign, running),
        ],
        secrets=[
            f"{each}; {how_to_go_on(each, campaign.prefix)}"
            for each in refusals(found, config, campaign.prefix)
        ],
        estimate=_estimate(config, outcomes, tried.width) | _asked(campaign, base, shown, running, outcomes),
    )


def _outlined(config: Config, paths: list[str], prefix: str, pool: Sequence[ModelSpec]) -> list[str]:
    """What prompts tell of files that may not change."""
    may_change, named = editable(config, paths, prefix), visible(config, paths, prefix)
    count = sum(named(path) and not may_change(path) for path in paths)
    if not count:
        return []
    return [f"names and signatures of up to {count} other files → {', '.join(recipients(pool))}"]


def _shown_to_agent(campaign: Campaign, running: list[str]) -> list[str]:
    if "agent" not in running:
        return []
    agent = agent_spec(campaign.config, campaign.folder)
    return [f"the whole checkout, holdout left out → {', '.join(agent.hosts) or agent.name}"]


def _asked(
    campaign: Campaign, tree: str, shown: list[str], running: list[str], outcomes: list[Outcome]
) -> dict[str, float]:
    """What models will be asked, as far as limits bound it."""
    tokens = tokens_of(campaign.store, tree, shown)
    found = forecast(campaign.config, running, tokens, _per_proposal(campaign.config, outcomes))
    if found is None or found.calls is None:
        return {}
    asked = {"calls": float(found.calls), "tokens": float(found.tokens or 0)}
    return asked if found.usd is None else asked | {"usd": round(found.usd, 4)}


def _findings(campaign: Campaign, outcomes: list[Outcome]) -> list[Remark]:
    repository, config = campaign.repository, campaign.config
    found = [Remark(kind=f.kind, text=f.text) for f in repository.diagnose(config.campaign.base)]
    found += environment_findings(campaign.folder, config, outcomes[-1])
    return found


def _per_proposal(config: Config, outcomes: list[Outcome]) -> int:
    """Evaluations that a proposal takes."""
    noisy = looks_noisy([o.score for o in outcomes if o.score is not None])
    gated = config.promotion.rule == "evalue" or (config.promotion.rule == "auto" and noisy)
    return look(config) * (2 if gated else 1)  # gates may take as many as the search


def _estimate(config: Config, outcomes: list[Outcome], width: int) -> dict[str, float]:
    limits, per_proposal = config.budget.limits(), _per_proposal(config, outcomes)
    proposals = limits.get("proposals", float("inf"))
    runs = min(limits.get("evaluations", float("inf")), proposals * per_proposal)
    estimate: dict[str, float] = {}
    seconds = statistics.fmean(o.seconds for o in outcomes) / full(config).runs
    if runs != float("inf"):
        estimate["evaluations"] = runs
        estimate["seconds"] = round(runs * seconds / width, 1)
    if "wall" in limits:
        estimate["seconds"] = min(estimate.get("seconds", float("inf")), limits["wall"])
    return estimate


def doctor(start: Path) -> Doctor:
    """What on this machine, or in this repository, is in the way."""
    executor, found = LocalExecutor.told, list[Remark]()
    sandbox = probe("auto")
    found += [Remark(kind="sandbox", text=f"missing here: {wall}") for wall in sandbox.missing]
    found += _machine()
    try:
        repository = Repository.find(start)
    except EvolveError as error:
        found.append(Remark(kind="repository", text=str(error)))
        return Doctor(ok=False, findings=found, executor=executor)
    found += [Remark(kind=f.kind, text=f.text) for f in repository.diagnose("HEAD")]
    try:
        if configuration.load(locate(start, repository)[0]).evaluator.executor == "ray":
            from evaluators.executors.ray import look

            executor = look()
    except EvaluatorError as error:
        found.append(Remark(kind="executor", text=str(error)))
    except ConfigError:
        pass  # none yet, or one that `evolve check` complains about
    return Doctor(ok=not found, findings=found, executor=executor)


def _machine() -> list[Remark]:
    import sqlite3

    found = []
    if sqlite3.sqlite_version_info < (3, 37):
        found.append(
            Remark(kind="sqlite", text=f"SQLite {sqlite3.sqlite_version} is too old; 3.37 is needed")
        )
    free = shutil.disk_usage(Path.cwd()).free
    if free < 2**30:
        found.append(Remark(kind="disk", text=f"only {free // 2**20} MiB are free here; campaigns need room"))
    return found
