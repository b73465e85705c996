def evaluate(candidate):
    raise ZeroDivisionError("no words")
