"""Answers about a campaign as a whole."""

from __future__ import annotations

from archives.records import Direction, Purpose, Split, Verdict
from evolve.answers.base import Answer, Part, Ranked, State


class Limit(Part):
    """One limit of the budget."""

    limit: float
    """The most that may be spent."""
    spent: float
    """What is spent."""


class Fate(Part):
    """How proposals fared that were treated alike."""

    proposals: int
    """How many there were."""
    improved: int
    """Those of them that were better than the parent of their candidate."""
    promoted: int
    """Those of them whose candidate became champion."""
    gain: float
    """Sum of what those that improved won on the parent of their candidate, in units of the objective."""


class Staleness(Part):
    """Proposals whose basis had moved, and what was done about them."""

    policy: str
    """`search.staleness`: accept, discard, update or repair."""
    stale: int
    """How many there were."""
    rebased: int
    """Candidates that were put onto a newer parent, by a merge or by a model."""
    repaired: int
    """Proposals that a model carried over."""
    updated: int
    """Proposals whose change was merged onto a newer parent."""
    conflicting: int
    """Proposals whose change could not be merged, so it was judged as it was."""
    dropped: int
    """Proposals that were not evaluated because of it."""
    fates: dict[str, Fate]
    """By what was done: accepted, dropped, updated, conflicting (could not be merged), repaired."""


class Stage(Part):
    """A stage of the pipeline at this moment."""

    waiting: int
    """Proposals that nobody there works on yet."""
    busy: int
    """Proposals that are worked on."""
    width: int
    """Proposals that may be worked on at a time."""
    bound: str = ""
    """Why not more at a time, in a few words; empty where the number is fixed."""


class ArmRecord(Part):
    """What one choice has won: an operator with the model it asks, or a policy."""

    kind: str
    """operator or policy."""
    name: str
    """Its name."""
    model: str | None
    """Model it asks; None where it asks none, or whichever there is."""
    proposals: int
    """Closed proposals."""
    outcomes: dict[str, int]
    """Those by outcome; only `candidate` was evaluated."""
    improved: int
    """Those whose candidate was better than its parent."""
    promoted: int
    """Those that made a champion."""
    reward: float
    """What they won together."""
    usd: float
    """Dollars of their model calls, as far as known."""
    value: float
    """Reward per cost, lately more than long ago, from 0 to 1."""
    share: float
    """Chance to be chosen next, if all could be."""


class StageFate(Part):
    """What evaluations came to at one stage of the evaluator, those of base, gates and holdout included."""

    judged: int
    """Evaluations that gave a score there."""
    gated_out: int
    """Candidates that did not go on from there: below the gate, or sure to be."""
    cut_short: int
    """Evaluations there that ended early because they were decided."""
    seconds: float
    """Evaluator-seconds spent there."""


class Status(Answer):
    """`evolve status`: where the campaign stands."""

    campaign: str
    """Name of the campaign."""
    state: State
    """dead: it says it runs, but no orchestrator lives."""
    reason: str | None
    """Why it is in this state, in one line."""
    proposals: int
    """Proposals so far, open ones included."""
    candidates: int
    """Distinct candidates, the base included."""
    evaluations: int
    """Runs of the evaluator that count against the budget."""
    failed: int
    """Candidates whose verdict is `failed`; `verdicts` has the other ones."""
    duplicates: int
    """Proposals that led to a candidate already known."""
    stale: int
    """Proposals in flight that were made from an earlier champion."""
    staleness: Staleness
    """What became of proposals whose basis had moved before they were done."""
    elites: int
    """Candidates held in the archive."""
    coverage: float
    """Share of the archive's cells that are filled, from 0 to 1."""
    champion: str | None
    """Candidate id of the champion."""
    best_score: float | None
    """Score of the champion."""
    baseline_score: float | None
    """Score of the base."""
    budget: dict[str, Limit]
    """Limits by name: proposals, evaluations, wall (seconds), tokens, usd."""
    in_flight: int
    """Proposals whose outcome is not known yet."""
    stages: dict[str, Stage]
    """What waits and is worked on in a living run, by stage."""
    objective: str
    """Name of what is improved."""
    direction: Direction
    """Which way is better."""
    base: str | None
    """Candidate id of the base."""
    highest: Ranked | None
    """The candidate with the best raw score; need not be the champion, which has to prove itself."""
    promotions: int
    """Champions so far, the base not counted."""
    verdicts: dict[str, int]
    """Candidates by verdict."""
    outcomes: dict[str, int]
    """Proposals by outcome."""
    spent: dict[str, float]
    """What was spent, limited or not."""
    runs: int
    """All runs of the evaluator, the ones that do not count included."""
    noise: float | None
    """Standard deviation of the base's score from run to run."""
    rule: str | None
    """Promotion rule in force."""
    evaluator: int
    """Version of the evaluator in force; what earlier versions said is not believed."""
    waiting: int
    """Candidates that wait to be judged again."""
    evaluator_stages: dict[str, StageFate]
    """By stage of the evaluator, in order; empty where there are none and cases are not split."""
    saved: float | None
    """Evaluator-seconds that judging every candidate in full would have taken beyond what was spent; an
    estimate from those that were. None where it is not known."""
    pid: int | None
    """Process of the living orchestrator (0: not known)."""
    home: str
    """Folder of the campaign."""
    arms: list[ArmRecord] | None = None
    """With `--arms`: what each operator, with each model it asks, and each policy has won."""


class Campaign(Part):
    """One campaign of a list."""

    campaign: str
    """Name of the campaign."""
    state: State | None
    """None: its journal cannot be read."""
    reason: str | None
    """Why it is in this state, in one line."""
    proposals: int
    """Proposals so far."""
    evaluations: int
    """Runs of the evaluator that count against the budget."""
    best_score: float | None
    """Score of the champion."""
    baseline_score: float | None
    """Score of the base."""
    home: str
    """Folder of the campaign."""


class Campaigns(Answer):
    """`evolve list`: the campaigns of a repository, the newest first."""

    campaigns: list[Campaign]
    """The campaigns."""


class Run(Part):
    """One run of the evaluator."""

    id: int
    """Number of the evaluation, in the order in which they finished."""
    candidate: str
    """Candidate that was judged."""
    stage: str
    """Stage of the evaluator; only `full` gives a candidate its score."""
    part: int | None
    """Which part of the stage's cases it judged, from 1; None for the stage as a whole."""
    split: Split
    """Which cases were judged."""
    verdict: Verdict
    """What came of it."""
    score: float | None
    """Score; None unless judged."""
    seconds: float
    """Wall time."""
    proposal: int
    """Proposal that asked for it; 0 for the base."""
    purpose: Purpose
    """search: first look; baseline: noise; confirm: another look; gate: paired run of a promotion."""
    seed: int
    """Seed the evaluator was given."""
    evaluator: int
    """Version of the evaluator."""
    reason: str | None
    """Why it was not judged, in one line."""
    cpu_seconds: float
    """Processor time of the whole process tree."""
    attempts: int
    """How often the evaluator was started; 0 where it was put together from parts or became unnecessary."""
    counted: bool
    """Whether it counts against the budget."""
    rebased_from: str | None
    """Where the change of the candidate was carried over from; None if it stands on its own parent."""


class Evaluations(Answer):
    """`evolve evaluations`: runs of the evaluator, in the order in which they finished."""

    evaluations: list[Run]
    """The runs."""
    total: int
    """How many there are; more than are listed if `--limit` cut them."""
    staleness: Staleness
    """What became of proposals of the whole campaign whose basis had moved before they were done."""
