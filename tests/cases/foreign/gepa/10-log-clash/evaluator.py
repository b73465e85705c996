import gepa.optimize_anything as oa


def evaluate(candidate):
    oa.log("captured")
    return 0.5, {"log": "my own"}
