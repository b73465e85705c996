"""Driver contract.  A driver is started as `python <driver> spec.json` and must
  * make its LLM calls at spec["base_url"] (OpenAI-compatible, model "fake", any key)
  * evaluate candidates with task/score.py (evaluate_code / evaluate_path), which logs to $BENCH_EVAL_LOG
  * run spec["proposals"] proposals with spec["workers"] slots (0 = the system's own default)
  * with spec["resume"] true: carry on in spec["work_dir"] after a kill, up to the same total
  * write spec["driver_out"]: {"proposals_done": n, "best": x, ...}
"""
import json
import os
import resource
import sys
import time

T_IMPORT0 = time.time()


def load():
    spec = json.load(open(sys.argv[1]))
    sys.path.insert(0, spec["task_dir"])
    return spec


def ru():
    a, b = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cpu_self": a.ru_utime + a.ru_stime, "cpu_children": b.ru_utime + b.ru_stime,
            "maxrss_self_mb": a.ru_maxrss / 1024}


def done(spec, **kw):
    kw.update(ru())
    tmp = spec["driver_out"] + ".tmp"
    json.dump(kw, open(tmp, "w"))
    os.replace(tmp, spec["driver_out"])
