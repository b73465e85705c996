#!/usr/bin/env python3
"""Simulated OpenAI-compatible chat-completions server for benchmarking LLM-evolution systems.

  model_server.py --port 8900 --median 1.0 --sigma 0.8 --seed 0 --log llm.jsonl

* POST /v1/chat/completions   non-streaming; usage token counts; honours n
* POST /v1/embeddings         deterministic vectors (some peers ask for them)
* GET  /v1/models, GET /stats

Latency: the i-th arriving request gets the i-th draw of a seeded lognormal
(median * exp(sigma * z_i)), so that every system sees the same multiset of latencies for the same number
of requests (--latency-by hash: draw from the request hash instead).  --median 0 means none.
Answers: a function of (seed, messages) only.  With --repeat-salt (a sampling model at temperature > 0) the
number of earlier identical requests is part of the key, so that asking twice gives two answers.
Model names: "fake" answers in the format that the prompt asks for (the peers' formats). "fake-edit" answers with one
SEARCH/REPLACE block headed by the path that stands in one of the three lines above the last fenced block with
EVOLVE-BLOCK markers (or above the last fenced block), "fake-rewrite" with that file whole, fenced, headed by its path.
--task NAME: answers are those of parent_model.py, which depend on the parent program only.
--faults P: that share of requests fails, evenly 429 (Retry-After 0.3 s), 500, 503, a body cut in the middle, a closed
connection; GET /stats counts them.
Log: one JSON line per request: i, k(ind), a (arrival), b (answer sent), lat, pt, ct, h(ash).
"""
import argparse
import asyncio
import hashlib
import json
import math
import os
import random
import re
import time

from aiohttp import web

try:
    import uvloop
except ImportError:
    uvloop = None

A = None
FLOAT = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
FENCE = re.compile(r"```[^\n`]*\n(.*?)\n```", re.S)
CUR = re.compile(r"^# (?:Current [Pp]rogram|Incorrect Program to Fix)[ \t]*$", re.M)
FILLER = ("The current constants leave slack between neighbouring elements, so a small move of one of them "
          "should raise the objective without breaking a constraint. I keep the structure of the program and "
          "change only the numbers that the evaluation feedback points to, because earlier larger rewrites did "
          "not help. If the change does not help it is easy to undo. ")


class S:
    n = done = inflight = peak = 0
    t0 = time.time()
    kinds = {}
    seen = {}
    buf = []
    z = []
    zr = None
    pt = ct = faults = 0
    fr = None
    sem = None
    model = None


def latency(i, h):
    if A.median <= 0:
        return 0.0
    if A.latency_by == "hash":
        z = random.Random(h).gauss(0, 1)
    else:
        while len(S.z) <= i:
            S.z.append(S.zr.gauss(0, 1))
        z = S.z[i]
    return min(A.max_latency, A.median * math.exp(A.sigma * z))


def text_of(m):
    c = m.get("content")
    if isinstance(c, str):
        return c
    if isinstance(c, list):
        return "\n".join(p.get("text", "") for p in c if isinstance(p, dict))
    return ""


def block_lines(code):
    """indices of the lines between the EVOLVE-BLOCK markers (all lines if there are none)"""
    ls = code.split("\n")
    lo, hi = 0, len(ls)
    for j, l in enumerate(ls):
        if "EVOLVE-BLOCK-START" in l:
            lo = j + 1
        elif "EVOLVE-BLOCK-END" in l:
            hi = j
            break
    return ls, lo, hi


def bump(line, r):
    def sub(m):
        v = float(m.group())
        w = min(0.98, max(0.02, v + r.gauss(0, 0.03)))
        s = f"{w:.4f}"
        return s if s != m.group() else f"{min(0.98, w + 0.0011):.4f}"
    return FLOAT.sub(sub, line)


def perturb(code, r, k=1):
    """[(old line, new line)], new code"""
    ls, lo, hi = block_lines(code)
    cand = [j for j in range(lo, hi) if FLOAT.search(ls[j])]
    if not cand:
        return [], code
    out = []
    for j in sorted(r.sample(cand, min(k, len(cand)))):
        new = bump(ls[j], r)
        out.append((ls[j], new))
        ls[j] = new
    return out, "\n".join(ls)


def current_program(user):
    m = None
    for m in CUR.finditer(user):
        pass
    if m:
        f = FENCE.search(user, m.end())
        if f:
            return f.group(1)
    fs = [f for f in FENCE.findall(user) if "EVOLVE-BLOCK-START" in f]
    return fs[-1] if fs else ""


def diff_text(pairs):
    return "\n\n".join(f"<<<<<<< SEARCH\n{o}\n=======\n{n}\n>>>>>>> REPLACE" for o, n in pairs)


