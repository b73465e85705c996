import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common

spec = common.load()
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ["OPENAI_API_KEY"] = "x"
t0 = time.time()
from gepa.lm import LM
from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything
from gepa.strategies.proposal_sampling import IndependentSampling

t_import = time.time() - t0
cpu_import = common.ru()["cpu_self"]
from score import evaluate_code

W = spec["workers"]
o = spec["opts"]


class WideLM(LM):
    """gepa.lm.LM caps a reflection batch at 10 threads; this lifts the cap to W (opts lm_workers=stock keeps 10)."""
    def batch_complete(self, messages_list, max_workers=10, **kw):
        return super().batch_complete(messages_list, max_workers=max(W, 1), **kw)


def evaluator(candidate):
    s, err = evaluate_code(candidate)
    return s, {"scores": {"sum_radii": s}, "error": err or "none"}


class CB:
    n = acc = 0
    def on_proposal_end(self, e): CB.n += 1
    def on_candidate_accepted(self, e): CB.acc += 1


def main():
    seed = open(spec["initial_program"]).read()
    run_dir = os.path.join(spec["work_dir"], "gepa")
    cls = LM if o.get("lm_workers") == "stock" else WideLM
    lm = cls("openai/fake", api_base=spec["base_url"], api_key="x")
    n = max(1, W)
    eng = dict(run_dir=run_dir, seed=spec["seed"], max_candidate_proposals=max(1, spec["proposals"] // n))
    if W > 1:
        eng.update(sampling_strategy=IndependentSampling(W), max_workers=W)
    if o.get("cache"):
        eng["cache_evaluation"] = True
    if o.get("cloudpickle") == "0":
        eng["use_cloudpickle"] = False
    n0 = None
    if spec["resume"]:
        try:
            from gepa.core.state import GEPAState
            n0 = (GEPAState.load(run_dir).i + 1) * n
        except Exception as e:
            n0 = f"none ({e})"
    res = optimize_anything(seed_candidate=seed, evaluator=evaluator, objective="Maximise the sum of the six radii.",
                            config=GEPAConfig(engine=EngineConfig(**eng), reflection=ReflectionConfig(reflection_lm=lm),
                                              callbacks=[CB()]))
    common.done(spec, proposals_done=CB.n, accepted=CB.acc, best=max(res.val_aggregate_scores),
                persisted_at_resume=n0, t_import=t_import, cpu_import=cpu_import, workers=n,
                metric_calls=res.total_metric_calls)


if __name__ == "__main__":
    main()
