"""Evolve on the same task: a Git repository with the initial program, `edit` as the only operator.

opts: evaluate=N -> evaluations at a time (default 2; as many as proposals where the evaluator takes time)
      client=litellm -> the model is called through litellm instead of the direct client
      propose=auto -> the engine finds the width
      reflect=0 -> no lessons, so that the model is asked for proposals only
      sandbox=auto -> evaluations behind walls; the log of the evaluator is then not written
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common

spec = common.load()
t0 = time.time()
sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")))
import evolve

t_import = time.time() - t0
cpu_import = common.ru()["cpu_self"]

EVALUATOR = '''"""Scores the program of a candidate."""
import os
from score import evaluate_code


def evaluate(candidate_dir, request):
    texts = []
    for name in os.environ["BENCH_FILES"].split():
        with open(f"{candidate_dir}/{name}") as file:
            texts.append(file.read())
    score, error = evaluate_code("\\n".join(texts))
    if error:
        raise ValueError(error)
    return {"score": score}
'''
FILES = spec.get("files") or {"initial_program.py": open(spec["initial_program"]).read()}
os.environ["BENCH_FILES"] = " ".join(FILES)
os.environ["PYTHONPATH"] = os.environ["BENCH_TASK_DIR"]


def repository():
    folder = os.path.join(spec["work_dir"], "ours", "target")
    if spec["resume"]:
        return folder
    os.makedirs(folder)
    for name, text in FILES.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    with open(os.path.join(folder, "evaluate.py"), "w") as file:
        file.write(EVALUATOR)
    for command in (["init", "-q", "-b", "main"], ["add", "."],
                    ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "base"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def configuration():
    o, W = spec["opts"], spec["workers"]
    evaluate = int(o.get("evaluate", W if spec["eval_sleep"] and W else 2))
    model = "hosted_vllm/fake-edit" if o.get("client") == "litellm" else "fake-edit"
    return {
        "campaign": {"name": "bench", "seed": spec["seed"], "goal": "Maximise the sum of the six radii."},
        "artifact": {"include": list(FILES)},
        "evaluator": {"function": "evaluate.py:evaluate", "sandbox": o.get("sandbox", "none"),
                      "env": ["PYTHONPATH", "BENCH_EVAL_LOG", "BENCH_EVAL_SLEEP", "BENCH_TASK_DIR", "BENCH_TASK", "BENCH_FILES"]},
        "operators": {"edit": 1.0},
        "models": {"pool": [{"model": model, "api_base": spec["base_url"]}]},
        "workers": {"propose": "auto" if o.get("propose") == "auto" or not W else W, "evaluate": evaluate,
                    "reflect": int(o.get("reflect", 0))},
        "promotion": {"rule": "strict"},
        "budget": {"proposals": spec["proposals"]},
    }


def main():
    folder = repository()
    campaign = evolve.open(folder) if spec["resume"] else evolve.create(folder, configuration())
    before = None
    if spec["resume"]:
        with campaign.reader() as reader:
            before = reader.counts().evaluations - 1
    ending = campaign.run_sync(lambda kind, what: None)
    with campaign.reader() as reader:
        counts = reader.counts()
        proposals = list(reader.proposals())
        base = reader.setting("base")
        champion = reader.champion().candidate
        depth, one = 0, reader.candidate(champion)
        while one.parents:
            depth, one = depth + 1, reader.candidate(one.parents[0])
        best = next(e.score for e in reader.evaluations(candidate=champion) if e.score is not None)
        answered = sum(1 for call in reader.calls() if call.state == "answered")
        tree = campaign.store.tree_of(reader.candidate(champion).commit)
        program = "\n".join(campaign.store.read(tree, name).decode() for name in FILES)
        fates = {}
        for proposal in proposals:
            fates[proposal.outcome] = fates.get(proposal.outcome, 0) + 1
    common.done(spec, proposals_done=sum(1 for p in proposals if p.state == "done"), best=best, best_program=program, t_import=t_import,
                cpu_import=cpu_import, workers=spec["workers"], persisted_at_resume=before, ending=ending.reason,
                champion_depth=depth, seed_parents=sum(1 for p in proposals if p.parent == base) / max(1, len(proposals)),
                evaluations=counts.evaluations, outcomes=fates, calls_answered=answered)


if __name__ == "__main__":
    main()
