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


from shinka.utils.eval_stop import EarlyStopDecision, EarlyStopMethod


class AfterTwo(EarlyStopMethod):
    name = "after two"

    def check(self, scores, threshold):
        return EarlyStopDecision(len(scores) == 2, "fails", 1.0, len(scores), "two are enough")


if __name__ == "__main__":
    evaluate(num_runs=5, aggregate_metrics_fn=total, early_stop_method=AfterTwo(), early_stop_threshold=1.0)
