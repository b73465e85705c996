from gepa.optimize_anything import OptimizationState


def evaluate(candidate, opt_state: OptimizationState):
    return 1.0 + len(opt_state.best_example_evals), {"state": type(opt_state).__name__}
