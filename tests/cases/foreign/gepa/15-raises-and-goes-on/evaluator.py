examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def evaluate(candidate, example):
    if example["word"] == "long":
        raise ValueError("too long")
    return example["worth"], {"Feedback": "fine"}
