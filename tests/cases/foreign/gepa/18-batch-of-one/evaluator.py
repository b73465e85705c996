def batch_evaluator(pairs):
    assert pairs[0][1] is None
    return [len(pairs) + len(pairs[0][0]) / 100]