PATH = re.compile(r"[\w./-]+\.\w+")


def file_block(user):
    """(path, text) of the last fenced block with markers, else of the last one"""
    ms = list(FENCE.finditer(user))
    ms = [m for m in ms if "EVOLVE-BLOCK-START" in m.group(1)] or ms
    if not ms:
        return "program.py", ""
    for line in reversed(user[:ms[-1].start()].splitlines()[-3:]):
        f = PATH.findall(line)
        if f:
            return f[-1], ms[-1].group(1)
    return "program.py", ms[-1].group(1)


def edit_answer(model, user, r):
    path, code = file_block(user)
    if model.endswith("rewrite"):
        return "rewrite", f"{FILLER}\n\n{path}\n```\n{perturb(code, r, 2)[1]}\n```\n"
    return "edit", f"{FILLER}\n\n{path}\n{diff_text(perturb(code, r)[0])}\n"


def answer(messages, r, model=""):
    sysm = "\n".join(text_of(m) for m in messages if m.get("role") == "system")
    user = "\n".join(text_of(m) for m in messages if m.get("role") == "user")
    if model.endswith(("edit", "rewrite")):
        return edit_answer(model, user, r)
    # --- ShinkaEvolve
    if "<NAME>" in sysm and "<DESCRIPTION>" in sysm:
        code = current_program(user)
        head = f"<NAME>\nnudge_{r.randrange(16**6):06x}\n</NAME>\n\n<DESCRIPTION>\n{FILLER}\n</DESCRIPTION>\n\n"
        if "<DIFF>" in sysm:
            pairs, _ = perturb(code, r)
            return "shinka_diff", head + f"<DIFF>\n{diff_text(pairs)}\n\n</DIFF>\n"
        _, new = perturb(code, r, 2)
        return "shinka_full", head + f"<CODE>\n```python\n{new}\n```\n</CODE>\n"
    # --- OpenEvolve
    if "SEARCH/REPLACE" in user or "SEARCH/REPLACE" in sysm:
        pairs, _ = perturb(current_program(user), r)
        return "oe_diff", FILLER + "\n\n" + diff_text(pairs) + "\n"
    if "Rewrite the program" in user:
        _, new = perturb(current_program(user), r, 2)
        return "oe_full", FILLER + f"\n\n```python\n{new}\n```\n"
    # --- GEPA reflection
    if "within ``` blocks" in user or "``` blocks" in user:
        fs = FENCE.findall(user)
        code = next((f for f in fs if "EVOLVE-BLOCK-START" in f), None)
        if code is not None:
            _, new = perturb(code, r)
            return "gepa_code", f"```\n{new}\n```"
        return "gepa_prompt", "```\n" + new_prompt(fs[0] if fs else user, r) + "\n```"
    if "stale instruction proposals" in sysm:
        return "repair", new_prompt(user, r)
    # --- a task answer: a + b, right with the probability that the instruction's "skill" states
    m = re.search(r"(\d+)\s*\+\s*(\d+)", user)
    if m:
        a, b = int(m.group(1)), int(m.group(2))
        return "task", f"Adding the two numbers.\n#### {a + b if r.random() < skill(sysm + user) else a + b + r.randrange(1, 9)}"
    return "other", "ok"


def skill(t):
    m = re.search(r"skill=(0\.\d+)", t)
    return float(m.group(1)) if m else 0.5


def new_prompt(old, r):
    s = min(0.95, max(0.05, skill(old) + r.gauss(0.01, 0.05)))
    return f"You are a careful assistant. skill={s:.3f}\nWork step by step and answer on the last line after ####. (v{r.randrange(16**6):06x})"


