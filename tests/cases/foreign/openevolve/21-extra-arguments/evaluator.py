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


def evaluate(program_path, size, scale=1.0):
    return {"combined_score": scale * sum(load(program_path).solve(size))}
