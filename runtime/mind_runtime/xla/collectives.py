"""Counts the collectives of a partitioned program in the text that XLA compiled."""

from __future__ import annotations

import re
from collections import Counter

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast")
_COMMENT = re.compile(r"/\*.*?\*/")
"""In types of tuples: every fifth element has its index before it, `/*index=5*/`."""
_OP = re.compile(rf"= [^=\n]*?\b({'|'.join(COLLECTIVES)})(?:-start)?\(")


def count_collectives(hlo: str) -> dict[str, int]:
    """
    The number of each kind of collective in the text of an HLO module; an asynchronous one counts once.

    >>> count_collectives("%r = f32[8]{0} all-reduce(%x), to_apply=%add\\n %s = f32[8] all-gather-start(%r)")
    {'all-gather': 1, 'all-reduce': 1}
    >>> count_collectives("%r = (f32[8], /*index=1*/f32[2]) all-reduce(%x, %y)")
    {'all-reduce': 1}
    """
    return dict(sorted(Counter(_OP.findall(_COMMENT.sub("", hlo))).items()))
