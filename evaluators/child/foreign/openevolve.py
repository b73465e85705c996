"""Evaluators of OpenEvolve: `evaluate(program_path)`, or `evaluate_stage1`, 2, 3 with thresholds.

As OpenEvolve 0.4.1 does it: the candidate is copied to a temporary file whose path is the one
positional argument; a dict or an `EvaluationResult` comes back; the fitness is `combined_score`, else the
mean of the numeric metrics that are no feature dimensions; with stages, a stage runs if the metrics before it
reach its threshold, and one that fails leaves the score of those before; an `evaluate` that raised is tried
again only where stages are turned off.

Unlike there, an evaluator that is a coroutine is awaited (there it scores 0 always), it runs in the main
thread (there signals fail), and a time-out ends what hangs (there it runs on).
"""

from __future__ import annotations

import inspect
import json
import math
import os
import sys
import tempfile
import traceback
import types
from typing import Any, Callable, Mapping

from ..channel import Channel, Failed
from ..starting import evaluator, prepare
from . import standins
from .common import Limit, artifacts_of, finite, headline, load, read_bytes, sections

_MODULE = "evaluation_module"


class _Result:
    """Metrics and artifacts so far, and which stages have run."""

    def __init__(self, metrics: dict[str, Any], artifacts: Mapping[str, Any]) -> None:
        self.metrics = metrics
        self.artifacts = dict(artifacts)
        self.stages: list[str] = []


def evaluate(config: Mapping[str, Any], request: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Judge the program; see the package."""
    options = config["foreign"]
    program = read_bytes(config, options["program"])
    prepare(config, evaluator(config))
    standins.openevolve()
    module = load(config, config["file"], _MODULE, channel)
    if not hasattr(module, "evaluate"):
        raise Failed(f"{config['file']} has no function evaluate")
    arguments = _arguments(module.evaluate, options["arguments"], config["file"])
    tries = 1 if options["cascade"] else options["retries"] + 1
    while True:
        path = _temporary(program, os.path.splitext(options["program"])[1])
        channel.watch.copies[path] = os.path.join(config["work"], options["program"])
        try:
            if options["cascade"] and hasattr(module, "evaluate_stage1"):
                return _report(_cascade(module, path, options, channel), options)
            return _report(_direct(module.evaluate, path, arguments, options, channel), options)
        except Failed:
            raise
        except Exception as error:  # whatever the evaluator raises, as there
            traceback.print_exc()
            tries -= 1
            if tries == 0:
                raise Failed(f"evaluate raised {headline(error)}") from None
        finally:
            if os.path.exists(path):
                os.unlink(path)


def _arguments(function: Callable[..., Any], wanted: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Check that the function takes what is configured for it."""
    if not wanted:
        return {}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return dict(wanted)
    try:
        signature.bind(object(), **wanted)
    except TypeError as error:
        raise Failed(
            f"evaluator.openevolve.arguments do not fit evaluate{signature} in {file}: {error}"
        ) from None
    return dict(wanted)


def _temporary(program: bytes, suffix: str) -> str:
    with tempfile.NamedTemporaryFile(suffix=suffix, delete=False) as file:
        file.write(program)
    return file.name


def _direct(
    function: Callable[..., Any],
    path: str,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any],
    channel: Channel,
) -> _Result:
    limit = options["stage_timeout"]
    with Limit(limit, channel, lambda: {"fault": f"evaluate reached its time limit of {limit:g} s"}):
        result = _taken(function(path, **arguments), "evaluate")
    result.stages = ["evaluate"]
    return result


def _cascade(module: types.ModuleType, path: str, options: Mapping[str, Any], channel: Channel) -> _Result:
    """Run the stages as far as the thresholds let them."""
    limit = options["stage_timeout"]
    thresholds = options["thresholds"]
    try:
        with Limit(limit, channel, lambda: {"fault": f"stage 1 reached its time limit of {limit:g} s"}):
            result = _taken(module.evaluate_stage1(path), "evaluate_stage1")
    except Failed:
        raise
    except Exception as error:
        traceback.print_exc()
        raise Failed(f"evaluate_stage1 raised {headline(error)}") from None
    result.stages = ["stage1"]
    for number in (2, 3):
        if len(thresholds) < number - 1 or not _passes(result.metrics, thresholds[number - 2]):
            break
        function = getattr(module, f"evaluate_stage{number}", None)
        if function is None or not _further(number, function, path, result, options, channel):
            break
    return result


