"""What an op may say about its derivative, and the options that say it for all: checkpoints, and bounds of loops."""

from __future__ import annotations

import re

from mind_dialect.errors import error

CHECKPOINT = "ptir.checkpoint"
"""On an op: recompute rather than save what its derivative needs; on a scan also `every-N` or `sqrt`."""
RECOMPUTED = "ptir.recomputed"
"""On the copy of an op that a derivative computes again."""
MAX_ITERATIONS = "ptir.max_iterations"
"""On a `while`: how often it turns at most."""
_EVERY = re.compile(r"every-([1-9][0-9]{0,17})")


def check_checkpoint(text: str) -> int:
    """
    The N of `every-N`, 0 for `sqrt`; E7001 for anything else.

    >>> check_checkpoint("every-8"), check_checkpoint("sqrt")
    (8, 0)
    """
    if text == "sqrt":
        return 0
    if (found := _EVERY.fullmatch(text)) is None:
        raise error("E7001", f"checkpoint={text}, expected every-N with a positive number N, or sqrt", option="checkpoint")
    return int(found[1])


def check_max_iterations(bound: int) -> int:
    """The bound; E7001 unless it is positive and fits 64 bits."""
    if not 0 < bound < 1 << 63:
        raise error("E7001", f"max-iterations={bound}, expected a positive number", option="max-iterations")
    return bound
