"""What breaks real repositories although Git is content: imports, installed copies, untracked data."""

from __future__ import annotations

import re
from pathlib import Path

from evaluators.contract import Outcome
from evolve.answers import Remark
from evolve.config import Config

TOO_BUSY = 0.1
"""Share of its time that timed work may wait for a processor before its figures are not to be believed."""
DATA_HINT = re.compile(r"No such file or directory: '([^']+)'|FileNotFoundError: (\S+)")
IMPORT_HINT = re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '([^']+)'")


def environment_findings(folder: Path, config: Config, outcome: Outcome) -> list[Remark]:
    """What the first runs and the environment tell.

    Args:
        folder: Folder of the configuration.
        config: The configuration.
        outcome: The last run of the evaluator on the base.
    """
    return [
        *_busy(outcome, config),
        *_imports(outcome, config),
        *_missing_files(folder, outcome),
        *_editable_install(folder, config),
    ]


def _busy(outcome: Outcome, config: Config) -> list[Remark]:
    by_processor = outcome.metrics.get("processor_time") == 1
    if config.evaluator.benchmark is None or by_processor or outcome.metrics.get("busy", 0.0) <= TOO_BUSY:
        return []
    text = (
        f"timed work waited for a processor {outcome.metrics['busy']:.0%} of the time; end other programs, "
        "or do not believe small differences"
    )
    return [Remark(kind="busy machine", text=text)]


def _imports(outcome: Outcome, config: Config) -> list[Remark]:
    found = IMPORT_HINT.search(outcome.feedback)
    if outcome.verdict == "judged" or not found:
        return []
    where = config.evaluator.python or "the `python` on PATH"
    text = (
        f"module {found[1]} is missing for {where}; install it there, or name the environment that has it "
        'with evaluator.python = ".venv/bin/python"'
    )
    return [Remark(kind="missing import", text=text)]


def _missing_files(folder: Path, outcome: Outcome) -> list[Remark]:
    if outcome.verdict == "judged":
        return []
    remarks = []
    for match in DATA_HINT.finditer(outcome.feedback):
        name = (match[1] or match[2]).strip("'\"")
        relative = Path(name)
        if not relative.is_absolute() and ".." not in relative.parts and (folder / relative).exists():
            text = (
                f"{name} is in your folder but not in the commit; commit it, or let evaluations read it with "
                f'evaluator.data = ["{name}"]'
            )
            remarks.append(Remark(kind="untracked data", text=text))
    return remarks


def _editable_install(folder: Path, config: Config) -> list[Remark]:
    """A package installed from the working tree itself: every candidate would import the user's copy."""
    if config.evaluator.python is None:
        return []
    environment = (folder / config.evaluator.python).absolute().parent.parent
    root = folder.resolve()
    for pointer in sorted(environment.glob("lib/python*/site-packages/*.pth")):
        lines = pointer.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines:
            if line.startswith("/") and Path(line).resolve().is_relative_to(root):
                text = (
                    f"{pointer.name} makes {line} importable in every evaluation, so candidates would be "
                    "judged by your working copy; uninstall it, or put the checkout first on sys.path"
                )
                return [Remark(kind="editable install", text=text)]
    return []