def _further(
    number: int,
    function: Callable[..., Any],
    path: str,
    result: _Result,
    options: Mapping[str, Any],
    channel: Channel,
) -> bool:
    """Run stage 2 or 3 and merge what it says; return whether it went well."""
    name = f"stage{number}"
    result.stages.append(name)
    try:
        with Limit(options["stage_timeout"], channel, lambda: _late(result, name, options)):
            further = _taken(function(path), f"evaluate_{name}", lenient=True)
    except Exception as error:  # whatever the evaluator raises, the stages before it count
        trace = traceback.format_exc()
        sys.stderr.write(trace)
        result.artifacts.update(
            {f"{name}_stderr": str(error), f"{name}_traceback": trace, "failure_stage": name}
        )
        result.metrics[f"{name}_passed"] = 0.0
        return False
    before = _numbers(result.metrics) if number == 2 else result.metrics
    result.metrics = {**before, **_numbers(further.metrics)}
    result.artifacts.update(further.artifacts)
    return True


def _late(result: _Result, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Answer for a later stage that hangs: what is known without it counts."""
    result.metrics[f"{name}_passed"] = 0.0
    result.metrics["timeout"] = True
    result.artifacts.update({f"{name}_timeout": True, "failure_stage": name})
    return {"returned": json.dumps(_report(result, options))}


def _taken(value: Any, what: str, lenient: bool = False) -> _Result:
    """Read what a function returned."""
    if hasattr(value, "__await__"):
        value = _awaited(value)
    if isinstance(value, dict):
        return _Result(dict(value), {})
    known = getattr(sys.modules.get("openevolve.evaluation_result"), "EvaluationResult", None)
    if known is not None and isinstance(value, known):
        return _Result(dict(value.metrics), value.artifacts)
    if lenient:
        return _Result({"error": 0.0}, {})
    raise Failed(f"{what} returned a {type(value).__name__}, not a dict and no EvaluationResult")


def _awaited(value: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())


def _numbers(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is merged between stages: numbers as floats, flags as they are, no `error`."""
    return {
        name: value if isinstance(value, bool) else float(value)
        for name, value in metrics.items()
        if isinstance(value, (int, float)) and name != "error"
    }


def _passes(metrics: Mapping[str, Any], threshold: float) -> bool:
    score = metrics.get("combined_score")
    if isinstance(score, (int, float)):
        return float(score) >= threshold
    values = [
        float(value)
        for name, value in metrics.items()
        if name != "error" and isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    return bool(values) and sum(values) / len(values) >= threshold


def fitness(metrics: Mapping[str, Any], features: tuple[str, ...]) -> float | None:
    """Return the number that is maximised, finite or not; None if there is no number at all."""
    if "combined_score" in metrics:
        try:
            return float(metrics["combined_score"])
        except (TypeError, ValueError):
            pass
    numbers = {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
    }
    chosen = {name: value for name, value in numbers.items() if name not in features} or numbers
    if not chosen:
        return None
    total = sum(chosen.values())
    if not math.isfinite(total) and all(map(math.isfinite, chosen.values())):
        scale = max(map(abs, chosen.values()))
        return sum(value / scale for value in chosen.values()) / len(chosen) * scale
    return total / len(chosen)


def _report(result: _Result, options: Mapping[str, Any]) -> dict[str, Any]:
    features = tuple(options["features"])
    score = fitness(result.metrics, features)
    numbers, rest = finite(result.metrics)
    report: dict[str, Any] = {
        "metrics": numbers,
        "measures": {name: numbers[name] for name in features if name in numbers},
        "feedback": sections({"stages run": ", ".join(result.stages), **rest, **result.artifacts}),
        "artifacts": artifacts_of({**rest, **result.artifacts}),
    }
    if score is not None:
        report["score"] = score
    return report
