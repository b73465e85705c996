def evaluate(candidate):
    return 0.25, "output", {"Feedback": "good"}
