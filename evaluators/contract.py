"""The evaluator contract, version 1: what is asked, what is answered, and the one place where it is judged.

An answer is hostile until proven sound: it may be written by the candidate, cut short by a full disk, a
hundred thousand brackets deep or full of numbers that are none. Three rules follow.

1. `judge` never raises, whatever the bytes are: what cannot be read is an *invalid* result with a reason.
2. Nothing is guessed. A string is not a number, half a result is no result, standard output is the result
   only if nothing was written to the result file, and no other number stands in for a missing objective.
3. What passes is plain data: finite floats, bounded text without terminal escapes or unpaired surrogates, so
   that no later stage (journal, prompt, terminal) has to look again.

pydantic is not used here: a lax model turns "0.83" into 0.83, a strict one refuses true, neither sees a key
that occurs twice, and the reasons have to be sentences that name the case or the metric.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from archives.records import CaseScore, Split, Verdict
from evaluators.reading import Result, ResultError, read_line, read_result
from evaluators.text import one_line, plain, tail

VERSION = 1
EXIT_COULD_NOT_JUDGE = 75
"""EX_TEMPFAIL: the evaluator's trouble, not the candidate's."""
FEEDBACK_BYTES = 8 * 1024
"""How much of a failed evaluation's standard error becomes feedback."""

