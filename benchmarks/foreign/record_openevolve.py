"""Run cases by OpenEvolve itself: `.../openevolve/bin/python record_openevolve.py CASE ...`, which `compare.py` does."""

import asyncio
import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cases
from openevolve.config import EvaluatorConfig
from openevolve.evaluator import Evaluator
from openevolve.utils.metrics_utils import get_fitness_score

NAMES = {"cascade": "cascade_evaluation", "thresholds": "cascade_thresholds", "stage_timeout": "timeout"}
NAMES |= {"retries": "max_retries", "arguments": "evaluator_args"}
FAILURE = {"error": 0.0}


def record(folder: Path) -> dict[str, Any]:
    case = cases.read(folder)
    options = dict(case.get("openevolve", {}))
    features = options.pop("features", ["complexity", "diversity"])
    config = EvaluatorConfig(**{NAMES[name]: value for name, value in options.items()})
    program = case.get("program", "initial_program.py")
    base = {"version": version("openevolve")}
    with cases.workplace(folder) as (work, temporary):
        path, modules = list(sys.path), set(sys.modules)
        try:
            evaluator = Evaluator(config, str(work / "evaluator.py"), suffix=Path(program).suffix)
            text = (work / program).read_text()
            metrics = asyncio.run(evaluator.evaluate_program(text, "program"))
        except Exception as error:
            return {
                **base,
                "failed": True,
                "score": None,
                "metrics": {},
                "artifacts": [],
                "ran": [],
                "error": str(error),
            }
        finally:
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if str(work) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
        ran = cases.ran(temporary)
    # What the host says of a program that it could not judge; an evaluator's own words never look so.
    host = {"error", "timeout", "stage1_passed"}
    failed = metrics.get("error") == 0.0 and set(metrics) <= host
    artifacts = sorted(evaluator.get_pending_artifacts("program") or {})
    return {
        **base,
        "failed": failed,
        "score": get_fitness_score(metrics, features),
        "metrics": metrics,
        "artifacts": artifacts,
        "ran": ran,
    }


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    cases.main(record)
