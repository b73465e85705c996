from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything

CONFIG = GEPAConfig(engine=EngineConfig(max_metric_calls=3), reflection=ReflectionConfig())


def evaluate(candidate):
    return 0.5


if __name__ == "__main__":
    optimize_anything(seed_candidate="x", evaluator=evaluate, config=CONFIG)
