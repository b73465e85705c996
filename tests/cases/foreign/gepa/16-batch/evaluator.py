examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def batch_evaluator(pairs):
    return [(len(pairs) * example["worth"], {"Feedback": candidate[:2]}) for candidate, example in pairs]
