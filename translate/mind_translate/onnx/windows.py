"""Windows of convolutions and pools: sizes, steps and pads, as nodes state them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mind_dialect.errors import brief, error
from mind_dialect.ptir_shapes import Dim, Dims

from ..unsupported import Refused
from .emitter import static
from .node import Node


@dataclass
class Window:
    """Windows on the spatial dimensions; `extra` is what `ceil_mode` adds at the ends."""

    size: list[int]
    strides: list[int]
    dilations: list[int]
    low: list[int]
    high: list[int]
    extra: list[int]

    @property
    def reach(self) -> list[int]:
        """The extent of a window in each dimension."""
        return [(k - 1) * d + 1 for k, d in zip(self.size, self.dilations, strict=True)]

    @property
    def padding(self) -> list[tuple[int, int]]:
        """The pads of each dimension."""
        return [(a, b + c) for a, b, c in zip(self.low, self.high, self.extra, strict=True)]


def window_of(node: Node, spatial: Dims, size: Sequence[int]) -> Window:
    """
    Read `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode`; E8002 and E4010 for wrong ones.

    Raises `Refused` where pads depend on a size with a name, which they do in steps of more than 1 only.
    """
    n = len(size)
    strides, dilations = node.ints("strides") or [1] * n, node.ints("dilations") or [1] * n
    pads = node.ints("pads") or [0] * (2 * n)
    if not len(spatial) == len(strides) == len(dilations) == n or len(pads) != 2 * n or min([1, *strides, *dilations, *size]) < 1:
        raise error("E8002", f"windows {brief(list(size))} of {len(spatial)} dimensions", attribute="kernel_shape", value=size)
    low, high = pads[:n], pads[n:]
    mode = node.word("auto_pad", "NOTSET", ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilations, strict=True)]
    if mode == "VALID":
        low, high = [0] * n, [0] * n
    elif mode != "NOTSET":
        totals = [_same(s, t, r) for s, t, r in zip(spatial, strides, reach, strict=True)]
        low = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in totals]
        high = [t - a for t, a in zip(totals, low, strict=True)]
    if min([0, *low, *high]) < 0:
        raise Refused("negative pads", "cut the operand with Slice")
    extra = [0] * n
    if node.int("ceil_mode"):
        for i in (i for i in range(n) if strides[i] > 1):
            (extent,) = static(spatial[i : i + 1], "windows that ceil_mode counts")
            rest = extent + low[i] + high[i] - reach[i]
            count = -(-rest // strides[i]) + 1
            if (count - 1) * strides[i] >= extent + low[i]:
                count -= 1  # a window that begins in the pad does not count
            extra[i] = max(0, (count - 1) * strides[i] - rest)
    return Window(list(size), strides, dilations, low, high, extra)


def _same(size: Dim, step: int, reach: int) -> int:
    """The pads with which there are as many windows as steps in a dimension."""
    if step == 1:
        return reach - 1
    (n,) = static((size,), "windows that auto_pad counts")
    return max(0, (-(-n // step) - 1) * step + reach - n)
