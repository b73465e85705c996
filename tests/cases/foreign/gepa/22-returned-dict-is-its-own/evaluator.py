examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



shared = {}


def evaluate(candidate, example):
    shared["Input"] = example["word"]
    return example["worth"], shared
