"""Ops with regions. Each region is one block, isolated from above: what it uses are operands. It ends in `ptir.yield`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoMemoryEffect, RecursivelySpeculatable, RecursiveMemoryEffect

from ..errors import MindError, brief, error
from ..op import TENSOR, value_of
from ..ptir_shapes import Dim, equal_dims, rank_error
from ..textform import print_rest
from .attributes import INTEGER
from .base import PtirOp
from .types import I1, TensorSpec, read_type, tensor_type

Signature = tuple[list[TensorSpec], list[TensorSpec]]
Body = Callable[..., Sequence[SSAValue | Operation]]


@irdl_op_definition
class YieldOp(PtirOp):
    """The results of a region."""

    name = "ptir.yield"
    args = var_operand_def(TENSOR)
    traits = traits_def(IsTerminator(), NoMemoryEffect())

    @classmethod
    def infer(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> Sequence[TensorSpec]:
        return []

    def check_rules(self, profile: Any = None) -> None:
        super().check_rules()
        if self.parent is not None and not isinstance(self.parent_op(), RegionOp):
            parent = self.parent_op()
            given = parent.name if parent is not None else "a block of no op"
            raise error("E8005", f"is in {given}, expected a region of ptir", region=None, expected="a ptir op", actual=given)

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        print_rest(self, printer)
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        values = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        types: Sequence[Attribute] = ()
        if values:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(operands=parser.resolve_operands(values or (), types, start), attributes=attributes)


class RegionOp(PtirOp, ABC):
    """
    An op that runs its regions.

    In Python each region is given as a `Region` or as a function from the block's arguments to the values it yields, which
    creates its ops without inserting them anywhere.
    """

    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def __init__(
        self,
        *operands: SSAValue | Operation,
        regions: Sequence[Region],
        result_types: Sequence[Attribute] | None = None,
        **properties: Any,
    ):
        values = [value_of(v) for v in operands]
        try:
            stored = self.store_properties(properties)
            types = self.built_types([v.type for v in values], stored, regions, result_types)
        except MindError as e:
            raise MindError(e.code, f"{self.OPCODE}: {e.message}", {"op": self.OPCODE, **e.context}, None, e.category) from None
        Operation.__init__(self, operands=values, properties=stored, regions=regions, result_types=types)

    def is_speculatable(self) -> bool:
        return super().is_speculatable() and RecursivelySpeculatable.is_speculatable(self)

    @classmethod
    def infer_all(
        cls,
        operands: Sequence[TensorSpec],
        values: Mapping[str, Any],
        regions: Sequence[Region],
        declared: Sequence[TensorSpec] | None,
    ) -> Sequence[TensorSpec]:
        cls.check_dtypes(operands, values)
        return cls.infer_regions(operands, values, regions)

    @classmethod
    @abstractmethod
    def infer_regions(
        cls, operands: Sequence[TensorSpec], values: Mapping[str, Any], regions: Sequence[Region]
    ) -> Sequence[TensorSpec]:
        """The results, given operands of legal dtypes; E8005 for regions that do not fit."""


def terminator(block: Block) -> Operation:
    """Return the last op of the block of a verified region."""
    assert block.last_op is not None, "verified"
    return block.last_op


def yielded(block: Block) -> Sequence[SSAValue]:
    """Return the values that the block of a verified region ends with."""
    return terminator(block).operands


def signature(region: Region, name: str) -> Signature:
    """The parameters and results of a region; E8005 unless it is one block that ends in `ptir.yield`."""
    block = region.blocks[0] if len(region.blocks) == 1 else None
    last = None if block is None else block.last_op
    if block is None or not isinstance(last, YieldOp):
        given = f"{len(region.blocks)} blocks" if block is None else f"a block that ends in {last.name if last else 'nothing'}"
        expected = "one block that ends in ptir.yield"
        raise error("E8005", f"region {name} has {given}, expected {expected}", region=name, expected=expected, actual=given)
    return [read_type(v.type) for v in block.args], [read_type(v.type) for v in last.operands]


def expect(region: str, what: str, actual: Sequence[TensorSpec], expected: Sequence[TensorSpec]) -> None:
    """Raise E8005 unless a region's parameters or results have exactly the expected types."""
    if list(actual) != list(expected):
        given, wanted = shown(actual), shown(expected)
        message = f"region {region} {what} {given}, expected {wanted}"
        raise error("E8005", message, region=region, expected=wanted, actual=given)


