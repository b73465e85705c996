examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def batch_evaluator(pairs):
    raise ConnectionError("no cluster")
