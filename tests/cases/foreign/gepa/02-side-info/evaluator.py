def evaluate(candidate):
    return 0.5, {"Input": candidate, "Feedback": "say more", "scores": {"brevity": 0.25, "clarity": 4}}