async def chat(req):
    a = time.time()
    i = S.n
    S.n += 1
    S.inflight += 1
    S.peak = max(S.peak, S.inflight)
    try:
        body = await req.json(loads=json.loads)
        messages = body.get("messages") or []
        raw = json.dumps(messages, sort_keys=True)
        h = hashlib.sha1(f"{A.seed}|{raw}".encode()).hexdigest()
        if A.repeat_salt:
            c = S.seen.get(h, 0)
            S.seen[h] = c + 1
            key = f"{h}|{c}"
        else:
            key = h
        lat = latency(i, h)
        t = time.time()
        choices, kind, ct, pt = [], "", 0, max(1, len(raw) // 4)
        for j in range(int(body.get("n") or 1)):
            model = str(body.get("model") or "")
            kind, txt = (S.model.answer(messages, text_of, model) if S.model
                         else answer(messages, random.Random(f"{key}|{j}"), model))
            ct += max(1, len(txt) // 4)
            choices.append({"index": j, "finish_reason": "stop", "logprobs": None,
                            "message": {"role": "assistant", "content": txt, "refusal": None}})
        if S.sem is not None:  # a server of limited capacity: requests beyond it queue
            async with S.sem:
                await asyncio.sleep(lat)
        elif lat > 0:
            await asyncio.sleep(max(0.0, a + lat - time.time()))
        if A.faults and S.fr.random() < A.faults:
            k = S.fr.randrange(5)
            S.faults += 1
            kind = f"fault_{('429', '500', '503', 'cut', 'closed')[k]}"
            if k == 0:
                return web.json_response({"error": {"message": "slow down", "type": "rate_limit"}}, status=429, headers={"Retry-After": "0.3"})
            if k in (1, 2):
                return web.json_response({"error": {"message": "try later", "type": "server_error"}}, status=(500, 503)[k - 1])
            if k == 3:
                return web.Response(body=b'{"id": "x", "choices": [{"mess', content_type="application/json")
            req.transport.close()
            return web.Response()
        S.pt += pt
        S.ct += ct
        S.kinds[kind] = S.kinds.get(kind, 0) + 1
        return web.json_response({
            "id": f"chatcmpl-{i}", "object": "chat.completion", "created": int(a), "model": body.get("model", "fake"),
            "choices": choices, "system_fingerprint": "fake",
            "usage": {"prompt_tokens": pt, "completion_tokens": ct, "total_tokens": pt + ct}})
    finally:
        b = time.time()
        S.inflight -= 1
        S.done += 1
        S.buf.append(json.dumps({"i": i, "k": kind, "a": round(a, 5), "b": round(b, 5), "lat": round(lat, 5),
                                 "pt": pt, "ct": ct, "h": h[:10]}))


async def embeddings(req):
    body = await req.json()
    inp = body.get("input")
    inp = inp if isinstance(inp, list) else [inp]
    data = []
    for j, t in enumerate(inp):
        r = random.Random(hashlib.sha1(str(t).encode()).hexdigest())
        data.append({"object": "embedding", "index": j, "embedding": [r.gauss(0, 1) for _ in range(64)]})
    return web.json_response({"object": "list", "data": data, "model": body.get("model"),
                              "usage": {"prompt_tokens": 1, "total_tokens": 1}})


async def models(req):
    return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": "bench"}]})


def flush():
    if S.buf and A.log:
        buf, S.buf = S.buf, []
        with open(A.log, "a") as f:
            f.write("\n".join(buf) + "\n")


async def stats(req):
    flush()
    ru = os.times()
    return web.json_response({"requests": S.n, "done": S.done, "in_flight": S.inflight, "peak_in_flight": S.peak,
                              "kinds": S.kinds, "faults": S.faults, "prompt_tokens": S.pt, "completion_tokens": S.ct,
                              "uptime": time.time() - S.t0, "cpu": ru.user + ru.system, "pid": os.getpid()})


async def flusher(app):
    async def loop():
        while True:
            await asyncio.sleep(0.25)
            flush()
    app["fl"] = asyncio.create_task(loop())
    yield
    app["fl"].cancel()
    flush()


def main():
    global A
    p = argparse.ArgumentParser()
    p.add_argument("--port", type=int, default=8900)
    p.add_argument("--median", type=float, default=0.0)
    p.add_argument("--sigma", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--max-latency", type=float, default=120.0)
    p.add_argument("--latency-by", choices=("arrival", "hash"), default="arrival")
    p.add_argument("--repeat-salt", action="store_true")
    p.add_argument("--capacity", type=int, default=0, help="serve at most this many requests at once (0: no limit)")
    p.add_argument("--faults", type=float, default=0.0, help="share of requests that fail in a way worth a retry")
    p.add_argument("--task", default="", help="a task of the folder tasks: answer by parent_model.py")
    p.add_argument("--log", default="")
    A = p.parse_args()
    S.zr = random.Random(f"latency|{A.seed}")
    S.fr = random.Random(f"faults|{A.seed}")
    if A.task:
        import parent_model
        S.model = parent_model.Model(A.task, A.seed)
    if A.capacity > 0:
        S.sem = asyncio.Semaphore(A.capacity)
    if A.log:
        open(A.log, "w").close()
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/chat/completions", chat)
    app.router.add_post("/v1/embeddings", embeddings)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/stats", stats)
    app.cleanup_ctx.append(flusher)
    if uvloop:
        asyncio.set_event_loop(uvloop.new_event_loop())
    web.run_app(app, host="127.0.0.1", port=A.port, print=None, access_log=None, backlog=1024,
                loop=asyncio.get_event_loop())


if __name__ == "__main__":
    main()
