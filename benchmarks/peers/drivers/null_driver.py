"""A floor, not a system: W asyncio slots, each asks, applies the diff to the best program and evaluates in a thread.
Shows what the harness, the client and the fake server cost by themselves; also the template of a driver.
opts: pools=split -> the LLM slot is released before the evaluation (separate pools of W each)."""
import asyncio
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common

spec = common.load()
t0 = time.time()
from concurrent.futures import ThreadPoolExecutor

from openai import AsyncOpenAI

t_import = time.time() - t0
cpu_import = common.ru()["cpu_self"]
from score import evaluate_code


async def main():
    W, N = spec["workers"] or 1, spec["proposals"]
    cl = AsyncOpenAI(base_url=spec["base_url"], api_key="x")
    ex = ThreadPoolExecutor(W)
    loop = asyncio.get_running_loop()
    code = open(spec["initial_program"]).read()
    best = [(await loop.run_in_executor(ex, evaluate_code, code))[0], code]
    it = iter(range(N))
    llm, ev = asyncio.Semaphore(W), asyncio.Semaphore(W)
    split = spec["opts"].get("pools") == "split"

    async def one(i):
        async with llm:
            parent = best[1]
            r = await cl.chat.completions.create(model="fake", messages=[
                {"role": "user", "content": f"# Current Program\n```python\n{parent}\n```\n\n# Task\nUse the exact SEARCH/REPLACE diff format."}])
            child = parent
            for s, n in re.findall(r"<<<<<<< SEARCH\n(.*?)\n=======\n(.*?)\n>>>>>>> REPLACE", r.choices[0].message.content, re.S):
                child = child.replace(s, n, 1)
            if not split:
                sc, _ = await loop.run_in_executor(ex, evaluate_code, child)
        if split:
            async with ev:
                sc, _ = await loop.run_in_executor(ex, evaluate_code, child)
        if sc > best[0]:
            best[:] = [sc, child]
    await asyncio.gather(*(one(i) for i in it))
    common.done(spec, proposals_done=N, best=best[0], t_import=t_import, cpu_import=cpu_import, workers=W)


asyncio.run(main())
