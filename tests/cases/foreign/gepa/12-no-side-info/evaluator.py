def evaluate(candidate):
    return 0.25, None
