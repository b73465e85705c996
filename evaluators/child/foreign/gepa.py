"""Evaluators of GEPA: `evaluator(candidate[, example])`, or `batch_evaluator(pairs)`.

As GEPA 0.1.4 does it: the candidate is a text, or a dict of named texts; without a dataset the evaluator is
called once, with one once for each example; it returns a score, or a score and a dict of side information;
`oa.log()` goes into that; the candidate's score is the mean over the examples.

Unlike there, an evaluator whose second parameter is not called `example` gets the example all the same,
`(score, output, side information)` is taken from single evaluators too, examples are judged one after the
other, and `opt_state` is always that of a first evaluation, because evaluations know nothing of each other.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import math
import os
import sys
import traceback
from typing import Any, Callable, Dict, Iterator, Mapping, Sequence, Tuple

from ..channel import Channel, Failed
from ..starting import evaluator, prepare
from . import standins
from .common import (
    artifacts_of,
    finite,
    load,
    plain_number,
    read_bytes,
    sections,
)

Judged = Tuple[Any, Dict[str, Any]]
_CASE_FEEDBACK = 4000
_WORST = 5


def evaluate(config: Mapping[str, Any], request: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Judge the candidate; see the package."""
    options = config["foreign"]
    candidate = _candidate(config, options)
    prepare(config, evaluator(config))
    standins.gepa()
    module = load(config, config["file"], _module_name(config["file"]), channel)
    examples = _examples(config, options, request, channel)
    given = [None] if examples is None else [example for _, example in examples]
    if options["batch"]:
        results = _batch(_named(module, options["batch"], config["file"]), candidate, given, options)
    else:
        function = _named(module, config["name"], config["file"])
        results = [_single(function, candidate, example, examples is None, options) for example in given]
    components = list(options["components"])
    if examples is None:
        return _one(*results[0], components)
    return _many([name for name, _ in examples], results, components)


