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


def evaluate(program_path):
    return {"combined_score": 0.0}


def evaluate_stage1(program_path):
    ran("stage1")
    return {"a": 0.4, "b": 0.8, "error": 0.0, "flag": True}


def evaluate_stage2(program_path):
    ran("stage2")
    return {"c": 0.2}