KilledFor = Literal["memory", "processes"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the evaluator is asked.

    Attributes:
        candidate: Hash that names the candidate.
        stage: Stage of a staged evaluator.
        split: Which cases are judged.
        cases: Names of the cases to judge; None leaves the choice to the evaluator.
        seed: Seed for whatever the evaluator draws.
    """

    candidate: str
    stage: str = "full"
    split: Split = "search"
    cases: tuple[str, ...] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one evaluation; the fields mean what they mean in `archives.records.Evaluation`."""

    verdict: Verdict
    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    cases: tuple[CaseScore, ...] = ()
    measures: Mapping[str, float | str] = field(default_factory=dict)
    feedback: str = ""
    reason: str | None = None
    artifacts: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1
    inside: tuple[str, ...] = ()
    """Files of the checkout that ran in the evaluator's own process, as far as is known."""
    isolated: int = 0
    """Programs that the evaluator ran behind a second wall."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What an evaluator's process left behind.

    Attributes:
        exit: Exit code; None if a signal ended it.
        signal: Signal that ended it.
        timed_out: Whether it was killed at the time limit.
        stdout: Standard output, cut in the middle if it was long.
        stderr: Standard error, cut likewise.
        result: Content of the result file, or what the function returned; None if there was none.
        seconds: Wall time.
        cpu_seconds: Processor time of the whole tree.
        killed_for: Which limit it was killed for, the time limit aside.
        limit: The time limit in seconds, to be named in the reason.
        fault: Why it counts as failed although the exit code may be 0, such as an exception of the function.
        result_problem: Why the result file cannot be read, such as being a link.
        last_line: Last non-empty line of the uncut standard output.
        own_line: Last non-empty line that the evaluator's own process printed, where that can be told.
        wrote_result: Whether its own process wrote the result file, where that can be told.
        tampering: Evidence that the candidate has touched what judges it, each one a sentence.
        inside: See `Outcome`.
        isolated: See `Outcome`.
    """

    exit: int | None = None
    signal: int | None = None
    timed_out: bool = False
    stdout: bytes = b""
    stderr: bytes = b""
    result: bytes | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    killed_for: KilledFor | None = None
    limit: float | None = None
    fault: str | None = None
    result_problem: str | None = None
    last_line: bytes | None = None
    own_line: bytes | None = None
    wrote_result: bool | None = None
    tampering: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    isolated: int = 0


class Tampering(Exception):
    """The result is not the evaluator's; the message is the evidence."""


def judge(finished: Finished, objective: str, request: Request) -> Outcome:
    """Turn what an evaluator left into a verdict; never raises.

    Args:
        finished: What the evaluator's process left behind.
        objective: "score", or the name of the metric that is optimised.
        request: What it was asked.
    """
    ended = ended_badly(finished)
    if ended is not None:
        return _unjudged(finished, *ended)
    try:
        result = _result_of(finished)
        score = _objective(result, objective)
        _check_cases(result, request)
    except ResultError as error:
        return _unjudged(finished, "invalid", str(error))
    except Tampering as error:
        return _unjudged(finished, "tampered", f"tampering: {error}")
    return Outcome(
        verdict="judged",
        score=score,
        metrics=result.metrics,
        cases=result.cases,
        measures=result.measures,
        feedback=result.feedback,
        artifacts=result.artifacts,
        seconds=finished.seconds,
        cpu_seconds=finished.cpu_seconds,
        inside=finished.inside,
        isolated=finished.isolated,
    )


def ended_badly(finished: Finished) -> tuple[Verdict, str] | None:
    """The verdict on a process that did not come to a good end, and why; None where it did."""
    if finished.timed_out:
        limit = "" if finished.limit is None else f" of {finished.limit:g} s"
        return "failed", f"time limit{limit} reached"
    if finished.killed_for == "memory":
        return "failed", "memory limit exceeded: killed"
    if finished.killed_for == "processes":
        return "failed", "too many processes: killed"
    if finished.tampering:
        return "tampered", "tampering: " + "; ".join(finished.tampering)
    if finished.fault is not None:
        return "failed", finished.fault
    if finished.signal is not None:
        return "failed", f"killed by signal {_signal_name(finished.signal)}"
    if finished.exit == EXIT_COULD_NOT_JUDGE:
        return "could_not_judge", _with_last_line("exit 75", finished.stderr)
    if finished.exit != 0:
        return "failed", _with_last_line(f"exit {finished.exit}", finished.stderr)
    return None


def _unjudged(finished: Finished, verdict: Verdict, reason: str) -> Outcome:
    said = finished.stderr if finished.stderr.strip() else finished.stdout
    return Outcome(
        verdict=verdict,
        feedback=tail(plain(said), FEEDBACK_BYTES),
        reason=one_line(reason),
        seconds=finished.seconds,
        cpu_seconds=finished.cpu_seconds,
        inside=finished.inside,
        isolated=finished.isolated,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _with_last_line(what: str, stderr: bytes) -> str:
    lines = plain(stderr[-FEEDBACK_BYTES:]).rstrip().rsplit("\n", 1)
    return f"{what}: {lines[-1].strip()}" if lines[-1].strip() else what


def _result_of(finished: Finished) -> Result:
    """Read the result: from the file, else the script's own last line, else that of what it has started."""
    own = _readable(finished.own_line)
    if finished.result_problem is not None:
        raise ResultError(finished.result_problem)
    if finished.result is not None:
        result = read_result(finished.result)
        if own is not None and own != result and finished.wrote_result is False:
            raise Tampering(
                "the evaluator printed one result, another process wrote a different one to the result file"
            )
        return result
    if own is not None:
        return own
    return read_line(finished.stdout if finished.last_line is None else finished.last_line)


def _readable(line: bytes | None) -> Result | None:
    if not line:
        return None
    try:
        return read_line(line)
    except ResultError:
        return None


def _objective(result: Result, objective: str) -> float:
    if objective == "score":
        if result.score is None:
            raise ResultError("the objective 'score' is missing from the result")
        return result.score
    if objective not in result.metrics:
        names = ", ".join(repr(name) for name in sorted(result.metrics)[:8]) or "none"
        raise ResultError(f"the objective {objective!r} is not among the metrics of the result ({names})")
    return result.metrics[objective]


def _check_cases(result: Result, request: Request) -> None:
    if request.cases is None:
        return
    given = {case.name for case in result.cases}
    asked = set(request.cases)
    unknown = [case.name for case in result.cases if case.name not in asked]
    if unknown:
        raise ResultError(f"case {unknown[0]!r} was not asked for ({len(unknown)} such)")
    missing = [name for name in request.cases if name not in given]
    if missing:
        raise ResultError(f"case {missing[0]!r} was asked for and is missing ({len(missing)} such)")
