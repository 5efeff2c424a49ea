"""
Limits of kernels: a kernel does the units of work of a grid, of which a size that is known at run time may need fewer.

    launch.kernel @k within (%T_size) (%x) -> (%y) grid [4, 22] limits [[1, 1, 12]] ...

runs, along axis 1 of its grid, the first `ceil(T_size * 1 / 12)` of 22 units, so that what they write is computed for the first
`T_size` rows at least. What other units would write is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from mind_dialect.codecs import INTEGERS, Codec, parse_integers
from mind_dialect.ptir.attributes import parsed


class Limit(NamedTuple):
    """Along an axis of the grid, `ceil(size * scale / tile)` units are run: an index is `scale` items, a unit `tile` items."""

    axis: int
    scale: int
    tile: int

    def units(self, size: int, most: int) -> int:
        """
        Return the number of units that are run of `most`.

        >>> Limit(0, 256, 4096).units(20, 16), Limit(1, 1, 48).units(49, 6), Limit(0, 1, 1).units(9, 4)
        (2, 2, 4)
        """
        return min(-(-size * self.scale // self.tile), most)


class LimitsCodec(Codec):
    """Limits, written `[[0, 256, 4096]]`, stored flat as `array<i64: 0, 256, 4096>`."""

    kind = "a list of limits, each [axis, scale, tile]"

    def attribute(self, value: Iterable[Sequence[int]]) -> Attribute:
        limits = list(value)
        if any(len(limit) != len(Limit._fields) for limit in limits):
            raise self.wrong(limits)
        return INTEGERS.attribute([n for limit in limits for n in limit])

    def value(self, attribute: Attribute) -> Sequence[Limit]:
        flat = INTEGERS.value(attribute)
        count = len(Limit._fields)
        if len(flat) % count:
            raise self.wrong(attribute)
        return [Limit(*flat[i : i + count]) for i in range(0, len(flat), count)]

    def print(self, printer: Printer, attribute: Attribute) -> None:
        printer.print_string(str([list(limit) for limit in self.value(attribute)]))

    def parse(self, parser: Parser) -> Attribute:
        start = parser.pos
        limits = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_integers(parser))
        return parsed(parser, self, start, limits)
