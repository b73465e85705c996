"""gepa.optimize (prompt evolution, DefaultAdapter) on the toy task of task/prompt_task.py."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common

spec = common.load()
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ["OPENAI_API_KEY"] = "x"
os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"] = spec["base_url"]
t0 = time.time()
import gepa
from gepa.lm import LM
from gepa.strategies.proposal_sampling import IndependentSampling
from gepa.utils.stop_condition import MaxCandidateProposalsStopper

t_import = time.time() - t0
cpu_import = common.ru()["cpu_self"]
from prompt_task import SEED_PROMPT, data

W = spec["workers"]


class WideLM(LM):
    def batch_complete(self, messages_list, max_workers=10, **kw):
        return super().batch_complete(messages_list, max_workers=max(W, 10), **kw)


class CB:
    n = acc = 0
    def on_proposal_end(self, e): CB.n += 1
    def on_candidate_accepted(self, e): CB.acc += 1


def main():
    train, val = data()
    mk = lambda s: [{"input": x["q"], "additional_context": {}, "answer": "#### " + x["a"]} for x in s]
    from gepa.adapters.default_adapter.default_adapter import DefaultAdapter
    ad = DefaultAdapter(model="openai/fake", max_litellm_workers=max(W, 10))
    kw = {}
    if W > 1:
        kw["sampling_strategy"] = IndependentSampling(W)
    n = max(1, W)
    res = gepa.optimize(seed_candidate={"instruction": SEED_PROMPT}, trainset=mk(train), valset=mk(val), adapter=ad,
                        reflection_lm=WideLM("openai/fake", api_base=spec["base_url"], api_key="x"),
                        skip_perfect_score=False, seed=spec["seed"], run_dir=os.path.join(spec["work_dir"], "gepa"),
                        stop_callbacks=[MaxCandidateProposalsStopper(max(1, spec["proposals"] // n))], callbacks=[CB()], **kw)
    common.done(spec, proposals_done=CB.n, accepted=CB.acc, best=max(res.val_aggregate_scores), t_import=t_import,
                cpu_import=cpu_import, workers=n, metric_calls=res.total_metric_calls)


if __name__ == "__main__":
    main()
