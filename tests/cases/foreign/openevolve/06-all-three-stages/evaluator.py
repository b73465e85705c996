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
    ran("evaluate")
    return {"combined_score": 0.1}


def evaluate_stage1(program_path):
    ran("stage1")
    return {"combined_score": 0.6, "valid": True}


def evaluate_stage2(program_path):
    ran("stage2")
    return {"combined_score": 0.8, "error": 3.0, "text": "dropped"}


def evaluate_stage3(program_path):
    ran("stage3")
    return {"combined_score": 0.95, "depth": 3}
