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


import os

import helper

HERE = os.path.dirname(os.path.abspath(__file__))


def evaluate(program_path):
    path = os.path.join(HERE, "cache.txt")
    fresh = not os.path.exists(path)
    with open(path, "w") as file:
        file.write("seen")
    return {"combined_score": helper.twice(0.25) if fresh else 0.0, "suffix_ok": program_path.endswith(".py")}
