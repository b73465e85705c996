"""Parsing Python source, from any thread.

CPython up to 3.11 counts the depth of the tree it builds in one place for all threads: two threads that
parse at once can make `ast.parse` raise "SystemError: AST constructor recursion depth mismatch". So one
parses at a time.
"""

from __future__ import annotations

import ast
import threading
from types import CodeType

_one_at_a_time = threading.Lock()


def parse(source: str | bytes) -> ast.Module:
    """Parse a module.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It holds null bytes.
        RecursionError: It is nested too deeply.
    """
    with _one_at_a_time:
        return ast.parse(source)


def compiled(module: ast.Module) -> CodeType:
    """Compile a module that `parse` has made.

    Raises:
        SyntaxError: It cannot be compiled.
        ValueError: It cannot be compiled.
        RecursionError: It is nested too deeply.
    """
    with _one_at_a_time:
        return compile(module, "", "exec", dont_inherit=True, optimize=0)
