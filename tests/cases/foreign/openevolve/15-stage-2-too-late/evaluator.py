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


import time


def evaluate(program_path):
    return {"combined_score": 0.5}


def evaluate_stage1(program_path):
    ran("stage1")
    return {"combined_score": 0.75}


def evaluate_stage2(program_path):
    ran("stage2")
    time.sleep(20)
    return {"combined_score": 1.0}
