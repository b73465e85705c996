from gepa import Image


def evaluate(candidate):
    return 0.5, {"Rendered": Image(url="http://127.0.0.1/a.png"), "Feedback": "see the corner"}