def shown(specs: Sequence[TensorSpec]) -> str:
    """Types for a message."""
    return brief(f"({', '.join(str(tensor_type(*spec)) for spec in specs)})")


def region_of(body: Region | Body, argument_types: Sequence[Attribute]) -> Region:
    """
    A region of one block with arguments of these types: `body` itself, or what it builds.

    The function's ops are found from the values it returns, back to the block's arguments, in the order of their making.
    """
    if isinstance(body, Region):
        return body
    block = Block(arg_types=argument_types)
    results = [value_of(v) for v in body(*block.args)]
    for op in _free_ops(results):
        block.add_op(op)
    block.add_op(YieldOp(*results))
    return Region(block)


def _free_ops(results: Sequence[SSAValue]) -> list[Operation]:
    """The ops that are in no block and on which the results depend, each after those it depends on."""
    ordered: dict[Operation, None] = {}
    stack = [(v.owner, False) for v in reversed(results)]
    while stack:
        op, ready = stack.pop()
        if not isinstance(op, Operation) or op.parent is not None or op in ordered:
            continue
        if ready:
            ordered[op] = None
        else:
            stack.append((op, True))
            stack.extend((v.owner, False) for v in reversed(op.operands))
    return list(ordered)


@irdl_op_definition
class CondOp(RegionOp):
    """The results of the region `true` on `args` if the scalar `pred` holds, else those of `false`."""

    name = "ptir.cond"
    REGION_NAMES: ClassVar = ("true", "false")
    pred = operand_def(TENSOR)
    args = var_operand_def(TENSOR)
    true_region = region_def()
    false_region = region_def()
    res = var_result_def(TENSOR)

    def __init__(
        self,
        pred: SSAValue | Operation,
        *args: SSAValue | Operation,
        true: Region | Body,
        false: Region | Body,
        result_types: Sequence[Attribute] | None = None,
    ):
        types = [value_of(v).type for v in args]
        super().__init__(pred, *args, regions=[region_of(true, types), region_of(false, types)], result_types=result_types)

    @classmethod
    def infer_regions(
        cls, operands: Sequence[TensorSpec], values: Mapping[str, Any], regions: Sequence[Region]
    ) -> Sequence[TensorSpec]:
        if operands[0].shape != ():
            raise rank_error("pred", "0, one truth for all", len(operands[0].shape))
        (taken, results), (other_taken, other_results) = signature(regions[0], "true"), signature(regions[1], "false")
        expect("true", "takes", taken, operands[1:])
        expect("false", "takes", other_taken, operands[1:])
        expect("false", "yields", other_results, results)
        return results


@irdl_op_definition
class WhileOp(RegionOp):
    """
    Repeat `body` while the first value that the region `cond` yields is true.

    `cond` yields a scalar i1 and the loop-carried values; the last ones that it yields are the results.
    """

    name = "ptir.while"
    REGION_NAMES: ClassVar = ("cond", "body")
    args = var_operand_def(TENSOR)
    cond_region = region_def()
    body_region = region_def()
    res = var_result_def(TENSOR)

    def __init__(
        self,
        *args: SSAValue | Operation,
        cond: Region | Body,
        body: Region | Body,
        result_types: Sequence[Attribute] | None = None,
    ):
        types = [value_of(v).type for v in args]
        super().__init__(*args, regions=[region_of(cond, types), region_of(body, types)], result_types=result_types)

    def is_speculatable(self) -> bool:
        return False  # it may never end

    @classmethod
    def infer_regions(
        cls, operands: Sequence[TensorSpec], values: Mapping[str, Any], regions: Sequence[Region]
    ) -> Sequence[TensorSpec]:
        for region, name, leading in zip(regions, cls.REGION_NAMES, ([TensorSpec(I1, ())], []), strict=True):
            taken, results = signature(region, name)
            expect(name, "takes", taken, operands)
            expect(name, "yields", results, [*leading, *operands])
        return operands


