"""How a candidate is judged: the contract, the processes, the walls. Knows nothing of campaigns."""

# `evaluators.isolated` lies in a folder of its own, which evaluators get without the rest of this package.
__path__ += [path + "/supplied/evaluators" for path in __path__]
