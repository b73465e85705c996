"""`evolve check`: try the evaluator on the base, and say what a run would do and cost."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import trio

from archives.errors import EvolveError
from archives.repository import Repository
from evaluators.contract import Outcome, Request
from evaluators.sandbox import probe
from evolve import config as configuration
from evolve.answers import Check, Remark, SandboxFacts
from evolve.campaign import Campaign
from evolve.config import Config
from evolve.creation import create_campaign
from evolve.environment import environment_findings
from evolve.judge import bench, evaluator_spec, prepared
from evolve.lookup import locate
from evolve.pacing import first_evaluators
from evolve.promotion import looks_noisy
from evolve.registry import agent_spec, model_pool, usable
from evolve.removal import remove_tree
from evolve.territory import editable

RUNS = 5
TIME_CAP = 60.0


def check(start: Path) -> tuple[Check, str]:
    """Judge the base a few times, in a campaign of its own that is gone afterwards.

    Returns:
        The answer, and the evaluator's own words where it did not judge.
    """
    repository = Repository.find(start)
    path, prefix = locate(start, repository)
    config = configuration.load(path)
    temporary = Path(tempfile.mkdtemp(prefix="evolve-check-"))
    try:
        campaign = create_campaign(start, config, temporary, prefix)
        outcomes = trio.run(_try, campaign)
        return _answer(campaign, outcomes), outcomes[-1].feedback
    finally:
        remove_tree(temporary)


async def _try(campaign: Campaign) -> list[Outcome]:
    config = campaign.config
    with campaign.reader() as reader:
        base = reader.candidate(reader.setting("base"))
    spec, _ = prepared(campaign, evaluator_spec(campaign))
    assert base is not None  # written when the campaign was created
    cases = None if config.evaluator.cases is None else tuple(config.evaluator.cases)
    outcomes: list[Outcome] = []
    started = trio.current_time()
    async with bench(campaign, spec, 1) as places:
        for seed in range(RUNS):
            outcomes.append(await places.judge(base, Request(base.id, cases=cases, seed=seed)))
            if outcomes[-1].verdict != "judged" or trio.current_time() - started > TIME_CAP:
                break
        if config.holdout.present and outcomes[-1].verdict == "judged":
            held = None if config.holdout.cases is None else tuple(config.holdout.cases)
            holdout = await places.judge(base, Request(base.id, split="holdout", cases=held))
            if holdout.verdict != "judged":
                outcomes.append(replace(holdout, reason=f"on the holdout: {holdout.reason}"))
    return outcomes


def _answer(campaign: Campaign, outcomes: list[Outcome]) -> Check:
    config, store = campaign.config, campaign.store
    with campaign.reader() as reader:
        base = reader.setting("base")
    paths = [entry.path for entry in store.files(base)]
    may_change = editable(config, paths, campaign.prefix)
    scores = [o.score for o in outcomes if o.score is not None]
    running, skipped = usable(config, [p for p in paths if may_change(p)])
    sandbox = probe(config.evaluator.sandbox)
    inside = sorted({path for o in outcomes for path in o.inside if may_change(path)})
    sends = [p for p in paths if may_change(p)] if "edit" in running else []
    return Check(
        verdict=outcomes[-1].verdict,
        score=statistics.fmean(scores) if scores else None,
        runs=len(outcomes),
        noise=statistics.stdev(scores) if len(scores) > 1 else None,
        seconds=statistics.fmean(o.seconds for o in outcomes),
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
            *(f"{p} → {', '.join(m.model for m in model_pool(config))}" for p in sends),
            *_shown_to_agent(campaign, running),
        ],
        estimate=_estimate(config, outcomes, sum(_size(campaign, base, p) for p in sends)),
    )


def _shown_to_agent(campaign: Campaign, running: list[str]) -> list[str]:
    if "agent" not in running:
        return []
    agent = agent_spec(campaign.config, campaign.folder)
    return [f"the whole checkout, holdout left out → {', '.join(agent.hosts) or agent.name}"]


def _size(campaign: Campaign, tree: str, path: str) -> int:
    return len(campaign.store.read(tree, path) or b"")


def _findings(campaign: Campaign, outcomes: list[Outcome]) -> list[Remark]:
    repository, config = campaign.repository, campaign.config
    found = [Remark(kind=f.kind, text=f.text) for f in repository.diagnose(config.campaign.base)]
    found += environment_findings(campaign.folder, config, outcomes[-1])
    return found


def _estimate(config: Config, outcomes: list[Outcome], prompt_bytes: int) -> dict[str, float]:
    limits = config.budget.limits()
    noisy = looks_noisy([o.score for o in outcomes if o.score is not None])
    per_proposal = config.evaluator.repeats
    if config.promotion.rule == "evalue" or (config.promotion.rule == "auto" and noisy):
        per_proposal *= 2  # gates may take as many evaluations as the search
    proposals = limits.get("proposals", float("inf"))
    runs = min(limits.get("evaluations", float("inf")), proposals * per_proposal)
    estimate: dict[str, float] = {}
    seconds = statistics.fmean(o.seconds for o in outcomes)
    if runs != float("inf"):
        estimate["evaluations"] = runs
        estimate["seconds"] = round(runs * seconds / first_evaluators(config), 1)
    if "wall" in limits:
        estimate["seconds"] = min(estimate.get("seconds", float("inf")), limits["wall"])
    if prompt_bytes and runs != float("inf"):
        estimate["tokens"] = round(runs * (prompt_bytes / 4 + 1500))
        prices = [(m.price_in, m.price_out) for m in model_pool(config)]
        if prices and all(p[0] is not None and p[1] is not None for p in prices):
            per_call = max((prompt_bytes / 4 * (i or 0) + 1500 * (o or 0)) / 1e6 for i, o in prices)
            estimate["usd"] = round(runs * per_call, 4)
    return estimate


def doctor(start: Path) -> list[Remark]:
    """What on this machine, or in this repository, is in the way."""
    found = []
    sandbox = probe("auto")
    found += [Remark(kind="sandbox", text=f"missing here: {wall}") for wall in sandbox.missing]
    found += _machine()
    try:
        repository = Repository.find(start)
    except EvolveError as error:
        return [*found, Remark(kind="repository", text=str(error))]
    found += [Remark(kind=f.kind, text=f.text) for f in repository.diagnose("HEAD")]
    return found


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
