"""Evaluators of other systems: what the configuration says of them, and configurations made from theirs."""

from __future__ import annotations

from archives.errors import ConfigError
from evaluators.foreign import Foreign
from evolve.config import Config
from evolve.tables.judging import EvaluatorTable

_FILES = {"openevolve": "evaluator.py", "shinka": "evaluate.py", "gepa": "evaluator.py"}
_FUNCTIONS = {"openevolve": "evaluate", "shinka": "main", "gepa": "evaluate"}
_WILD = "*?["


def entry_point(table: EvaluatorTable) -> str | None:
    """File and function of an evaluator of another system, as "file.py:name"; None if it is our own."""
    if table.contract is None:
        return None
    file, _, name = (table.path or _FILES[table.contract]).partition(":")
    return f"{file}:{name or _FUNCTIONS[table.contract]}"


def foreign(config: Config) -> Foreign | None:
    """How the evaluator of another system is called; None if it is our own.

    Raises:
        ConfigError: The configuration does not say which file is the candidate.
    """
    table = config.evaluator
    if table.contract == "openevolve":
        ours = table.openevolve
        return Foreign(
            "openevolve",
            program=_program(config, ours.program),
            cascade=ours.cascade,
            thresholds=tuple(ours.thresholds),
            stage_timeout=ours.stage_timeout,
            retries=ours.retries,
            features=tuple(ours.features),
            arguments=ours.arguments,
        )
    if table.contract == "shinka":
        return Foreign(
            "shinka", program=_program(config, table.shinka.program), arguments=table.shinka.arguments
        )
    if table.contract == "gepa":
        its = table.gepa
        return Foreign(
            "gepa",
            program="" if its.components else _program(config, its.program),
            components=its.components,
            dataset=its.dataset or "",
            batch=its.batch or "",
            capture_stdio=its.capture_stdio,
            raise_on_exception=its.raise_on_exception,
        )
    return None


def files(config: Config) -> list[str]:
    """Files the evaluator of another system consists of, as far as the configuration names them."""
    entry = entry_point(config.evaluator)
    if entry is None:
        return []
    named = [entry, config.evaluator.gepa.dataset or ""]
    return [each.partition(":")[0] for each in named if each]


def _program(config: Config, given: str | None) -> str:
    if given is not None:
        return given
    include = config.artifact.include
    if len(include) == 1 and not any(sign in include[0] for sign in _WILD) and not include[0].endswith("/"):
        return include[0]
    raise ConfigError(
        f"evaluator.{config.evaluator.contract}.program: name the file that is handed to the evaluator; "
        f"artifact.include names more than one ({', '.join(include)})"
    )
