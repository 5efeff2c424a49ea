"""Ops that compute: kernels, calls of an array library, and fallbacks on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IndexType, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, opt_prop_def, prop_def, region_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from mind_dialect.by_identity import by_identity
from mind_dialect.codecs import INTEGERS, integers
from mind_dialect.errors import error
from mind_dialect.ptir.attributes import Int, PairsCodec, Text
from mind_dialect.ptir.types import SI64

from ..coded_op import ending, expect_types
from ..xp.arguments import keywords
from ..xp.functions import CONSTANT, FUNCTIONS
from .base import AnyAttribute, LaunchOp, parse_types, parse_values, print_types, print_values
from .control_ops import ForOp, IfOp, WhileOp, YieldOp, trip_count
from .limits import LimitsCodec
from .memory_ops import AllocOp, Space, check_writable
from .ref import read_ref, ref

SIZE = ref(SI64, ())
"""The memory of a size that limits a kernel."""

_SEGMENTS = AttrSizedOperandSegments.attribute_name


@lru_cache(maxsize=1 << 10)
def _segment_sizes(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


@by_identity
def _segments(sizes: Attribute) -> tuple[slice, slice]:
    """Return where the reads and the writes are among the operands, which end with them."""
    *before, reads, writes = integers(sizes)
    first = sum(before)
    return slice(first, first + reads), slice(first + reads, first + reads + writes)


class ComputeOp(LaunchOp):
    """
    An op that reads arrays and writes others, which it names.

    `inplace` lists pairs `[write, read]` that may have the same memory: each element is read before it is written. A value that
    is both read and written is updated, and must be in such a pair.
    """

    reads = var_operand_def()
    writes = var_operand_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def _build(
        self, groups: Sequence[Sequence[SSAValue]], properties: Mapping[str, Attribute | None], regions: Sequence[Region] = ()
    ) -> None:
        """Build the op of groups of operands, the reads and the writes last; IRDL's own path takes five times as long."""
        stored = {name: attribute for name, attribute in properties.items() if attribute is not None}
        stored[_SEGMENTS] = _segment_sizes(tuple(map(len, groups)))
        Operation.__init__(self, operands=[v for group in groups for v in group], properties=stored, regions=regions)

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        reads, writes = _segments(self.properties[_SEGMENTS])
        operands = self.operands
        return operands[reads], operands[writes]

    @property
    def inplace_pairs(self) -> Sequence[tuple[int, int]]:
        return self.word("inplace", ()) if "inplace" in self.WORDS else ()

    def check_op(self) -> None:
        for value in (*self.reads, *self.writes):
            read_ref(value.type)
        if not self.writes and not self.may_write_nothing():
            raise error("E2007", "writes 0 values, expected at least 1", expected=1, actual=0)
        if len(set(self.writes)) != len(self.writes):
            raise error("E8002", "writes one value twice", attribute="writes", value=str(len(self.writes)))
        for i, value in enumerate(self.writes):
            check_writable(read_ref(value.type), f"write {i}")
        self._check_pairs()

    def may_write_nothing(self) -> bool:
        """Return whether the op may write no value: it is run for the errors that it reports."""
        return False

    def _check_pairs(self) -> None:
        pairs = self.inplace_pairs
        for write, read in pairs:
            if not (0 <= write < len(self.writes) and 0 <= read < len(self.reads)):
                raise self.invalid("inplace", f"numbers below {len(self.writes)} of writes and {len(self.reads)} of reads")
        for i, value in enumerate(self.writes):
            for j, other in enumerate(self.reads):
                if value is other and (i, j) not in pairs:
                    message = f"write {i} is read {j}, expected [{i}, {j}] in inplace"
                    raise error("E8002", message, attribute="inplace", value=str(pairs))

    def print_flow(self, printer: Printer) -> None:
        """Write what is read and written, the words, and the types."""
        print_values(printer, self.reads)
        printer.print_string(" -> ")
        print_values(printer, self.writes)
        self.print_words(printer)
        printer.print_string(" : ")
        print_types(printer, self.reads)
        printer.print_string(" -> ")
        print_types(printer, self.writes)

    @classmethod
    def parse_flow(cls, parser: Parser) -> tuple[list[Sequence[SSAValue]], dict[str, Attribute], dict[str, Attribute]]:
        """Read what `print_flow` writes: reads and writes, properties, attributes."""
        reads = parse_values(parser)
        parser.parse_punctuation("->")
        writes = parse_values(parser)
        properties, attributes = cls.parse_words(parser)
        parser.parse_punctuation(":")
        types = parse_types(parser)
        parser.parse_punctuation("->")
        results = parse_types(parser)
        found = [parser.resolve_operands(reads, types, parser.pos), parser.resolve_operands(writes, results, parser.pos)]
        return found, properties, attributes


