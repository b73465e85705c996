import asyncio
import glob
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common

spec = common.load()
t0 = time.time()
from openevolve import OpenEvolve
from openevolve.config import Config

t_import = time.time() - t0
cpu_import = common.ru()["cpu_self"]


def main():
    o = spec["opts"]
    d = {
        "llm": {"primary_model": "fake", "api_base": spec["base_url"], "api_key": "x"},
        "evaluator": {"cascade_evaluation": False},
        "random_seed": spec["seed"],
    }
    if spec["workers"]:
        d["evaluator"]["parallel_evaluations"] = spec["workers"]
    if "checkpoint_interval" in o:
        d["checkpoint_interval"] = int(o["checkpoint_interval"])
    if "num_islands" in o:
        d["database"] = {"num_islands": int(o["num_islands"])}
    cfg = Config.from_dict(d)
    out = os.path.join(spec["work_dir"], "oe")
    ck, n0 = None, 0
    if spec["resume"]:
        cks = glob.glob(out + "/checkpoints/checkpoint_*")
        if cks:
            ck = max(cks, key=lambda p: int(re.search(r"_(\d+)$", p).group(1)))
            n0 = int(re.search(r"_(\d+)$", ck).group(1))
    oe = OpenEvolve(spec["initial_program"], os.path.join(spec["task_dir"], "oe_evaluator.py"), cfg, output_dir=out)
    best = asyncio.run(oe.run(iterations=spec["proposals"] - n0, checkpoint_path=ck))
    progs = oe.database.programs
    common.done(spec, proposals_done=spec["proposals"], best=best.metrics.get("combined_score") if best else None,
                best_program=best.code if best else None,
                persisted_at_resume=n0 if spec["resume"] else None, db_programs=len(progs),
                t_import=t_import, cpu_import=cpu_import, workers=cfg.evaluator.parallel_evaluations)


if __name__ == "__main__":
    main()
