"""`run_shinka_eval`, for evaluators of ShinkaEvolve where that package is not installed.

The same calls in the same order, the same files and words as in ShinkaEvolve 0.0.7; numpy is not needed.
Early stopping by "bayesian", "ci" or "hybrid" takes scipy's distributions and is left to the package itself.
"""

from __future__ import annotations

import concurrent.futures
import importlib.util
import json
import math
import multiprocessing
import os
import pickle
import statistics
import time
import types
from dataclasses import dataclass
from typing import Any, Callable

__all__ = [
    "DEFAULT_METRICS_ON_ERROR",
    "EarlyStopDecision",
    "EarlyStopMethod",
    "NoEarlyStop",
    "load_program",
    "run_shinka_eval",
    "save_json_results",
]

DEFAULT_METRICS_ON_ERROR: dict[str, Any] = {
    "combined_score": 0.0,
    "execution_time_mean": 0.0,
    "execution_time_std": 0.0,
    "num_successful_runs": 0,
    "num_valid_runs": 0,
    "num_invalid_runs": 0,
    "all_validation_errors": [],
}


@dataclass
class EarlyStopDecision:
    """Whether further runs are of use."""

    should_stop: bool
    prediction: str
    confidence: float
    trials_used: int
    reason: str | None = None


class EarlyStopMethod:
    """Base of the user's own methods."""

    name = "early stop"

    def check(self, scores: list[float], threshold: float) -> EarlyStopDecision:
        """Decide from the scores so far."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget earlier scores."""


class NoEarlyStop(EarlyStopMethod):
    """Never stops."""

    name = "no_early_stop"

    def check(self, scores: list[float], threshold: float) -> EarlyStopDecision:
        """Go on."""
        return EarlyStopDecision(False, "uncertain", 0.5, len(scores), "early stopping disabled")


class _Tally:
    """What the runs have given so far."""

    def __init__(self, validate: Callable[[Any], tuple[bool, str | None]] | None) -> None:
        self._validate = validate
        self.results: list[Any] = []
        self.seconds: list[float] = []
        self.valid = 0
        self.errors: list[str] = []
        self.correct = True
        self.error: str | None = None

    def add(self, result: Any, seconds: float) -> None:
        self.results.append(result)
        self.seconds.append(seconds)
        if self._validate is None:
            return
        good, message = self._validate(result)
        if good:
            self.valid += 1
            return
        self.correct = False
        if message:
            self.fail(f"Validation failed: {message}")
            if message not in self.errors:
                self.errors.append(message)

    def fail(self, message: str) -> None:
        self.correct = False
        self.error = self.error or message

    def metrics(self, aggregate: Callable[[list[Any]], dict[str, Any]] | None) -> dict[str, Any]:
        found: dict[str, Any]
        if aggregate is not None:
            found = aggregate(self.results)
        else:
            found = {
                "num_successful_runs": len(self.results),
                "first_run_result_type": str(type(self.results[0])) if self.results else "N/A",
                "raw_results_preview": str(self.results[:2]) if self.results else "N/A",
            }
        found["execution_time_mean"] = statistics.fmean(self.seconds) if self.seconds else 0.0
        found["execution_time_std"] = statistics.pstdev(self.seconds) if self.seconds else 0.0
        if self._validate is not None:
            found["num_valid_runs"] = self.valid
            found["num_invalid_runs"] = len(self.results) - self.valid
            found["all_validation_errors"] = self.errors
        return found


def run_shinka_eval(
    program_path: str,
    results_dir: str,
    experiment_fn_name: str,
    num_runs: int,
    get_experiment_kwargs: Callable[[int], dict[str, Any]] | None = None,
    aggregate_metrics_fn: Callable[[list[Any]], dict[str, Any]] | None = None,
    validate_fn: Callable[[Any], tuple[bool, str | None]] | None = None,
    plotting_fn: Callable[[Any], list[Any]] | None = None,
    default_metrics_on_error: dict[str, Any] | None = None,
    early_stop_method: str | EarlyStopMethod | None = None,
    early_stop_threshold: float | None = None,
    early_stop_score_fn: Callable[[Any], float] | None = None,
    early_stop_kwargs: dict[str, Any] | None = None,
    run_workers: int = 1,
    max_workers_cap: int | None = None,
) -> tuple[dict[str, Any], bool, str | None]:
    """Run a function of the program some times and write what came of it into two files."""
    workers = _workers(num_runs, run_workers, max_workers_cap)
    stopper = _stopper(early_stop_method, early_stop_threshold, workers)
    tally = _Tally(validate_fn)
    try:
        function = _function(program_path, experiment_fn_name)
        arguments = get_experiment_kwargs or (lambda index: {"seed": index + 1})
        decision: EarlyStopDecision | None = None
        if workers > 1:
            _run_side_by_side(program_path, experiment_fn_name, num_runs, arguments, workers, tally)
        else:
            for index in range(num_runs):
                given = arguments(index)
                start = time.perf_counter()
                result = function(**given)
                tally.add(result, time.perf_counter() - start)
                if stopper is not None:
                    decision = stopper.step(result, early_stop_score_fn) or decision
                    if decision is not None and decision.should_stop:
                        break
        metrics = tally.metrics(aggregate_metrics_fn)
        if stopper is not None:
            metrics["early_stop"] = stopper.facts(decision, len(tally.results), num_runs)
        _check_score(metrics, tally)
    except Exception as error:
        print(f"Evaluation error: {error}")
        defaults = dict(default_metrics_on_error or DEFAULT_METRICS_ON_ERROR)
        metrics = {name: defaults.get(name, value) for name, value in DEFAULT_METRICS_ON_ERROR.items()}
        tally.correct, tally.error = False, str(error)
    if "extra_data" in metrics:
        os.makedirs(results_dir, exist_ok=True)
        with open(os.path.join(results_dir, "extra.pkl"), "wb") as file:
            pickle.dump(metrics.pop("extra_data"), file)
    save_json_results(results_dir, metrics, tally.correct, tally.error)
    return metrics, tally.correct, tally.error


