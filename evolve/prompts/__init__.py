"""Prompts: templates as files, filled with quotations within a number of tokens that is computed.

Text that comes from files, evaluators, candidates or models stands inside a fence that is longer than
any fence in it, under a first line that calls it data and names its origin, so that it can neither end
its own quotation nor pass for an instruction. Quotations are fenced with tildes: backticks are left to
the files in them, so that the simplest reader of fences finds a file whole.
"""

from __future__ import annotations

import re


def fence_for(text: str, mark: str = "`", least: int = 3) -> str:
    """A fence of `mark`s longer than any run of them in `text`."""
    longest = max((len(run) for run in re.findall(f"{mark}+", text)), default=0)
    return mark * max(least, longest + 1)


def quoted(text: str, origin: str) -> str:
    """Text of others as a block of data; `origin` is a word of ours."""
    fence = fence_for(text, "~")
    return f"{fence} data: {origin}\n{text}\n{fence}"
