"""
The xDSL plug-in: dialects, passes and targets by name, each loaded on first use.

Every xdsl-opt of the environment imports this file at start, so it imports nothing heavy and cannot fail.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.universe import Universe


def _mind() -> Dialect:
    from mind_dialect import Mind

    return Mind


MIND_UNIVERSE = Universe(all_dialects={"mind": _mind}, all_passes={}, all_targets={})
