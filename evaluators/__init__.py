"""How a candidate is judged: the contract, the processes, the walls. Knows nothing of campaigns."""
