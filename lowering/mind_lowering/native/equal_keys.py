"""
Elements of equal keys that differ: zeros by their sign, NaN by what they hold.

Where only keys are moved, or where a key says which element it is of, the elements of a line that have such keys are written
once more, in the order that they have in the source.
"""

from __future__ import annotations

from collections.abc import Sequence

from .failures import Sites
from .ir import Function
from .kernel_steps import Sort
from .kernel_text import check_inside
from .lanes import Lanes, stored
from .sort_keys import Keys
from .target_info import TargetInfo


def write_again(f: Function, host: TargetInfo, step: Sort, sites: Sites, line: Sequence[str]) -> None:
    """Emit this for a line, given where it begins in source, values and, if there are any, places, which are written."""
    again = _Again(f, host, step, sites)
    if step.places is not None:
        again.by_places(*line)
    else:
        again.by_keys(*line)


class _Again:
    def __init__(self, f: Function, host: TargetInfo, step: Sort, sites: Sites):
        self.f, self.step, self.sites, self.one = f, step, sites, Lanes(f, host, 1)
        self.keys = Keys(step.source.dtype, step.descending)
        self.strides = [view.strides[step.axis] for view in step.lines]
        self.n, self.count = step.source.shape[step.axis], step.values.shape[step.axis]

    def copied(self, source: str, index: str, values: str, to: str) -> None:
        """Copy an element as it lies in memory."""
        f, type, size = self.f, stored(self.step.source.dtype), self.step.source.dtype.size
        x = f.op(f"load {type}, ptr {f.address(type, source, f.mul(index, self.strides[0]))}, align {size}")
        f.do(f"store {type} {x}, ptr {f.address(type, values, f.mul(to, self.strides[1]))}, align {size}")

    def by_places(self, source: str, values: str, places: str) -> None:
        """Write each element from its place."""
        f, dtype = self.f, self.step.lines[2].dtype
        type = stored(dtype)
        for i in f.each("0", str(self.count)):
            place = f.op(f"load {type}, ptr {f.address(type, places, f.mul(i, self.strides[2]))}, align {dtype.size}", "place")
            place = place if type == "i64" else f.op(f"zext {type} {place} to i64")
            check_inside(self.one, self.sites, place, self.n)
            self.copied(source, place, values, i)

    def by_keys(self, source: str, values: str) -> None:
        """Write zeros and NaN in their order: those of either kind follow all elements that are less."""
        f, type, kinds = self.f, self.keys.type, [str(key) for key in (self.keys.zero, self.keys.nan)]

        def key(i: str) -> str:
            return self.keys.of(self.one, self.one.load(self.step.source.dtype, source, f.mul(i, self.strides[0]), 0))

        def counted(i: str, /, *less: str) -> list[str]:
            found = key(i)
            bits = [f.op(f"icmp ult {type} {found}, {kind}") for kind in kinds]
            return [f.add(x, f.op(f"zext i1 {bit} to i64")) for x, bit in zip(less, bits, strict=True)]

        def placed(i: str, /, *following: str) -> list[str]:
            found, after = key(i), list[str]()
            for to, kind in zip(following, kinds, strict=True):

                def put(to: str = to) -> list[str]:
                    check_inside(self.one, self.sites, to, self.count)
                    self.copied(source, i, values, to)
                    return [f.add(to, "1")]

                after += f.changed(f.op(f"icmp eq {type} {found}, {kind}", "same"), [("i64", to)], put)
            return after

        start = f.loop("0", str(self.n), 1, counted, [("i64", "0")] * 2)
        f.loop("0", str(self.n), 1, placed, [("i64", x) for x in start])
