examples = [{"word": "short", "worth": 2.0}, {"word": "long", "worth": 1.0}, {"word": "exact", "worth": 0.5}]



def evaluate(candidate, **kwargs):
    return kwargs["example"]["worth"] + len(kwargs["opt_state"].best_example_evals)
