examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def evaluate(candidate, example):
    return float("nan") if example["word"] == "long" else 1.0