def _check_body(op: ComputeOp, region: Region, indices: int, results: int) -> None:
    """Raise E8005 unless a body takes the tensors that are read, then indices, and yields the first of those that are written."""
    last = ending(region, "body", YieldOp)
    taken = [*(read_ref(v.type).tensor for v in op.reads), *([IndexType()] * indices)]
    expect_types("body", "takes", region.block.arg_types, taken)
    expect_types("body", "yields", last.operand_types, [read_ref(v.type).tensor for v in op.writes[:results]])


@irdl_op_definition
class KernelOp(ComputeOp):
    """
    A kernel: its body says what it computes, as PTIR on tensors; `schedule` says how.

    A kernel without a body packs, moves or sums partial results as its schedule says. `indices` are induction variables that it
    depends on, `cost` an estimate in ns, `fails` the run-time errors that it may report. The last `scratch` of what is written
    are no results: memory for partial results and counters, and the record of a failure. `packing` marks a kernel that only
    rearranges what it reads for other kernels: it cannot fail, and two of one number on the same operands give the same arrays.
    `grid` are its units of work by axis, `limits` (see `limits.py`) where it runs no more of them than `sizes` need: numbers in
    memory. Elements that the other units would write keep what was there.
    """

    name = "launch.kernel"
    WORDS: ClassVar = {
        "inplace": PairsCodec(),
        "scratch": Int(),
        "packing": Int(),
        "grid": INTEGERS,
        "limits": LimitsCodec(),
        "schedule": AnyAttribute(),
        "cost": Int(),
        "fails": AnyAttribute(),
    }
    sym_name = prop_def()
    inplace = opt_prop_def()
    scratch = opt_prop_def()
    packing = opt_prop_def()
    grid = opt_prop_def()
    limits = opt_prop_def()
    schedule = opt_prop_def()
    cost = opt_prop_def()
    fails = opt_prop_def()
    indices = var_operand_def()
    sizes = var_operand_def()
    body = region_def()

    def __init__(
        self,
        sym_name: str,
        reads: Sequence[SSAValue],
        writes: Sequence[SSAValue],
        body: Block | None = None,
        indices: Sequence[SSAValue] = (),
        sizes: Sequence[SSAValue] = (),
        **words: Any,
    ):
        properties = {"sym_name": StringAttr(sym_name), **self.words_of(words)}
        self._build([indices, sizes, reads, writes], properties, [Region([] if body is None else body)])

    @property
    def symbol(self) -> str:
        """The name of the kernel."""
        return Text().value(self.sym_name)

    def may_write_nothing(self) -> bool:
        return self.fails is not None

    def effects(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        reads, writes = super().effects()
        return ([*reads, *self.sizes] if self.limits is not None else reads), writes

    @property
    def results_written(self) -> Sequence[SSAValue]:
        """The arrays that are written, without those for the kernel's own use."""
        return self.writes[: len(self.writes) - self.word("scratch", 0)]

    def check_op(self) -> None:
        super().check_op()
        Text().value(self.sym_name)
        most = max(len(self.writes) - 1, 0)
        if not 0 <= self.word("scratch", 0) <= most:
            raise self.invalid("scratch", f"a number from 0 to {most}, as {len(self.writes)} arrays are written")
        if self.word("cost", 0) < 0:
            raise self.invalid("cost", "at least 0")
        if self.packing is not None and (self.fails is not None or self.indices or self.inplace is not None):
            raise self.invalid("packing", "no packing number on a kernel that can fail, has indices or writes in place")
        if any(trip_count(i) is None for i in self.indices):
            raise error(
                "E2001", "an index is not an induction variable of launch.for", expected="induction variable", actual="a value"
            )
        self._check_limits()
        if self.body.blocks:
            _check_body(self, self.body, len(self.indices), len(self.results_written))
        elif self.schedule is None:
            raise error("E8005", "has neither a body nor a schedule", region="body", expected="one of both", actual="nothing")

    def _check_limits(self) -> None:
        grid, limits = self.word("grid", ()), self.word("limits", ())
        if (self.grid is None) != (self.limits is None) or any(n < 1 for n in grid):
            raise self.invalid("grid", "numbers of units of work, at least 1, together with limits")
        if any(limit.axis not in range(len(grid)) or min(limit.scale, limit.tile) < 1 for limit in limits):
            raise self.invalid("limits", f"[axis, scale, tile] with an axis below {len(grid)}, scale and tile at least 1")
        if len({limit.axis for limit in limits}) != len(limits) or len(self.sizes) != len(limits):
            raise self.invalid("limits", f"one for each of {len(self.sizes)} sizes, each along an axis of its own")
        for value in self.sizes:
            if value.type != SIZE:
                raise error("E2001", f"a size is {value.type}, expected {SIZE}", expected=str(SIZE), actual=str(value.type))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(Text().value(self.sym_name))
        if self.indices:
            print_values(printer, self.indices, "[]")
        if self.sizes:
            printer.print_string(" within ")
            print_values(printer, self.sizes)
            printer.print_string(" ")
        self.print_flow(printer)
        if self.body.blocks:
            printer.print_string(" ")
            printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        indices = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand) or []
        sizes = parse_values(parser) if parser.parse_optional_keyword("within") is not None else []
        found, properties, attributes = cls.parse_flow(parser)
        operands = [
            parser.resolve_operands(indices, [IndexType()] * len(indices), parser.pos),
            parser.resolve_operands(sizes, [SIZE] * len(sizes), parser.pos),
            *found,
        ]
        body = parser.parse_optional_region() or Region()
        properties["sym_name"] = name
        return cls.build(operands=operands, properties=properties, attributes=attributes, regions=[body])


