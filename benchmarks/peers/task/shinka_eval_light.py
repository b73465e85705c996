"""Writes what ShinkaEvolve reads back (metrics.json, correct.json) without importing shinka."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.environ.get("BENCH_TASK_DIR", os.path.dirname(os.path.abspath(__file__))))
from score import evaluate_code

p = argparse.ArgumentParser()
p.add_argument("--program_path")
p.add_argument("--results_dir")
a = p.parse_args()
os.makedirs(a.results_dir, exist_ok=True)
s, err = evaluate_code(open(a.program_path).read())
json.dump({"combined_score": s, "public": {"sum_radii": s}, "private": {}}, open(f"{a.results_dir}/metrics.json", "w"))
json.dump({"correct": not err, "error": err or None}, open(f"{a.results_dir}/correct.json", "w"))
