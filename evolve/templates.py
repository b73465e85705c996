"""The texts that `evolve init` writes."""

from __future__ import annotations

import json

from evolve.detect import Detected, Guess

_NO_FILES = "NAME-THE-FILES"

_CONFIGURATION = """\
# One campaign of Evolve. `evolve check` tries it, `evolve run` runs it.
# Lines that begin with "# name =" show other settings with their defaults or an example.

[campaign]
{name}
# What should get better, in words; shown to models and in reports.
goal = ""
# base = "HEAD"             # commit, branch or tag to start from
# seed = 0

[artifact]
# Globs of the files that may change; everything else is protected.{include_why}
include = {include}

[evaluator]
# Who judges, in a clean checkout of each candidate.{evaluator_why}
{evaluator}
objective = "score"         # or the name of a metric
direction = "maximize"      # or "minimize"
timeout = "60s"             # of one evaluation; then its whole process tree is killed
{python}
# repeats = 1               # judge each candidate more than once, with seeds 0, 1, ...
# cases = ["a", "b"]        # names handed to the evaluator, all of which must be in its result
# setup = "make build"      # once, before the first evaluation
# data = ["data/"]          # untracked files that evaluations may read
# env = ["HF_HOME"]         # environment variables they may see
# network = false
# memory = "2GiB"
# cpus = 1
# threads = 1

# [holdout]                 # what no search ever sees; only promotion reads it
# cases = ["c", "d"]
# files = ["holdout/**"]

# [archive]                 # axes along which different candidates are kept
# measures = [{{ name = "lines", bins = 10 }}, {{ name = "distance", bins = 10 }}]

# [operators]               # shares; those named are the only ones, none named: all that can run here
# tune = 1                  # numbers in the files, by CMA-ES
# mutate = 1                # syntax of Python files
# crossover = 1             # merges of two lineages
# edit = 1                  # edits by a language model

# [models]                  # none is needed
# pool = [{{ model = "gpt-5-mini" }}]

# [promotion]               # when a challenger becomes champion
# minimum_gain = 0.0
# no_worse = ["metric"]

[budget]                    # hard limits
proposals = 200
# evaluations = 500
# wall = "2h"
# usd = 5.0
"""

_HEAD = '''\
"""Judges one candidate."""

{imports}def evaluate(candidate_dir, request):
    """Say how good the candidate is.

    candidate_dir: a clean checkout of it. request: a dict with "seed", "split", "cases" and "scratch", a
    folder that may be written to. Returns a number, or a dict with "score" and, if wanted, "metrics",
    "cases", "feedback". An exception means that the candidate failed; its text is shown to the next proposer.
    """
'''

_WITH_TESTS = """\
    start = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", {tests}]
    ran = subprocess.run(command, cwd=candidate_dir, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(ran.stdout[-3000:] + ran.stderr[-1000:])
    seconds = time.perf_counter() - start
    # All tests pass: the faster, the better. Put what you want to improve in place of this.
    return {{"score": 1 / seconds, "metrics": {{"seconds": seconds}}}}
"""

_WITHOUT = """\
    raise NotImplementedError("evaluate.py: say here how good the candidate in candidate_dir is")
"""


def configuration(found: Detected, name: str = "") -> str:
    """The text of evolve.toml."""
    judge = found.function or found.command
    return _CONFIGURATION.format(
        name=f"name = {quoted(name)}" if name else '# name = "mine"           # default: the folder\'s name',
        include="[" + ", ".join(quoted(path) for path in found.include or [_NO_FILES]) + "]",
        include_why=_why(found.include_why if found.include else "no file was found"),
        evaluator=_evaluator(found),
        evaluator_why=_why(judge.why if judge else "none was found; write one"),
        python=_python(found.python),
    )


def _why(reason: str) -> str:
    return f"\n# Chosen because: {reason}." if reason else ""


def _evaluator(found: Detected) -> str:
    if found.function:
        return f"function = {quoted(found.function.value)}"
    command = found.command.value if found.command else "python evaluate.py"
    return f"command = {quoted(command)}"


def _python(guess: Guess | None) -> str:
    if guess is None:
        return '# python = ".venv/bin/python"   # interpreter; default: the one on PATH'
    return f"python = {quoted(guess.value)}   # {guess.why}"


def quoted(text: str) -> str:
    """A text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def skeleton(tests: str | None) -> str:
    """The text of an evaluate.py to start from.

    Args:
        tests: Folder or file of tests that a candidate must pass, if there are any.
    """
    if tests is None:
        return _HEAD.format(imports="\n") + _WITHOUT
    return _HEAD.format(imports="import subprocess\nimport sys\nimport time\n\n\n") + _WITH_TESTS.format(
        tests=quoted(tests)
    )
