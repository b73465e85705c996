import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.environ.get("BENCH_TASK_DIR", os.path.dirname(os.path.abspath(__file__))))
from score import evaluate_code


def evaluate(program_path):
    with open(program_path) as f:
        s, err = evaluate_code(f.read())
    return {"combined_score": s, "sum_radii": s}
