"""The documented ShinkaEvolve evaluator idiom: run_shinka_eval."""
import argparse
import os
import sys

sys.path.insert(0, os.environ.get("BENCH_TASK_DIR", os.path.dirname(os.path.abspath(__file__))))
from score import evaluate_code
from shinka.core import run_shinka_eval

p = argparse.ArgumentParser()
p.add_argument("--program_path")
p.add_argument("--results_dir")
a = p.parse_args()
os.makedirs(a.results_dir, exist_ok=True)


def agg(results):
    s, _ = evaluate_code(open(a.program_path).read())
    return {"combined_score": s, "public": {"sum_radii": s}, "private": {}}


run_shinka_eval(program_path=a.program_path, results_dir=a.results_dir, experiment_fn_name="run_packing", num_runs=1,
                get_experiment_kwargs=lambda i: {}, validate_fn=lambda o: (True, None), aggregate_metrics_fn=agg)