@irdl_op_definition
class CallOp(ComputeOp):
    """
    A call of a function of the array library on arrays, which puts its results into those that it writes.

    `sync` says why a graph of launches cannot hold the call.
    """

    name = "launch.call"
    WORDS: ClassVar = {"with": AnyAttribute(), "inplace": PairsCodec(), "sync": Text()}
    callee = prop_def()
    arguments = opt_prop_def(prop_name="with")
    inplace = opt_prop_def()
    sync = opt_prop_def()

    def __init__(self, callee: str, reads: Sequence[SSAValue], writes: Sequence[SSAValue], **words: Any):
        self._build([reads, writes], {"callee": StringAttr(callee), **self.words_of(words)})

    @property
    def function(self) -> str:
        """The name of what is called."""
        return Text().value(self.callee)

    def keywords(self) -> dict[str, Any]:
        """Return the keyword arguments as Python values; E4000 for what no Python call can say."""
        return keywords(self.word("with"))

    def check_op(self) -> None:
        super().check_op()
        callee = Text().value(self.callee)
        if callee not in FUNCTIONS or callee == CONSTANT:
            expected = sorted(FUNCTIONS.keys() - {CONSTANT})
            raise error("E4000", f"unknown function {callee!r}, expected one of {expected}", given=callee, expected=expected)
        self.keywords()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        self.print_flow(printer)

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        callee = Text().parse(parser)
        found, properties, attributes = cls.parse_flow(parser)
        return cls.build(operands=found, properties={"callee": callee, **properties}, attributes=attributes)


@irdl_op_definition
class HostCallOp(ComputeOp):
    """
    An op that runs on the host, between launches: its body is that op, `reason` why no kernel computes it.

    It gives memory of its own to what it writes. `ordinal` is the number of its random op among those of the program.
    """

    name = "launch.host_call"
    WORDS: ClassVar = {"reason": Text(), "ordinal": Int()}
    sym_name = prop_def()
    reason = opt_prop_def()
    ordinal = opt_prop_def()
    body = region_def()

    def __init__(
        self,
        sym_name: str,
        reads: Sequence[SSAValue],
        writes: Sequence[SSAValue],
        body: Block,
        reason: str,
        ordinal: int | None = None,
    ):
        words = self.words_of({"reason": reason, "ordinal": ordinal})
        self._build([reads, writes], {"sym_name": StringAttr(sym_name), **words}, [Region(body)])

    def may_write_nothing(self) -> bool:
        return True  # as many as its op has results, which is checked

    def check_op(self) -> None:
        super().check_op()
        Text().value(self.sym_name)
        if not self.word("reason"):
            raise self.invalid("reason", "why no kernel computes it")
        for i, value in enumerate(self.writes):
            if not (isinstance(value.owner, AllocOp) and value.owner.kind is Space.HOST):
                message = f"write {i} is not an allocation in the space host"
                raise error("E2001", message, expected="launch.alloc host", actual=str(value.type))
        _check_body(self, self.body, 0, len(self.writes))
        ops = [op.name for op in self.body.block.ops]
        if len(ops) != 2:
            raise error("E8005", f"the body holds {ops[:-1]}, expected one op", region="body", expected="one op", actual=ops[:-1])
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, ForOp | WhileOp | IfOp):
                raise error("E9006", f"is in {parent.name}, expected a function", parent=parent.name, expected="func.func")
            parent = parent.parent_op()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(Text().value(self.sym_name))
        self.print_flow(printer)
        printer.print_string(" ")
        printer.print_region(self.body)

    @classmethod
    def parse(cls, parser: Parser) -> HostCallOp:
        name = parser.parse_symbol_name()
        found, properties, attributes = cls.parse_flow(parser)
        properties["sym_name"] = name
        return cls.build(operands=found, properties=properties, attributes=attributes, regions=[parser.parse_region()])
