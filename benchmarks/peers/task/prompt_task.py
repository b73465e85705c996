"""Toy prompt-evolution task: additions; the fake LLM is right with the probability ("skill") in the prompt."""
import random
import re

SEED_PROMPT = "You are a careful assistant. skill=0.400"


def data(n_train=24, n_val=12):
    r = random.Random(7)
    mk = lambda: (lambda a, b: {"q": f"What is {a} + {b}?", "a": str(a + b)})(r.randrange(10, 99), r.randrange(10, 99))
    return [mk() for _ in range(n_train)], [mk() for _ in range(n_val)]


def metric(sample, output):
    m = re.search(r"####\s*(\d+)", output or "")
    return 1.0 if m and m.group(1) == sample["a"] else 0.0


def feedback(sample, output, score):
    return "correct" if score else f"wrong: the answer is {sample['a']}"
