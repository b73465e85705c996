"""Random numbers keyed by (campaign seed, proposal number, purpose), never streamed.

A streamed generator makes every draw depend on all draws before it, so a resumed campaign, or one more call
somewhere, changes everything after it. A keyed one gives the same number to the same question, whenever
asked.
"""

import hashlib
import random


def key(seed: int, number: int, purpose: str) -> int:
    """A 64-bit integer for one question, the same on every machine and under every PYTHONHASHSEED."""
    digest = hashlib.sha256(f"{seed}/{number}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def rng(seed: int, number: int, purpose: str) -> random.Random:
    """A generator for one question of one proposal."""
    return random.Random(key(seed, number, purpose))
