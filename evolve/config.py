"""`evolve.toml`: what a campaign is, validated before anything starts.

The string under each field is its documentation; the reference page is generated from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from archives.errors import ConfigError
from evolve.mistakes import explain
from evolve.tables.base import NAME, Seconds, Table, Width, all_different
from evolve.tables.judging import EvaluatorTable, HoldoutTable
from evolve.tables.proposing import ASKING, ModelsTable, OperatorsTable

FILE_NAME = "evolve.toml"


class CampaignTable(Table):
    """What the campaign is called and where it starts."""

    name: str = Field(default="", pattern=f"^({NAME})?$")
    """Name of the campaign, also of its folder. Default: the folder's name."""
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
        all_different([measure.name for measure in self.measures])
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


class WorkersTable(Table):
    """How much may be in flight."""

    propose: Width = "auto"
    """Proposals being made at a time; "auto": found out from how fast the models answer, refuse, and age."""
    evaluate: Width = "auto"
    """Evaluations at a time; "auto": one a processor (of the cluster, with a Ray executor), and on
    this machine more where they mostly wait for something else."""
    reflect: Annotated[int, Field(ge=0, le=64)] | Literal["auto"] = "auto"
    """Reflections at a time, by which a model writes lessons for later prompts; "auto": one; 0: none."""


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
        asks = bool(self.models.pool or self.operators.agent or set(self.operators.shares()) & set(ASKING))
        if not asks and self.budget.limits().keys() <= {"usd", "tokens"}:
            raise ValueError(
                "budget: usd and tokens limit what models take, and none is configured under [models]; "
                "give another limit, such as proposals = 200"
            )
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
