import argparse
import json
import os


def arguments(*more):
    parser = argparse.ArgumentParser()
    for name in ("program_path", "results_dir", *more):
        parser.add_argument("--" + name)
    return parser.parse_args()


if __name__ == "__main__":
    raise RuntimeError("no licence")
