"""How parents are chosen, one file a policy."""
