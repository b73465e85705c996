def evaluate(candidate):
    info = {
        "Feedback": "fine",
        "system_specific_info": {"scores": {"tone": 0.75}, "Analysis": "friendly"},
    }
    return len(candidate["system"]) + len(candidate["user"]) / 100, info