@irdl_op_definition
class ScanOp(RegionOp):
    """
    A loop over axis 0 of the scanned inputs, which all have the same extent there.

    Operands are `carry_count` carried values, then at least one scanned input. `body` takes the carried values and a slice of
    each input, and yields the carried values and `scan_output_count` values, which are stacked along a new axis 0.
    """

    name = "ptir.scan"
    REGION_NAMES: ClassVar = ("body",)
    args = var_operand_def(TENSOR)
    carry_count = prop_def(INTEGER)
    scan_output_count = prop_def(INTEGER)
    body_region = region_def()
    res = var_result_def(TENSOR)

    def __init__(
        self,
        *args: SSAValue | Operation,
        carry_count: int,
        scan_output_count: int,
        body: Region | Body,
        result_types: Sequence[Attribute] | None = None,
    ):
        types = [value_of(v).type for v in args]
        carried = types[:carry_count]
        try:
            sliced = [tensor_type(spec.dtype, spec.shape[1:]) for spec in map(read_type, types[carry_count:])]
        except MindError as e:
            raise MindError(e.code, f"scan: {e.message}", {"op": "scan", **e.context}, None, e.category) from None
        super().__init__(
            *args,
            regions=[region_of(body, [*carried, *sliced])],
            carry_count=carry_count,
            scan_output_count=scan_output_count,
            result_types=result_types,
        )

    @property
    def num_carries(self) -> int:
        """The number of carried values."""
        return self.values()["carry_count"]

    @property
    def inits(self) -> Sequence[SSAValue]:
        """The initial values of the carries."""
        return self.operands[: self.num_carries]

    @property
    def scanned(self) -> Sequence[SSAValue]:
        """The arrays of which each iteration takes a slice."""
        return self.operands[self.num_carries :]

    @property
    def stacks(self) -> Sequence[SSAValue]:
        """The results that stack what the iterations yield."""
        return self.results[self.num_carries :]

    @property
    def trip_count(self) -> Dim:
        """The number of iterations: the extent of axis 0 of what is scanned."""
        return read_type(self.scanned[0].type).shape[0]

    @classmethod
    def infer_regions(
        cls, operands: Sequence[TensorSpec], values: Mapping[str, Any], regions: Sequence[Region]
    ) -> Sequence[TensorSpec]:
        count, outputs = values["carry_count"], values["scan_output_count"]
        if not 0 <= count < len(operands) or outputs < 0:
            message = f"carry_count {count} and scan_output_count {outputs} with {len(operands)} operands"
            raise error(
                "E8002",
                f"{message}, expected counts from 0 up and at least one scanned input",
                attribute="carry_count",
                value=count,
            )
        carried, scanned = list(operands[:count]), operands[count:]
        length = scan_length(scanned)
        taken, results = signature(regions[0], "body")
        expect("body", "takes", taken, [*carried, *(TensorSpec(s.dtype, s.shape[1:]) for s in scanned)])
        if len(results) != count + outputs:
            message = f"region body yields {len(results)} values, expected {count} carried and {outputs} to stack"
            raise error("E8005", message, region="body", expected=count + outputs, actual=len(results))
        expect("body", "carries", results[:count], carried)
        return [*carried, *(TensorSpec(s.dtype, (length, *s.shape)) for s in results[count:])]


def invariant_carries(op: WhileOp | ScanOp) -> list[int]:
    """
    Return which carried values of a loop are the same in every iteration: those that its body passes on as they are.

    A `while` whose condition changes such a value is none of these either. Captured values are carried this way.
    """
    body = op.body_region.block
    count, following = len(op.operands) if isinstance(op, WhileOp) else op.num_carries, yielded(body)
    found = [i for i in range(count) if following[i] is body.args[i]]
    if isinstance(op, WhileOp):
        test = op.cond_region.block
        _, *passed = yielded(test)
        found = [i for i in found if passed[i] is test.args[i]]
    return found


def scan_length(scanned: Sequence[TensorSpec]) -> Dim:
    """The common extent of axis 0."""
    length: Dim | None = None
    for spec in scanned:
        if not spec.shape:
            raise rank_error("scanned input", "at least 1", 0)
        length = spec.shape[0] if length is None else equal_dims("scanned axis 0", length, spec.shape[0])
    return 0 if length is None else length
