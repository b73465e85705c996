import importlib.util


def load(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

import os
import tempfile


def ran(what):
    with open(os.path.join(tempfile.gettempdir(), "ran"), "a") as file:
        file.write(what + "\n")


from openevolve.evaluation_result import EvaluationResult


def evaluate(program_path):
    values = load(program_path).solve(4)
    result = EvaluationResult(
        metrics={"combined_score": values[0], "n": len(values)},
        artifacts={"profile": "solve: 3 us", "raw": b"\x31\x32"},
    )
    assert result.has_artifacts() and result.get_artifact_size("raw") == 2
    return result