def _candidate(config: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    if not options["components"]:
        return _text(config, options["program"])
    return {name: _text(config, file) for name, file in options["components"].items()}


def _text(config: Mapping[str, Any], file: str) -> str:
    try:
        return read_bytes(config, file).decode("utf-8")
    except UnicodeDecodeError:
        raise Failed(f"the candidate's {file} is not UTF-8 text") from None


def _module_name(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


def _named(module: Any, name: str, file: str) -> Callable[..., Any]:
    if not hasattr(module, name):
        raise Failed(f"{file} has no function {name}")
    found: Callable[..., Any] = getattr(module, name)
    return found


def _examples(
    config: Mapping[str, Any], options: Mapping[str, Any], request: Mapping[str, Any], channel: Channel
) -> list[tuple[str, Any]] | None:
    """Return the examples that are asked for, each with its number as its name; None without a dataset."""
    where = options["dataset"]
    if not where:
        return None
    file, _, name = where.partition(":")
    if name:
        module = load(config, file, _module_name(file), channel)
        found = _named(module, name, file)
        rows = list(found() if callable(found) else found)
    else:
        text = _text(config, file)
        lines = file.endswith(".jsonl")
        rows = [json.loads(line) for line in text.splitlines() if line.strip()] if lines else json.loads(text)
    if not rows:
        raise Failed(f"{where} holds no example")
    named = [(str(number), row) for number, row in enumerate(rows)]
    if request["cases"] is None:
        return named
    known = dict(named)
    missing = [name for name in request["cases"] if name not in known]
    if missing:
        raise Failed(f"{where} has no example {missing[0]!r}: they are called 0 to {len(named) - 1}")
    return [(name, known[name]) for name in request["cases"]]


def _single(
    function: Callable[..., Any], candidate: Any, example: Any, alone: bool, options: Mapping[str, Any]
) -> Judged:
    """Call the evaluator for one example."""
    positional, named = _arguments(function, example, alone)
    with _logging() as log, _captured(options["capture_stdio"]) as streams:
        try:
            value = function(_copy(candidate), *positional, **named)
        except Exception as error:
            if options["raise_on_exception"]:
                raise
            traceback.print_exc()
            return 0.0, {"error": str(error), **_injected({}, log(), streams())}
        logged, printed = log(), streams()
    score, info = _taken(value)
    return score, {**info, **_injected(info, logged, printed)}


def _copy(candidate: Any) -> Any:
    return dict(candidate) if isinstance(candidate, dict) else candidate


def _arguments(function: Callable[..., Any], example: Any, alone: bool) -> tuple[list[Any], dict[str, Any]]:
    """Find out how the function wants its example, and whether it wants the state."""
    parameters = inspect.signature(function).parameters
    anything = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    named: dict[str, Any] = {}
    if anything or "opt_state" in parameters:
        named["opt_state"] = _state()
    if alone:
        return [], named
    if anything or "example" in parameters:
        return [], {"example": example, **named}
    places = [
        each
        for each in parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(places) > 1 and places[1].default is places[1].empty and places[1].name != "opt_state":
        return [example], named
    return [], named


def _state() -> Any:
    module = sys.modules.get("gepa.optimize_anything")
    return getattr(module, "OptimizationState", standins.OptimizationState)(best_example_evals=[])


@contextlib.contextmanager
def _logging() -> Iterator[Callable[[], str]]:
    """Take what `oa.log()` is given, of the package itself where it is installed."""
    module = sys.modules.get("gepa.optimize_anything", standins)
    context = module.LogContext()
    module.set_log_context(context)
    try:
        yield context.drain
    finally:
        module.set_log_context(None)


@contextlib.contextmanager
def _captured(wanted: bool) -> Iterator[Callable[[], dict[str, str]]]:
    if not wanted:
        yield dict
        return
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield lambda: {"stdout": out.getvalue(), "stderr": err.getvalue()}


def _injected(info: Mapping[str, Any], log: str, streams: Mapping[str, str]) -> dict[str, str]:
    """Return what was captured, under other names where the evaluator has taken these."""
    found = {name: text for name, text in {"log": log, **streams}.items() if text}
    return {f"_gepa_{name}" if name in info else name: text for name, text in found.items()}


def _taken(value: Any) -> Judged:
    if not isinstance(value, tuple):
        return value, {}
    if len(value) == 2:
        score, info = value
    elif len(value) == 3:
        score, _, info = value
    else:
        raise Failed(f"the evaluator returned {len(value)} values: return a score, or (score, side_info)")
    return score, dict(info) if info is not None else {}


def _batch(
    function: Callable[..., Any], candidate: Any, examples: Sequence[Any], options: Mapping[str, Any]
) -> list[Judged]:
    """Call the batch evaluator with all pairs at once."""
    parameters = inspect.signature(function).parameters
    anything = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    named = {}
    if anything or "opt_states" in parameters:
        named["opt_states"] = [_state() for _ in examples]
    try:
        results = list(function([(_copy(candidate), example) for example in examples], **named))
    except Exception as error:
        if options["raise_on_exception"]:
            raise
        traceback.print_exc()
        return [(0.0, {"error": str(error)}) for _ in examples]
    if len(results) != len(examples):
        raise Failed(f"{options['batch']} returned {len(results)} results for {len(examples)} pairs")
    return [_batched(result) for result in results]


def _batched(result: Any) -> Judged:
    if not isinstance(result, (list, tuple)):
        return float(result), {}
    info = result[2] if len(result) > 2 else result[1] if len(result) > 1 else {}
    if info is not None and not isinstance(info, dict):
        raise Failed(f"side information is a {type(info).__name__}, not a dict")
    return float(result[0]), dict(info or {})


def _objectives(info: Mapping[str, Any], components: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(info.get("scores"), dict):
        found.update(info["scores"])
    for component in components:
        specific = info.get(f"{component}_specific_info")
        if isinstance(specific, dict) and isinstance(specific.get("scores"), dict):
            found.update({f"{component}::{name}": value for name, value in specific["scores"].items()})
    return finite(found)[0]


def _words(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return side information under the names that reflection shows it under."""
    return {"Scores (Higher is Better)" if name == "scores" else name: value for name, value in info.items()}


def _one(score: Any, info: Mapping[str, Any], components: Sequence[str]) -> dict[str, Any]:
    return {
        "score": _number(score),
        "metrics": _objectives(info, components),
        "feedback": sections(_words(info)),
        "artifacts": artifacts_of(info),
    }


def _many(names: Sequence[str], results: Sequence[Judged], components: Sequence[str]) -> dict[str, Any]:
    scores = [_number(score) for score, _ in results]
    cases = {
        name: {"score": score, "feedback": sections(_words(info))[:_CASE_FEEDBACK]}
        for name, score, (_, info) in zip(names, scores, results)
    }
    report: dict[str, Any] = {"cases": cases, "metrics": _means(results, components)}
    if all(plain_number(score) is not None for score in scores):
        report["score"] = sum(map(float, scores)) / len(scores)
        worst = sorted(zip(scores, names), key=lambda pair: float(pair[0]))[:_WORST]
        parts = {f"example {name} (score {float(score):g})": cases[name]["feedback"] for score, name in worst}
        report["feedback"] = sections({name: text for name, text in parts.items() if text})
    return report


def _number(score: Any) -> Any:
    """Return a score as JSON can hold it; what is no number stays what it is and is refused later."""
    found = plain_number(score)
    if found is not None:
        return found
    return float(score) if isinstance(score, float) and not math.isfinite(score) else str(score)


def _means(results: Sequence[Judged], components: Sequence[str]) -> dict[str, float]:
    gathered: dict[str, list[float]] = {}
    for _, info in results:
        for name, value in _objectives(info, components).items():
            gathered.setdefault(name, []).append(float(value))
    return {name: sum(values) / len(values) for name, values in gathered.items()}
