"""Evaluators of ShinkaEvolve: a program that writes `metrics.json` and `correct.json` into a folder.

As ShinkaEvolve 0.0.7 does it: `evaluate.py --program_path FILE --results_dir FOLDER [--key value ...]`; the
exit code does not count; no `correct.json` means incorrect; no `combined_score` in a correct program's
metrics means 0.

Unlike there, the evaluator runs from its own folder, so what it imports from beside it is found; an incorrect
program has no score at all; a score that is no finite number never counts; a time-out kills everything; and
results count only if the evaluator came to its own end: there a program may write results of its own and
leave, or hang until it is killed.

The evaluator runs in a fork that does not hold the way to the runner. It leaves a note at its end with a word
in it that only the two know; what is judged is what it left in the folder, read here.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
import threading
import traceback
from typing import Any, Mapping

from .. import function
from ..channel import Channel, Failed
from ..result import read_result
from ..starting import evaluator, prepare
from . import standins
from .common import artifacts_of, finite, plain_number, read_bytes, scratch, sections, text_of

_NOTE = "note.json"


def evaluate(config: Mapping[str, Any], request: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """Judge the program; see the package."""
    options = config["foreign"]
    program = read_bytes(config, options["program"])
    place = scratch(config, "gen_0")
    results = scratch(config, "gen_0/results")
    path = os.path.join(place, "main" + os.path.splitext(options["program"])[1])
    with open(path, "wb") as file:
        file.write(program)
    channel.watch.copies[path] = os.path.join(config["work"], options["program"])
    script = evaluator(config)
    if not os.path.isfile(script):
        raise Failed(f"{config['file']} is not in the checkout")
    arguments = [script, "--program_path", path, "--results_dir", results]
    for name, value in options["arguments"].items():
        arguments += [f"--{name}", str(value)]
    prepare(config, script)
    ended = _run(config, arguments, place, channel)
    return _judged(results, ended)


def _run(config: Mapping[str, Any], arguments: list[str], place: str, channel: Channel) -> str:
    """Run the evaluator to its end and return how it ended, if that was not well.

    Raises:
        Failed: It did not come to its own end.
    """
    os.environ.update(PYTHONUNBUFFERED="1", PYTHONIOENCODING="utf-8")
    sys.stdout.flush()
    word = os.urandom(16).hex()
    pid = os.fork()
    if pid == 0:
        _become(config, arguments, os.path.join(place, _NOTE), word, channel)
    status = os.waitpid(pid, 0)[1]
    note = _read(place, _NOTE)
    if not isinstance(note, dict) or note.pop("word", None) != word:
        if os.WIFSIGNALED(status):
            raise Failed(f"the evaluator was killed by signal {os.WTERMSIG(status)}")
        early = f"the evaluator's process ended with exit {os.WEXITSTATUS(status)} before its own end"
        raise Failed(f"tampering: {early}" if os.WEXITSTATUS(status) == 0 else early)
    channel.instead = note
    code = os.WEXITSTATUS(status)
    return f"the evaluator ended with exit {code}" if code else ""


def _become(config: Mapping[str, Any], arguments: list[str], note: str, word: str, channel: Channel) -> None:
    """Be `python evaluate.py ...`; does not return."""
    code = 1
    try:
        channel.close()
        sys.argv = arguments
        standins.shinka()
        try:
            runpy.run_path(arguments[0], run_name="__main__")
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
            if isinstance(left.code, str):
                sys.stderr.write(left.code + "\n")
        except BaseException:  # shown like the interpreter shows it
            traceback.print_exc()
        _end_threads()
        _leave_note(config, note, word, channel)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(code & 0xFF)


def _leave_note(config: Mapping[str, Any], note: str, word: str, channel: Channel) -> None:
    """Say that this is the end, what has been noticed, and which libraries the next evaluation will want."""
    modules = function.libraries(config, frozenset(sys.builtin_module_names)) if config["warm"] else None
    with open(note, "w", encoding="utf-8") as file:
        json.dump({"word": word, "modules": modules, **channel.noticed()}, file)


def _end_threads() -> None:
    """Do what the interpreter does at its end: wait for threads, then run what was registered."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()


def _judged(results: str, ended: str) -> dict[str, Any]:
    correct = _read(results, "correct.json")
    metrics = _read(results, "metrics.json")
    if not isinstance(correct, dict):
        why = "it wrote no correct.json" if correct is None else "correct.json holds no JSON object"
        raise Failed(f"{ended}; {why}" if ended else why)
    if not correct.get("correct", False):
        said = str(correct.get("error") or "the evaluator calls the program incorrect")
        raise Failed(f"{said}; {ended}" if ended else said)
    return _report(metrics if isinstance(metrics, dict) else {})


def _read(place: str, name: str) -> Any:
    """Return what a file holds: None if there is none, False if it is no JSON."""
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        data, problem = read_result(folder, name)
    finally:
        os.close(folder)
    if problem is not None:
        return False
    if data is None:
        return None
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return False


def _report(metrics: Mapping[str, Any]) -> dict[str, Any]:
    public = metrics.get("public")
    public = public if isinstance(public, dict) else {}
    numbers, rest = finite(public)
    hidden = ("combined_score", "public", "private", "text_feedback", "extra_data")
    others = {name: value for name, value in metrics.items() if name not in hidden}
    numbers = {**finite(others)[0], **numbers}
    if plain_number(metrics.get("combined_score", 0.0)) is not None:
        numbers["combined_score"] = plain_number(metrics.get("combined_score", 0.0))
    said: dict[str, Any] = {}
    if "combined_score" not in metrics:
        said["note"] = "metrics.json has no combined_score; it counts as 0, as in ShinkaEvolve"
    said.update(rest)
    feedback = text_of(metrics.get("text_feedback") or "").strip()
    return {
        "score": metrics.get("combined_score", 0.0),
        "metrics": numbers,
        "feedback": "\n".join(part for part in (feedback, sections(said)) if part),
        "artifacts": artifacts_of(rest),
    }
