"""Run cases by GEPA itself: `.../gepa/bin/python record_gepa.py CASE ...`, which `compare.py` does."""

import contextlib
import importlib.util
import os
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import cases

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluator", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["evaluator"] = module
    spec.loader.exec_module(module)
    return module


def record(folder: Path) -> dict[str, Any]:
    case = cases.read(folder)
    options = case.get("gepa", {})
    base = {"version": version("gepa")}
    with cases.workplace(folder) as (work, _), contextlib.redirect_stdout(sys.stderr):
        module = load(work / "evaluator.py")
        texts = {name: (work / file).read_text() for name, file in options.get("components", {}).items()}
        dataset = getattr(module, options["dataset"].partition(":")[2]) if "dataset" in options else None
        batch = options.get("batch")
        config = GEPAConfig(
            engine=EngineConfig(
                max_metric_calls=len(dataset) if dataset else 1,
                raise_on_exception=options.get("raise_on_exception", True),
                capture_stdio=options.get("capture_stdio", False),
            ),
            reflection=ReflectionConfig(reflection_lm=lambda prompt: "```\nunused\n```"),
        )
        try:
            result = optimize_anything(
                seed_candidate=texts or (work / case.get("program", "candidate.txt")).read_text(),
                evaluator=None if batch else module.evaluate,
                batch_evaluator=getattr(module, batch) if batch else None,
                dataset=dataset,
                config=config,
            )
        except Exception as error:
            return {
                **base,
                "failed": True,
                "score": None,
                "cases": {},
                "info": {},
                "objectives": {},
                "error": str(error),
            }
    outputs = {str(key): found[0][1] for key, found in (result.best_outputs_valset or {}).items()}
    return {
        **base,
        "failed": False,
        "score": result.val_aggregate_scores[0],
        "cases": {str(key): score for key, score in result.val_subscores[0].items()},
        "info": {key: output[2] for key, output in outputs.items()},
        "objectives": (result.val_aggregate_subscores or [{}])[0],
    }


if __name__ == "__main__":
    cases.main(record)
