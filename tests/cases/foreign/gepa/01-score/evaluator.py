def evaluate(candidate):
    return len(candidate.split()) / 10
