"""Who judges: the evaluator, its stages, the contracts of other systems, the holdout."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from archives.records import FULL
from evolve.tables.base import NAME, Bytes, Cases, Seconds, Table, all_different

TOP = r"top ([1-9]\d?)%"
"""A gate that lets the best share of all candidates pass."""


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
        if self.benchmark and re.fullmatch(r"\S+(?<!\.py):[A-Za-z_]\w*", self.benchmark):
            raise ValueError(
                f'benchmark: name a function with its file, as "bench.py:work", not {self.benchmark}'
            )
        if self.path is not None and self.contract is None:
            raise ValueError("path is for evaluators of other systems; give their contract too")
        for name in ("openevolve", "shinka", "gepa"):
            if getattr(self, name) != type(self).model_fields[name].get_default() and self.contract != name:
                raise ValueError(f'the table {name} needs contract = "{name}"')
        return self

    @model_validator(mode="after")
    def _sound_stages(self) -> EvaluatorTable:
        all_different([stage.name for stage in self.stages])
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
