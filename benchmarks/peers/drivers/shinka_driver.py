import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common

spec = common.load()
os.environ.setdefault("SHINKA_PRICING_MODE", "offline")
t0 = time.time()
from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig

t_import = time.time() - t0
cpu_import = common.ru()["cpu_self"]


def count(db):
    try:
        c = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
        return c.execute("select count(distinct generation) from programs where generation > 0").fetchone()[0]
    except Exception as e:
        return f"none ({e})"


def main():
    o = spec["opts"]
    W = spec["workers"]
    res = os.path.join(spec["work_dir"], "shinka")
    db = res + "/programs.sqlite"
    n0 = count(db) if spec["resume"] else None
    if o.get("cap") == "off":  # lift the CPU-count cap on concurrency (2 cores -> 1 proposal, 1 evaluation)
        ShinkaEvolveRunner._validate_concurrency_settings = lambda self, e, p, d, c: (e, p, d)
    kw = {}
    if W:
        kw = dict(max_evaluation_jobs=W, max_proposal_jobs=W, max_db_workers=int(o.get("db_workers", 4)))
    if o.get("oversub"):
        kw["max_proposal_jobs"] = 2 * W
    evo = EvolutionConfig(
        task_sys_msg="Pack six circles in the unit square; maximise the sum of the radii.",
        num_generations=spec["proposals"] + 1,  # generation 0 is the initial program
        llm_models=[f"local/fake@{spec['base_url']}"], llm_dynamic_selection=None,
        llm_kwargs={"temperatures": [0.7], "max_tokens": 4096},
        embedding_model=None, meta_rec_interval=None, init_program_path=spec["initial_program"], results_dir=res,
        **({"enable_controlled_oversubscription": True, "proposal_buffer_max": W, "proposal_target_mode": "fixed"} if o.get("oversub") else {}))
    ev = "shinka_eval_std.py" if o.get("eval") == "std" else "shinka_eval_light.py"
    job = LocalJobConfig(eval_program_path=os.path.join(spec["task_dir"], ev))
    dbc = DatabaseConfig(**({"num_islands": int(o["num_islands"])} if "num_islands" in o else {}))
    r = ShinkaEvolveRunner(evo_config=evo, job_config=job, db_config=dbc, verbose=o.get("verbose") != "0", **kw)
    r.run()
    c = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    best, code = c.execute("select combined_score, code from programs where correct=1 order by 1 desc limit 1").fetchone()
    common.done(spec, proposals_done=count(db), best=best, best_program=code, persisted_at_resume=n0, t_import=t_import,
                cpu_import=cpu_import, workers=r.max_proposal_jobs, eval_jobs=r.max_evaluation_jobs,
                db_workers=r.max_db_workers)


if __name__ == "__main__":
    main()
