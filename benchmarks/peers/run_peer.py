#!/usr/bin/env python3
"""Run one system once against the simulated model server and measure it.

  run_peer.py PEER --proposals N --workers W --llm-median S --llm-sigma S --eval-sleep T --out result.json
              [--peer-opt k=v ...] [--kill-after-evals K] [--seed 0]
  PEER: openevolve | gepa | gepa_prompt | shinka, or any name with --driver FILE --python EXE
  --workers 0: the system's own default.   See drivers/common.py for the contract of a driver.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

B = os.path.dirname(os.path.abspath(__file__))
HOME = os.environ.get("BENCH_HOME") or os.path.join(tempfile.gettempdir(), "evolve-bench")  # environments and work folders
try:
    import psutil
except ImportError:  # re-exec with the server's environment, which has psutil (setup.sh makes it)
    os.execv(f"{HOME}/venvs/server/bin/python", [f"{HOME}/venvs/server/bin/python"] + sys.argv)

PEERS = {"openevolve": ("venvs/openevolve/bin/python", "drivers/openevolve_driver.py"),
         "gepa": ("venvs/gepa/bin/python", "drivers/gepa_driver.py"),
         "gepa_prompt": ("venvs/gepa/bin/python", "drivers/gepa_prompt_driver.py"),
         "shinka": ("venvs/shinka/bin/python", "drivers/shinka_driver.py")}


def free_port():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    p = s.getsockname()[1]
    s.close()
    return p


def get(url):
    return json.load(urllib.request.urlopen(url, timeout=5))


def jl(path):
    out = []
    if os.path.exists(path):
        for l in open(path):
            try:
                out.append(json.loads(l))
            except ValueError:
                pass
    return out


def machine():
    """(busy CPU seconds of the whole machine, total CPU-pressure stall seconds)"""
    v = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / os.sysconf("SC_CLK_TCK")
    try:
        psi = int(open("/proc/pressure/cpu").readline().rsplit("total=", 1)[1]) / 1e6
    except (OSError, IndexError):
        psi = float("nan")
    return busy, psi


def psi10():
    try:
        return float(open("/proc/pressure/cpu").readline().split()[1].split("=")[1])
    except (OSError, IndexError):
        return 0.0


class Sampler(threading.Thread):
    """RSS and PSS of the tree every 0.25 s / 2 s, and CPU times of the main process and its live children."""
    def __init__(self, pid):
        super().__init__(daemon=True)
        self.p = psutil.Process(pid)
        self.stop = False
        self.rss = self.pss = self.nproc = 0
        self.pids = set()

    def run(self):
        k = 0
        while not self.stop:
            try:
                ps = [self.p] + self.p.children(recursive=True)
                rss = 0
                for q in ps:
                    try:
                        rss += q.memory_info().rss
                        self.pids.add((q.pid, q.create_time()))
                    except psutil.Error:
                        pass
                self.rss = max(self.rss, rss)
                self.nproc = max(self.nproc, len(ps))
                if k % 8 == 0:
                    pss = 0
                    for q in ps:
                        try:
                            for l in open(f"/proc/{q.pid}/smaps_rollup"):
                                if l.startswith("Pss:"):
                                    pss += int(l.split()[1]) * 1024
                                    break
                        except OSError:
                            pass
                    self.pss = max(self.pss, pss)
            except psutil.Error:
                pass
            k += 1
            time.sleep(0.25)


def inflight(log, lo, hi):
    """(idle fraction, mean in flight, peak) over [lo, hi]"""
    ev = []
    for r in log:
        ev += [(max(r["a"], lo), 1), (min(r["b"], hi), -1)]
    ev.sort()
    t, n, idle, area, peak = lo, 0, 0.0, 0.0, 0
    for x, d in ev:
        if n == 0:
            idle += x - t
        area += n * (x - t)
        t = x
        n += d
        peak = max(peak, n)
    if n == 0:
        idle += hi - t
    return idle / (hi - lo), area / (hi - lo), peak


def served(log, capacity):
    """(share of the server's places at work, mean and longest queue in front of it) while requests are still being made"""
    lo, hi = min(r["a"] for r in log), max(r["a"] for r in log)
    ev = sorted([(min(r["a"], hi), 1) for r in log] + [(min(r["b"], hi), -1) for r in log])
    t, n, work, queue, peak = lo, 0, 0.0, 0.0, 0
    for x, d in ev:
        work += min(n, capacity) * (x - t)
        queue += max(0, n - capacity) * (x - t)
        t = x
        n += d
        peak = max(peak, n - capacity)
    return work / capacity / (hi - lo), queue / (hi - lo), peak


def ideal(lats, w, extra):
    """list scheduling of (latency + evaluation) on w slots"""
    import heapq
    h = [0.0] * w
    for l in lats:
        heapq.heappush(h, heapq.heappop(h) + l + extra)
    return max(h)


def launch(a, port, work, elog, phase, resume):
    py, drv = (a.python, a.driver) if a.driver else (f"{HOME}/{PEERS[a.peer][0]}", f"{B}/{PEERS[a.peer][1]}")
    spec = {"peer": a.peer, "proposals": a.proposals, "workers": a.workers, "base_url": f"http://127.0.0.1:{port}/v1",
            "work_dir": work, "task_dir": f"{B}/task", "initial_program": f"{work}/initial_program.py",
            "eval_sleep": a.eval_sleep, "seed": a.seed, "resume": resume, "opts": dict(kv.split("=", 1) for kv in a.peer_opt),
            "driver_out": f"{work}/driver_{phase}.json"}
    sp = f"{work}/spec_{phase}.json"
    json.dump(spec, open(sp, "w"))
    env = dict(os.environ, BENCH_EVAL_LOG=elog, BENCH_EVAL_SLEEP=str(a.eval_sleep), BENCH_TASK_DIR=f"{B}/task",
               NO_PROXY="127.0.0.1,localhost", no_proxy="127.0.0.1,localhost", OPENAI_API_KEY="x", PYTHONUNBUFFERED="1")
    for k in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        env.pop(k, None)
    log = open(f"{work}/driver_{phase}.log", "w")
    t0 = time.time()
    p = subprocess.Popen([py, drv, sp], stdout=log, stderr=subprocess.STDOUT, env=env, cwd=work, start_new_session=True)
    return p, t0, spec


def finish(p, timeout):
    """wait4 with a timeout: (returncode, cpu of the reaped tree)"""
    t = time.time()
    while time.time() - t < timeout:
        pid, st, ru = os.wait4(p.pid, os.WNOHANG)
        if pid:
            p.returncode = os.waitstatus_to_exitcode(st)
            return p.returncode, ru.ru_utime + ru.ru_stime
        time.sleep(0.02)
    return None, 0.0


def kill_tree(pids):
    for pid, ct in pids:
        try:
            q = psutil.Process(pid)
            if q.create_time() == ct:
                q.kill()
        except psutil.Error:
            pass


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("peer")
    ap.add_argument("--proposals", type=int, default=64)
    ap.add_argument("--workers", type=int, default=0)
    ap.add_argument("--llm-median", type=float, default=1.0)
    ap.add_argument("--llm-sigma", type=float, default=0.8)
    ap.add_argument("--eval-sleep", type=float, default=0.0)
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--llm-capacity", type=int, default=0, help="the server serves at most this many requests at once (0: no limit)")
    ap.add_argument("--orphan-wait", type=float, default=5.0, help="seconds between kill -9 and the count of surviving processes")
    ap.add_argument("--out", required=True)
    ap.add_argument("--peer-opt", action="append", default=[], metavar="K=V")
    ap.add_argument("--no-repeat-salt", action="store_true")
    ap.add_argument("--kill-after-evals", type=int, default=0, help="SIGKILL the main process then resume")
    ap.add_argument("--timeout", type=float, default=600)
    ap.add_argument("--driver", default="")
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--keep", action="store_true")
    ap.add_argument("--work", default=f"{HOME}/work", help="folder of the work folders")
    ap.add_argument("--quiet-wait", type=float, default=0, help="wait up to this long for CPU pressure avg10 < 15 before starting")
    a = ap.parse_args()
    if not a.driver and a.peer not in PEERS:
        ap.error(f"unknown peer {a.peer}; give --driver")
    a.out = os.path.abspath(a.out)
    a.driver = os.path.abspath(a.driver) if a.driver else ""
    name = os.path.basename(a.out)[:-5] if a.out.endswith(".json") else os.path.basename(a.out)
    work = f"{a.work}/{name}"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    shutil.copy(f"{B}/task/initial_program.py", work)
    llog, elog = f"{work}/llm.jsonl", f"{work}/eval.jsonl"
    port = free_port()
    srv = subprocess.Popen([f"{HOME}/venvs/server/bin/python", f"{B}/model_server.py", "--port", str(port), "--median", str(a.llm_median),
                            "--sigma", str(a.llm_sigma), "--seed", str(a.seed), "--capacity", str(a.llm_capacity), "--log", llog]
                           + ([] if a.no_repeat_salt else ["--repeat-salt"]), stdout=open(f"{work}/server.log", "w"),
                           stderr=subprocess.STDOUT, start_new_session=True)
    R = {"peer": a.peer, "name": name, "args": {k: v for k, v in vars(a).items()}, "ok": False}
    sam = None
    try:
        for _ in range(200):
            try:
                get(f"http://127.0.0.1:{port}/stats")
                break
            except OSError:
                time.sleep(0.05)
        tq = time.time()
        while time.time() - tq < a.quiet_wait and psi10() >= 15:
            time.sleep(1)
        load0 = os.getloadavg()[0]
        m0, own0 = machine(), sum(os.times()[:2])
        p, t0, spec = launch(a, port, work, elog, "1", False)
        sam = Sampler(p.pid)
        sam.start()
        if a.kill_after_evals:
            R["kill"] = {}
            killed = False
            while p.poll() is None and time.time() - t0 < a.timeout:
                if sum(1 for r in jl(elog) if r["e"] == "f") >= a.kill_after_evals + 1:  # + the initial program
                    tree = set(sam.pids)
                    os.kill(p.pid, signal.SIGKILL)
                    tk = time.time()
                    p.wait()
                    killed = True
                    break
                time.sleep(0.02)
            if not killed:
                R["error"] = "finished before the kill"
                return
            sam.stop = True
            n_f = [r for r in jl(elog) if r["e"] == "f"]
            time.sleep(a.orphan_wait)
            alive = []
            for pid, ct in tree:
                try:
                    if psutil.Process(pid).create_time() == ct:
                        alive.append((pid, ct))
                except psutil.Error:
                    pass
            after = jl(elog)
            kill_tree(alive)
            time.sleep(0.3)
            get(f"http://127.0.0.1:{port}/stats")
            time.sleep(max(0.0, 1.0))
            l1 = jl(llog)
            tr = time.time()
            p, t1, spec = launch(a, port, work, elog, "2", True)
            sam = Sampler(p.pid)
            sam.start()
            rc, cpu = finish(p, a.timeout)
            t2 = time.time()
            get(f"http://127.0.0.1:{port}/stats")
            time.sleep(0.3)
            L, E = jl(llog), jl(elog)
            drv = json.load(open(spec["driver_out"])) if os.path.exists(spec["driver_out"]) else {}
            f1 = [r for r in E if r["e"] == "f" and r["t"] < tk]
            f2 = [r for r in E if r["e"] == "f" and r["t"] >= t1]
            h1 = {r["h"] for r in f1}
            answered1 = sum(1 for r in l1 if r["b"] <= tk)
            R["kill"] = {"evals_finished_before_kill": len(f1), "llm_answered_before_kill": answered1,
                         "llm_in_flight_at_kill": sum(1 for r in L if r["a"] <= tk < r["b"]),
                         "orphans_alive": len(alive), "evals_finished_by_orphans": sum(1 for r in after if r["e"] == "f" and r["t"] >= tk),
                         "llm_requests_by_orphans": sum(1 for r in L if tk < r["a"] < t1),
                         "persisted_at_resume": drv.get("persisted_at_resume"), "proposals_done_after_resume": drv.get("proposals_done"),
                         "evals_in_phase_2": len(f2), "evals_repeated_same_code": sum(1 for r in f2 if r["h"] in h1),
                         "llm_requests_phase_2": sum(1 for r in L if r["a"] >= t1), "llm_requests_total": len(L),
                         "evals_total": len(f1) + len(f2), "resume_to_first_llm_s": min((r["a"] for r in L if r["a"] >= t1), default=float("nan")) - t1,
                         "rc_phase_2": rc, "wall_phase_1": tk - t0, "wall_phase_2": t2 - t1}
            R["driver"] = drv
            R["ok"] = rc == 0 and bool(drv)
            if not R["ok"]:
                R["error"] = open(f"{work}/driver_2.log").read()[-1500:]
            return
        rc, cpu = finish(p, a.timeout)
        t1 = time.time()
        sam.stop = True
        if rc is None:
            R["error"] = f"timeout after {a.timeout}s"
            kill_tree(sam.pids)
            finish(p, 5)
        m1, own1 = machine(), sum(os.times()[:2])
        st = get(f"http://127.0.0.1:{port}/stats")
        time.sleep(0.1)
        R["others_cpu_frac"] = (m1[0] - m0[0] - cpu - st["cpu"] - (own1 - own0)) / (os.cpu_count() * (t1 - t0))
        R["psi_frac"] = (m1[1] - m0[1]) / (t1 - t0)
        R["waited_for_quiet"] = t0 - tq
        L, E = jl(llog), [r for r in jl(elog) if r["e"] == "f"]
        drv = json.load(open(spec["driver_out"])) if os.path.exists(spec["driver_out"]) else {}
        R.update(rc=rc, wall=t1 - t0, cpu_tree=cpu, server=st, load_before=load0, driver=drv, evals=len(E),
                 distinct_evals=len({r["h"] for r in E}), llm_requests=len(L), peak_rss_mb=sam.rss / 2**20,
                 peak_pss_mb=sam.pss / 2**20, peak_procs=sam.nproc)
        if L:
            lo, hi = min(r["a"] for r in L), max(r["b"] for r in L)
            end = max([hi] + [r["t"] for r in E])
            n = drv.get("proposals_done") or a.proposals
            n = n if isinstance(n, int) else a.proposals
            idle, mean, peak = inflight(L, lo, hi)
            w = a.llm_capacity or drv.get("workers") or a.workers or 1
            lats = [r["lat"] for r in sorted(L, key=lambda r: r["i"])]  # arrival order
            R.update(first_llm_s=lo - t0, active_s=end - lo, tail_s=t1 - end, idle_frac=idle, mean_in_flight=mean, peak_in_flight=peak,
                     proposals_done=n, props_per_s_wall=n / (t1 - t0), props_per_s_active=n / (end - lo),
                     cpu_per_prop=cpu / n, lat_mean=sum(lats) / len(lats), lat_sum=sum(lats),
                     ideal_s=ideal(lats, w, a.eval_sleep), llm_per_prop=len(L) / n, evals_per_prop=len(E) / n,
                     cpu_import=drv.get("cpu_import"), cpu_after_import_per_prop=(cpu - (drv.get("cpu_import") or 0)) / n)
            if a.llm_capacity:
                R["served_frac"], R["queue_mean"], R["queue_peak"] = served(L, a.llm_capacity)
            R["efficiency"] = R["ideal_s"] / R["active_s"] if R["active_s"] else None
            starts = sorted(r["a"] for r in L)
            block = len(starts) * 124 // 1024 or 1  # of 1,024: requests 1 to 124 and 900 to 1,024
            R["first_block_per_s"] = block / (starts[block] - starts[0]) if len(starts) > block else None
            R["last_block_per_s"] = block / (starts[-1] - starts[-1 - block]) if len(starts) > block else None
            R["sync_bound_s"] = sum(max(lats[i:i + w]) for i in range(0, len(lats), w))
        R["ok"] = rc == 0 and bool(drv)
        if not R["ok"] and "error" not in R:
            R["error"] = open(f"{work}/driver_1.log").read()[-1500:]
    finally:
        if sam:
            sam.stop = True
        srv.terminate()
        try:
            srv.wait(3)
        except subprocess.TimeoutExpired:
            srv.kill()
        os.makedirs(os.path.dirname(a.out), exist_ok=True)
        json.dump(R, open(a.out, "w"), indent=1)
        if not a.keep and R["ok"]:
            for d in ("oe", "gepa", "shinka", "ours"):
                shutil.rmtree(f"{work}/{d}", ignore_errors=True)
        if "kill" in R and R.get("kill"):
            print(name, json.dumps(R["kill"]))
        else:
            f = lambda k: R.get(k) if not isinstance(R.get(k), float) else round(R[k], 3)
            print(name, "ok" if R["ok"] else "FAILED", {k: f(k) for k in ("wall", "first_llm_s", "active_s", "ideal_s", "efficiency", "props_per_s_active",
                  "idle_frac", "mean_in_flight", "peak_in_flight", "cpu_per_prop", "others_cpu_frac", "peak_rss_mb", "proposals_done", "llm_requests", "evals")}, R.get("error", "")[-300:])


if __name__ == "__main__":
    main()
