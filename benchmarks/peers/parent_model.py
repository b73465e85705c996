"""A simulated model whose answers depend on the parent program only, so that they favour no system.

The parent is found in the prompt by the marks in the program itself (tasks/programs.py); where a prompt holds several
programs it is the one that the system presents as the current one. What the model makes of it is a function of
(seed, text of the parent, how often it was asked for this parent before): the rest of the prompt (scores, feedback,
other programs, lessons, advice) changes nothing. So two systems that ask for the same parent for the same time get the same
child, and a system can win by its choice of parents and by what it does with children, not by its prompts.

A child is drawn like this: with the probabilities in KINDS it is
  good      the best of eight random changes of the task, by the task's own score (it need not be better than the parent),
  neutral   a comment more,
  harmful   the worst of eight random changes,
  broken    a random change and a line that does not parse or names what is not there.
It is then put in the form that the asking system demands: SEARCH/REPLACE for OpenEvolve and Evolve, <DIFF> or <CODE> for
ShinkaEvolve. A SEARCH is always a whole marked part, so every edit applies in every system: what systems do about
replies that cannot be applied is not compared here.
"""
import hashlib
import importlib
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tasks"))
import programs

KINDS = {"good": 0.25, "neutral": 0.2, "harmful": 0.35, "broken": 0.2}
DRAWS = 8
CURRENT = re.compile(r"^# (?:Current [Pp]rogram|Incorrect Program to Fix)[ \t]*$", re.M)


class Model:
    def __init__(self, task, seed):
        self.task, self.seed, self.asked = importlib.import_module(task), seed, {}

    def answer(self, messages, text_of, model):
        """(kind, reply)"""
        system = "\n".join(text_of(m) for m in messages if m.get("role") == "system")
        user = "\n".join(text_of(m) for m in messages if m.get("role") == "user")
        heading = None
        for heading in CURRENT.finditer(user):
            pass
        parent = programs.parts_of(user[heading.end():] if heading else user)
        if set(parent) != set(self.task.PARTS):
            return "no_program", "There is no program here."
        parent = {name: parent[name] for name in self.task.PARTS}
        kind, child = self.child(parent)
        whole = programs.one_file(child)
        edits = "\n\n".join(f"<<<<<<< SEARCH\n{programs.block(name, parent[name])}\n=======\n{programs.block(name, child[name])}\n"
                            ">>>>>>> REPLACE" for name in parent if parent[name] != child[name])
        head = "<NAME>\nsome_change\n</NAME>\n\n<DESCRIPTION>\nSome change.\n</DESCRIPTION>\n\n"
        if "<NAME>" in system and "<DIFF>" in system:
            return kind, f"{head}<DIFF>\n{edits}\n\n</DIFF>\n"
        if "<NAME>" in system:
            return kind, f"{head}<CODE>\n```python\n{whole}```\n</CODE>\n"
        if model.endswith("edit"):
            return kind, "Some change.\n\n" + "\n\n".join(
                f"{name}.py\n<<<<<<< SEARCH\n{programs.block(name, parent[name])}\n=======\n"
                f"{programs.block(name, child[name])}\n>>>>>>> REPLACE" for name in parent if parent[name] != child[name])
        if "SEARCH/REPLACE" in user + system:
            return kind, f"Some change.\n\n{edits}\n"
        return kind, f"Some change.\n\n```python\n{whole}```\n"

    def child(self, parent):
        text = programs.one_file(parent)
        turn = self.asked[text] = self.asked.get(text, -1) + 1
        r = random.Random(hashlib.sha256(f"{self.seed}|{turn}|{text}".encode()).hexdigest())
        kind = r.choices(list(KINDS), list(KINDS.values()))[0]
        if kind in ("good", "harmful"):
            drawn = sorted((self.change(parent, r) for _ in range(DRAWS)), key=self.score)
            return kind, drawn[-1 if kind == "good" else 0]
        name = r.choice(list(parent))
        if kind == "neutral":
            return kind, parent | {name: parent[name] + f"# {r.randrange(16**8):08x}\n"}
        changed = self.change(parent, r)
        wrong = r.choice(("(\n", f"missing_{r.randrange(16**6):06x}\n"))
        return kind, changed | {name: changed[name] + wrong}

    def change(self, parent, r):
        """A change of the task that does change something."""
        for _ in range(50):
            child = self.task.change(parent, r)
            if child != parent:
                return child
        return parent

    def score(self, parts):
        try:
            return self.task.score(parts)
        except Exception:
            return -1.0
