import sys


def evaluate(candidate):
    print("to standard output")
    print("to standard error", file=sys.stderr)
    return 0.5
