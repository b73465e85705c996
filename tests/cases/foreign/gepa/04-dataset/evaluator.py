examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def evaluate(candidate, example):
    found = example["word"] in candidate
    return (example["worth"] if found else 0.0), {"Input": example["word"], "found": found}
