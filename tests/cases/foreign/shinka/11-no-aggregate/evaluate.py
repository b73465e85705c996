import argparse
import json
import os


def arguments(*more):
    parser = argparse.ArgumentParser()
    for name in ("program_path", "results_dir", *more):
        parser.add_argument("--" + name)
    return parser.parse_args()


from shinka.core import run_shinka_eval


def evaluate(**more):
    given = arguments()
    return run_shinka_eval(
        program_path=given.program_path,
        results_dir=given.results_dir,
        experiment_fn_name="run",
        **more,
    )


def total(results):
    return {"combined_score": float(sum(results)), "public": {"n": len(results)}, "text_feedback": "sum of all"}


if __name__ == "__main__":
    evaluate(num_runs=2)
