examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def batch_evaluator(pairs, opt_states):
    assert len(opt_states) == len(pairs) == 3
    return [1, (2.0, None), (3.0, "output", {"Feedback": "third"})]
