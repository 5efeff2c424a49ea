"""A group as a kernel: which loop nest emits it."""

from __future__ import annotations

from dataclasses import dataclass

from .crossed import CrossedNest, crossed_axes
from .failures import Sites
from .groups import Group
from .ir import Function
from .loops import Nest
from .target_info import TargetInfo


@dataclass
class GroupStep(Group):
    """A group as a kernel: its loop nest."""

    def emit(self, f: Function, host: TargetInfo, sites: Sites) -> int:
        nest = Nest(f, host, self, sites)
        if (axes := crossed_axes(nest)) is not None:
            nest = CrossedNest(f, host, self, sites, *axes)
        return nest.emit()
