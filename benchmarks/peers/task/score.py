"""The shared evaluator: sleep t seconds, then score.  Pure Python; every call is logged to BENCH_EVAL_LOG."""
import hashlib
import json
import math
import os
import time


def _log(rec):
    p = os.environ.get("BENCH_EVAL_LOG")
    if p:
        fd = os.open(p, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, (json.dumps(rec) + "\n").encode())
        finally:
            os.close(fd)


def sha(code):
    return hashlib.sha1(code.strip().encode()).hexdigest()[:12]


def score_code(code):
    ns = {}
    exec(compile(code, "<candidate>", "exec"), ns)
    cs, ws = ns["run_packing"]()
    assert len(cs) == 6 and len(ws) == 6
    rad = []
    for i, (x, y) in enumerate(cs):
        r = min(x, y, 1 - x, 1 - y)
        for j, (u, v) in enumerate(cs):
            if i != j:
                w = ws[i] / (ws[i] + ws[j])
                r = min(r, math.hypot(x - u, y - v) * w)
        rad.append(max(0.0, r))
    return sum(rad)


def evaluate_code(code):
    h = sha(code)
    t0 = time.time()
    _log({"e": "s", "h": h, "t": t0, "pid": os.getpid()})
    t = float(os.environ.get("BENCH_EVAL_SLEEP", "0"))
    if t > 0:
        time.sleep(t)
    try:
        s, err = score_code(code), ""
    except Exception as e:  # an invalid candidate scores 0
        s, err = 0.0, f"{type(e).__name__}: {e}"
    _log({"e": "f", "h": h, "t": time.time(), "t0": t0, "score": s, "pid": os.getpid()})
    return s, err
