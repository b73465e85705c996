# EVOLVE-BLOCK-START
def solve(n):
    return [1 / (i + 2) for i in range(n)]
# EVOLVE-BLOCK-END
