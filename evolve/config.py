"""`evolve.toml`: what a campaign is, validated before anything starts.

The string under each field is its documentation; the reference page is generated from it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from archives.errors import ConfigError
from archives.records import FULL
from evolve.mistakes import explain
from evolve.quantities import seconds, size

FILE_NAME = "evolve.toml"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}"
"""What a campaign may be called."""
TOP = r"top ([1-9]\d?)%"
"""A gate that lets the best share of all candidates pass."""
Seconds = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
Bytes = Annotated[int, BeforeValidator(size), Field(ge=2**20)]
Width = Annotated[int, Field(ge=1, le=1024)] | Literal["auto"]


class Table(BaseModel):
    """A table of the file: unknown keys are errors, values are not converted behind the user's back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


def _all_different(names: list[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} stands in it twice")
    return names


Cases = Annotated[list[str], Field(min_length=1), AfterValidator(_all_different)]


class CampaignTable(Table):
    """What the campaign is called and where it starts."""

    name: str = Field(default="", pattern=f"^({NAME})?$")
    """Name of the campaign, also of its folder. Default: the repository's name."""
    goal: str = ""
    """What should get better, in words; shown to models and in reports."""
    base: str = "HEAD"
    """Commit, branch or tag to start from."""
    seed: int = Field(default=0, ge=0)
    """Seed of all random choices. One worker and the offline operators: same seed, same commits."""


class ArtifactTable(Table):
    """What may change."""

    include: list[str] = Field(min_length=1)
    """Globs of the files that may change, relative to the file's folder; everything else is protected."""


def _gate(value: float | str) -> float | str:
    if isinstance(value, str) and value not in ("parent", "champion") and not re.fullmatch(TOP, value):
        raise ValueError('a gate is a score such as 0.5, "parent", "champion", or "top 25%"')
    return value


class StageTable(Table):
    """A cheaper stage in front of the full evaluation, which alone gives a score; they run in this order."""

    name: str = Field(pattern=f"^{NAME}$")
    """What it is called; the evaluator reads it as `stage` in its request."""
    cases: Cases | None = None
    """Names of the cases it judges. Default: those of the evaluator."""
    sample: int | None = Field(default=None, ge=1)
    """Judge so many of the evaluator's cases instead: drawn once, the same for every candidate."""
    timeout: Seconds | None = None
    """Time limit of one run at this stage. Default: the evaluator's."""
    gate: Annotated[float | str, AfterValidator(_gate)] | None = None
    """What a candidate must reach to go on: a score such as 0.5; "parent" or "champion": what that one has on
    the same cases; "top 25%": the best quarter of all so far. Default: any score will do."""
    slack: float = Field(default=0.0, ge=0)
    """How far below its gate a candidate may be, in units of the objective."""

    @model_validator(mode="after")
    def _sound(self) -> StageTable:
        if self.name == FULL:
            raise ValueError('"full" is what [evaluator] itself describes; choose another name')
        if self.cases is not None and self.sample is not None:
            raise ValueError("give cases or sample, not both")
        return self


class OpenEvolveTable(Table):
    """How OpenEvolve was told to call its evaluator; with `contract = "openevolve"`."""

    program: str | None = None
    """File handed to `evaluate(program_path)`. Default: the one that `artifact.include` names."""
    cascade: bool = True
    """Run `evaluate_stage1`, 2 and 3 instead of `evaluate` where the evaluator has them."""
    thresholds: list[float] = Field(default=[0.5, 0.75, 0.9], min_length=1)
    """What the metrics must reach before stage 2, and before stage 3."""
    stage_timeout: Seconds | None = None
    """Time limit of one stage, OpenEvolve's `evaluator.timeout`. Default: only that of the evaluation."""
    retries: int = Field(default=3, ge=0, le=20)
    """How often an `evaluate` that raised is called again; only where `cascade` is off, as there."""
    features: list[str] = ["complexity", "diversity"]
    """Metrics that are measures and no part of the score; OpenEvolve's `feature_dimensions`."""
    arguments: dict[str, Any] = {}
    """Further arguments of `evaluate`; OpenEvolve's `evaluator_args`."""


class ShinkaTable(Table):
    """How ShinkaEvolve was told to call its evaluator; with `contract = "shinka"`."""

    program: str | None = None
    """File handed over as `--program_path`. Default: the one that `artifact.include` names."""
    arguments: dict[str, str | int | float | bool] = {}
    """Further arguments of the command line, `--key value`; ShinkaEvolve's `extra_cmd_args`."""


class GepaTable(Table):
    """How GEPA was told to call its evaluator; with `contract = "gepa"`."""

    program: str | None = None
    """File that holds the candidate where it is one text. Default: the one that `artifact.include` names."""
    components: dict[str, str] = {}
    """Where the candidate is a dict of texts: their names, and the file that holds each."""
    dataset: str | None = None
    """Examples to judge as cases called "0", "1", …: "data.py:valset", or a JSON or JSON Lines file."""
    batch: str | None = None
    """Name of the function that takes all pairs at once; GEPA's `batch_evaluator`."""
    capture_stdio: bool = False
    """Whether what the evaluator prints becomes side information."""
    raise_on_exception: bool = True
    """Whether an exception fails the candidate; with false it counts as 0, as in GEPA."""

    @model_validator(mode="after")
    def _one_candidate(self) -> GepaTable:
        if self.program is not None and self.components:
            raise ValueError("give program or components, and not both")
        return self


class EvaluatorTable(Table):
    """Who judges. Exactly one of `command`, `function`, `pytest`, `benchmark` and `contract`."""

    command: str | None = None
    """Command run in a clean checkout of the candidate, such as "python evaluate.py"."""
    function: str | None = Field(default=None, pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$")
    """Python function, such as "evaluate.py:evaluate", called with the checkout's folder and the request."""
    pytest: str | None = Field(default=None, min_length=1)
    """Folders and files of a pytest suite, and options of pytest, such as "tests/ -m 'not slow'". Each test
    is a case, the pass rate the score; metrics: passed, failed, skipped, missing, seconds."""
    benchmark: str | None = Field(default=None, min_length=1)
    """Work to be timed beside the base in interleaved pairs: a function such as "bench.py:work", or a
    command. The score is how many times faster the candidate is; both must give the same result."""
    contract: Literal["openevolve", "shinka", "gepa"] | None = None
    """Whose contract the evaluator at `path` keeps, if it was written for another system."""
    path: str | None = Field(default=None, pattern=r"^[^:]+\.py(:[A-Za-z_][A-Za-z0-9_]*)?$")
    """File of an evaluator of another system, such as "evaluator.py"; for GEPA with its function, such as
    "evaluate.py:evaluate". Default: the name that is usual there."""
    openevolve: OpenEvolveTable = OpenEvolveTable()
    shinka: ShinkaTable = ShinkaTable()
    gepa: GepaTable = GepaTable()
    objective: str = "score"
    """Number to improve: "score" or the name of a metric."""
    direction: Literal["maximize", "minimize"] = "maximize"
    """Which way is better."""
    timeout: Seconds = 60.0
    """Time limit of one evaluation; the whole process tree is killed at it, and the candidate has failed."""
    repeats: int = Field(default=1, ge=1, le=1000)
    """How often each candidate is judged, with seeds 0, 1, …; its score is the mean."""
    cases: Cases | None = None
    """Names of the cases to judge; they are handed to the evaluator, and all must be in its result."""
    stages: list[StageTable] = []
    """Cheaper stages that a candidate has to pass first."""
    chunk: int | None = Field(default=None, ge=1)
    """Judge the cases in runs of so many, side by side where slots are free. This declares that the objective
    is the mean of the cases' scores and that a case's score depends on nothing but candidate, case and seed:
    what one stage has judged is not judged again by the next."""
    cut_short: Literal["never", "archive", "champion"] = "archive"
    """With `chunk` and `promotion.range`: leave out the rest of the cases once even perfect scores there
    would not let a candidate into its cell of the archive ("archive"), or past the champion ("champion")."""
    confidence: float | None = Field(default=None, gt=0.5, lt=1)
    """Do that also once it is this sure, such as 0.95, judging the cases in random order. Default: only once
    it is certain."""
    hedge: bool = False
    """With `chunk`: start a run that takes unusually long a second time where a slot is free; the first of
    the two to end counts."""
    warm: bool | Literal["auto"] = "auto"
    """Function form: fork each evaluation from a process that has imported the libraries already."""
    python: str | None = None
    """Interpreter for `python` in the command and for the function. Default: the one on PATH."""
    setup: str | None = None
    """Command run once in a checkout of the base before the first evaluation, such as "make build"."""
    data: list[str] = []
    """Untracked files or folders of the repository that evaluations may read."""
    env: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = []
    """Names of environment variables that evaluations may see; all others are hidden."""
    network: bool = False
    """Whether evaluations may reach the network."""
    memory: Bytes | None = None
    """Memory limit of one evaluation, such as "2GiB"."""
    cpus: int | None = Field(default=None, ge=1)
    """Processors of one evaluation; decides how many run side by side."""
    executor: Literal["local", "ray"] = "local"
    """Where evaluations run: "local", on this machine; "ray", on the nodes of the Ray cluster that runs here
    or that RAY_ADDRESS names."""
    threads: int = Field(default=1, ge=1)
    """Threads that numeric libraries may use inside one evaluation."""
    sandbox: Literal["auto", "strict", "none"] = "auto"
    """"auto": every wall this machine offers; "strict": refuse to run where one is missing; "none": none."""

    def rules(self) -> EvaluatorTable:
        """All of it that has an influence on results: not where they are found."""
        return self.model_copy(update={"executor": "local"})

    @model_validator(mode="after")
    def _one_form(self) -> EvaluatorTable:
        forms = (self.command, self.function, self.pytest, self.benchmark, self.contract)
        if sum(form is not None for form in forms) != 1:
            raise ValueError(
                'give exactly one of command = "python evaluate.py", function = "evaluate.py:evaluate", '
                'pytest = "tests/", benchmark = "bench.py:work" and contract = "openevolve"'
            )
        if self.path is not None and self.contract is None:
            raise ValueError("path is for evaluators of other systems; give their contract too")
        for name in ("openevolve", "shinka", "gepa"):
            if getattr(self, name) != type(self).model_fields[name].get_default() and self.contract != name:
                raise ValueError(f'the table {name} needs contract = "{name}"')
        return self

    @model_validator(mode="after")
    def _sound_stages(self) -> EvaluatorTable:
        _all_different([stage.name for stage in self.stages])
        if self.chunk is not None and self.cases is None:
            raise ValueError("chunk: name the cases to split as cases = [...]")
        for stage in self.stages:
            if stage.sample is not None and stage.sample > len(self.cases or ()):
                raise ValueError(
                    f"stages: {stage.name} samples {stage.sample} of {len(self.cases or ())} cases; "
                    "name enough as cases = [...]"
                )
        return self


class HoldoutTable(Table):
    """Cases and files that only promotion reads."""

    cases: Cases | None = None
    """Names of the cases handed to the evaluator in holdout evaluations."""
    files: list[str] = []
    """Globs of files that appear in holdout evaluations only."""

    @property
    def present(self) -> bool:
        """Whether the campaign has a holdout at all."""
        return self.cases is not None or bool(self.files)


class MeasureTable(Table):
    """One axis of the archive."""

    name: str
    """Built-in (lines, files_touched, distance, ast_nodes) or reported by the evaluator."""
    bins: int | None = Field(default=None, ge=1, le=1000)
    """Number of bins; default 10 for numbers."""
    low: float | None = None
    """Lower end; without it the edges follow the data."""
    high: float | None = None
    """Upper end; without it the edges follow the data."""
    values: list[str] | None = None
    """The categories of a measure that is a text."""

    @model_validator(mode="after")
    def _sound(self) -> MeasureTable:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low = {self.low:g} must be below high = {self.high:g}")
        if self.values is not None and (self.bins, self.low, self.high) != (None, None, None):
            raise ValueError("values are for texts, bins, low and high for numbers; give one kind")
        return self


class ArchiveTable(Table):
    """The quality-diversity archive."""

    measures: list[MeasureTable] = []
    """Axes. Default: lines and distance from the base."""
    depth: int | None = Field(default=None, ge=1, le=100)
    """Candidates kept in a cell. Default: 1, or 4 where the evaluator is noisy."""

    @model_validator(mode="after")
    def _each_once(self) -> ArchiveTable:
        _all_different([measure.name for measure in self.measures])
        return self


class SearchTable(Table):
    """How parents are chosen."""

    policy: Literal["adaptive", "qd", "champion", "independent"] = "adaptive"
    """"qd": elites of the archive; "champion": always the champion; "independent": always the base;
    "adaptive": a mix of the first two that follows what they win."""
    staleness: Literal["accept", "discard", "update", "repair"] = "update"
    """What happens to a proposal when its parent is overtaken while it is made or judged. "accept": nothing;
    "discard": it is dropped before it is evaluated; "update": its change is merged onto what overtook its
    parent; "repair": the same, and a model is asked where the merge fails or no longer helps."""
    near_duplicates: Literal["skip", "judge"] = "skip"
    """What happens to a change by a model that leaves the program the same and only writes it differently
    (layout, comments, names of locals). "skip": it is a duplicate; "judge": it is evaluated, for evaluators
    that look at the text of the program."""
    stale_after: int = Field(default=0, ge=0, le=1000)
    """How many champions a proposal's basis may be behind before it counts as stale."""


class PatchesTable(Table):
    """Ready-made changes as proposals."""

    folder: str | None = None
    """Folder with files `NNN-name.patch`, tried in the order of their names."""
    branches: list[str] = []
    """Globs of branches of the repository, tried in the order of their names."""

    @model_validator(mode="after")
    def _something(self) -> PatchesTable:
        if self.folder is None and not self.branches:
            raise ValueError('give folder = "proposals" or branches = ["try/*"]')
        return self


Share = Annotated[float, Field(gt=0)]


class AgentTable(Table):
    """A command-line coding agent. Exactly one of `use` and `command`."""

    use: Literal["claude", "codex", "gemini", "aider"] | None = None
    """A known one: its command, its keys and its provider's host are filled in."""
    command: str | None = Field(default=None, min_length=1)
    """Any other, such as "my-agent --prompt-file {prompt}"; {prompt} is the path of its task, {usd} what it
    may cost. It runs in a checkout of the parent, and what it changes there is the proposal."""
    hosts: list[Annotated[str, Field(pattern=r"^(\*\.)?[A-Za-z0-9.-]+(:\d+)?$")]] = []
    """Hosts it may reach, such as "api.example.com" or "localhost:8000", besides that of `use`; no others."""
    env: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = []
    """Environment variables it gets to see, such as its key, besides those of `use`."""
    read: list[str] = []
    """Files and folders it may read although they lie in the home folder, such as its own installation."""
    timeout: Seconds = 900.0
    """Time limit of one task; everything it started is killed at it."""
    usd: float | None = Field(default=None, gt=0)
    """Dollars one task may cost: charged for each one unless the agent tells its cost itself."""
    share: float = Field(default=1.0, gt=0)
    """How often it is asked, compared with the other operators."""

    @model_validator(mode="after")
    def _one_way(self) -> AgentTable:
        if (self.use is None) == (self.command is None):
            raise ValueError('give exactly one of use = "claude" and command = "my-agent {prompt}"')
        return self


class OperatorsTable(Table):
    """Shares of the operators. Those named are the only ones; none named: all that can run here."""

    tune: Share | None = None
    """Numeric search (CMA-ES) over the numbers in the files."""
    mutate: Share | None = None
    """Small edits of the syntax tree of Python files."""
    crossover: Share | None = None
    """Merges of two lineages; where they contradict each other, by a language model if there is one."""
    edit: Share | None = None
    """One change by a language model."""
    rewrite: Share | None = None
    """Whole files by a language model."""
    explore: Share | None = None
    """Another approach by a language model."""
    simplify: Share | None = None
    """The same score with less code, by a language model."""
    fix: Share | None = None
    """Candidates that failed, corrected by a language model."""
    agent: AgentTable | None = None
    """Changes by a coding agent."""
    patches: PatchesTable | None = None
    """Ready-made changes."""
    manual: bool = False
    """Wait for proposals from outside (`evolve propose`) when no operator has anything to do."""

    def shares(self) -> dict[str, float]:
        """Share of each operator that is named."""
        named = {name: getattr(self, name) for name in type(self).model_fields if name != "manual"}
        return {
            name: getattr(v, "share", 1.0) if isinstance(v, Table) else v for name, v in named.items() if v
        }


class WorkersTable(Table):
    """How much may be in flight."""

    propose: Width = "auto"
    """Proposals being made at a time; "auto": found out from how fast the models answer, refuse, and age."""
    evaluate: Width = "auto"
    """Evaluations at a time; "auto": one a processor (of the cluster, with a Ray executor), and on
    this machine more where they mostly wait for something else."""
    reflect: Annotated[int, Field(ge=0, le=64)] | Literal["auto"] = "auto"
    """Reflections at a time, by which a model writes lessons for later prompts; "auto": one; 0: none."""


def _address(text: str) -> str:
    """An address that a request can be sent to."""
    if not re.match(r"https?://[^/]", text):
        raise ValueError("no address, which begins as http://HOST:PORT/v1 does")
    return text


class ModelTable(Table):
    """One model of the pool."""

    model: str = Field(min_length=1)
    """Name as litellm knows it, such as "gpt-5-mini" or "openai/my-model"."""
    weight: float = Field(default=1.0, gt=0)
    """How often it is asked compared with the others."""
    api_base: Annotated[str, AfterValidator(_address)] | None = None
    """Address of an OpenAI-compatible server, such as "http://127.0.0.1:8000/v1"."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature; default: the model's own. Not sent to models that take none."""
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """How long a reasoning model may think; default: the model's own."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of one reply, thoughts included. Under a budget in tokens or dollars 16384 by default."""
    timeout: Seconds = 600.0
    """Time limit of one call."""
    price_in: float | None = Field(default=None, ge=0)
    """Dollars per million prompt tokens, where litellm knows none."""
    price_out: float | None = Field(default=None, ge=0)
    """Dollars per million reply tokens, where litellm knows none."""
    context: int | None = Field(default=None, ge=256)
    """Tokens it takes, prompt and reply together, where that is not known by its name."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Most requests a minute, of all calls together."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Most tokens a minute, of prompts and replies together."""


class ModelsTable(Table):
    """Language models; none is needed."""

    pool: list[ModelTable] = []
    """The models that may be asked."""
    allow_secrets: list[str] = []
    """Globs of files that are sent although they hold what looks like a secret."""
    recording: str | None = None
    """Folder of a campaign whose replies are given again, so that nobody is asked (run --from-recording)."""
    prompts: str | None = None
    """Folder with prompts of your own, which take the place of those that `evolve prompts` shows."""


class PromotionTable(Table):
    """When a challenger becomes champion."""

    rule: Literal["auto", "strict", "evalue"] = "auto"
    """"strict": strictly better on the same cases; "evalue": proven better in paired runs; "auto": judge the
    baseline five times and take "evalue" if its scores differ."""
    minimum_gain: float = Field(default=0.0, ge=0)
    """How much better a challenger must be, in units of the objective."""
    no_worse: list[str] = []
    """Metrics that must not get worse, read in the direction of the objective; "-name": lower is better,
    "+name": higher is."""
    range: list[float] | None = Field(default=None, min_length=2, max_length=2)
    """Least and greatest value the objective can take; lets "evalue" use the size of differences."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Chance of any false champion under "evalue", in the whole campaign, while nothing is truly better."""
    pairs: int = Field(default=200, ge=5, le=100_000)
    """Most paired runs in one gate under "evalue"."""

    @model_validator(mode="after")
    def _some_range(self) -> PromotionTable:
        if self.range is not None and self.range[1] - self.range[0] <= self.minimum_gain:
            raise ValueError("range: its second number must be above the first, by more than minimum_gain")
        return self


class BudgetTable(Table):
    """Hard limits. With none given a campaign ends after 200 proposals."""

    proposals: int | None = Field(default=None, ge=1)
    """Proposals, also those that led nowhere."""
    evaluations: int | None = Field(default=None, ge=1)
    """Runs of the evaluator for the search, baseline and repeats included, holdout runs not."""
    wall: Seconds | None = None
    """Time the campaign runs, pauses between stop and resume not included."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens sent to and received from models."""
    usd: float | None = Field(default=None, gt=0)
    """Dollars for models."""

    def limits(self) -> dict[str, float]:
        """The limits that hold, the default one included."""
        given = {k: v for k, v in self.model_dump().items() if v is not None}
        return given or {"proposals": 200}


class Config(Table):
    """One campaign."""

    campaign: CampaignTable = CampaignTable()
    artifact: ArtifactTable
    evaluator: EvaluatorTable
    holdout: HoldoutTable = HoldoutTable()
    archive: ArchiveTable = ArchiveTable()
    search: SearchTable = SearchTable()
    operators: OperatorsTable = OperatorsTable()
    workers: WorkersTable = WorkersTable()
    models: ModelsTable = ModelsTable()
    promotion: PromotionTable = PromotionTable()
    budget: BudgetTable = BudgetTable()

    @model_validator(mode="after")
    def _sound(self) -> Config:
        held = set(self.holdout.cases or ())
        for stage in self.evaluator.stages:
            if seen := held.intersection(stage.cases or ()):
                raise ValueError(f"evaluator.stages: {min(seen)!r} is a case of the holdout")
        if self.evaluator.confidence is not None and self.promotion.range is None:
            raise ValueError("evaluator.confidence: give promotion.range, within which scores lie, too")
        if self.evaluator.confidence is not None and self.evaluator.chunk is None:
            raise ValueError("evaluator.confidence: give evaluator.chunk, how many cases a run judges, too")
        return self


def load(path: Path) -> Config:
    """Read and validate a configuration file.

    Raises:
        ConfigError: The file is missing, no TOML, or holds an unknown key or a wrong value, or a prompt of
            the campaign's own is unsound.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; `evolve init` writes one") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    config = parse(data, str(path))
    if config.models.prompts is not None:
        from evolve.prompts import templates

        templates.load(path.parent / config.models.prompts)
    return config


def parse(data: Mapping[str, Any], where: str = FILE_NAME) -> Config:
    """Validate a configuration given as nested tables.

    Args:
        data: The tables, as tomllib reads them.
        where: Name of the source for messages.

    Raises:
        ConfigError: One line on the first thing that is wrong.
    """
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{where}: {explain(error, Config)}") from None
