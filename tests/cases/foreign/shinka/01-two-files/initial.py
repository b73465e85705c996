# EVOLVE-BLOCK-START
def run(seed):
    return seed * 0.5
# EVOLVE-BLOCK-END