def load_program(program_path: str) -> types.ModuleType:
    """Import the program under the name `program`."""
    spec = importlib.util.spec_from_file_location("program", program_path)
    if spec is None or spec.loader is None:
        raise ImportError(f"Could not load spec for module at {program_path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_json_results(
    results_dir: str, metrics: dict[str, Any], correct: bool, error: str | None = None
) -> None:
    """Write the two files that are read back."""
    os.makedirs(results_dir, exist_ok=True)
    for name, content in (("correct.json", {"correct": correct, "error": error}), ("metrics.json", metrics)):
        with open(os.path.join(results_dir, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=4)


def _workers(runs: int, wanted: int, cap: int | None) -> int:
    if wanted < 1:
        raise ValueError("run_workers must be >= 1")
    if cap is not None and cap < 1:
        raise ValueError("max_workers_cap must be >= 1 when provided")
    return max(1, min(wanted, runs, *([cap] if cap is not None else [])))


def _function(program_path: str, name: str) -> Callable[..., Any]:
    module = load_program(program_path)
    if not hasattr(module, name):
        raise AttributeError(f"Experiment function '{name}' not found in {program_path}")
    found: Callable[..., Any] = getattr(module, name)
    return found


def _run_one(program_path: str, name: str, arguments: dict[str, Any]) -> tuple[Any, float]:
    function = _function(program_path, name)
    start = time.perf_counter()
    result = function(**arguments)
    return result, time.perf_counter() - start


def _run_side_by_side(
    path: str,
    name: str,
    runs: int,
    arguments: Callable[[int], dict[str, Any]],
    workers: int,
    tally: _Tally,
) -> None:
    context = multiprocessing.get_context("fork")  # another way could not find this module again
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(_run_one, path, name, arguments(index)) for index in range(runs)]
        for index, future in enumerate(futures):
            try:
                future.result()
            except Exception as error:
                raise RuntimeError(
                    f"Run {index + 1}/{runs} failed in parallel evaluation: {error}."
                ) from error
    for future in futures:
        tally.add(*future.result())


class _Stopper:
    """The user's method of early stopping and the scores it has seen."""

    def __init__(self, method: EarlyStopMethod, threshold: float) -> None:
        self._method = method
        self._threshold = threshold
        self._scores: list[float] = []
        method.reset()

    def step(self, result: Any, score_of: Callable[[Any], float] | None) -> EarlyStopDecision | None:
        score = _score(result, score_of)
        if score is None:
            return None
        self._scores.append(score)
        return self._method.check(self._scores, self._threshold)

    def facts(self, decision: EarlyStopDecision | None, done: int, wanted: int) -> dict[str, Any]:
        return {
            "method": self._method.name,
            "threshold": self._threshold,
            "triggered": decision.should_stop if decision else False,
            "runs_completed": done,
            "runs_requested": wanted,
            "prediction": decision.prediction if decision else "uncertain",
            "confidence": decision.confidence if decision else 0.0,
            "reason": decision.reason if decision else None,
            "scores": self._scores,
        }


def _stopper(method: str | EarlyStopMethod | None, threshold: float | None, workers: int) -> _Stopper | None:
    if method is None:
        return None
    if workers > 1:
        raise ValueError("Early stopping is only supported in sequential mode (set run_workers=1).")
    if threshold is None:
        raise ValueError("early_stop_threshold is required when early_stop_method is set")
    if isinstance(method, str):
        if method.lower() not in ("none", "no_early_stop"):
            raise ValueError(
                f"early_stop_method={method!r} needs the package shinka-evolve in the interpreter that "
                "evaluator.python names"
            )
        method = NoEarlyStop()
    return _Stopper(method, threshold)


def _score(result: Any, score_of: Callable[[Any], float] | None) -> float | None:
    if score_of is not None:
        try:
            return score_of(result)
        except Exception as error:
            print(f"Warning: early_stop_score_fn failed: {error}")
            return None
    if isinstance(result, (int, float)):
        return float(result)
    return float(result["score"]) if isinstance(result, dict) and "score" in result else None


def _check_score(metrics: dict[str, Any], tally: _Tally) -> None:
    if "combined_score" in metrics:
        score = metrics["combined_score"]
        if math.isnan(score):
            tally.fail("combined_score is NaN")
        elif math.isinf(score):
            tally.fail(f"combined_score is inf ({score})")
