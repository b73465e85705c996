import argparse
import json
import os


def arguments(*more):
    parser = argparse.ArgumentParser()
    for name in ("program_path", "results_dir", *more):
        parser.add_argument("--" + name)
    return parser.parse_args()


from shinka.core import run_shinka_eval

if __name__ == "__main__":
    given = arguments()
    run_shinka_eval(given.program_path, given.results_dir, "run", 1)
