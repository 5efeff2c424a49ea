"""
Ops of `tensor` and `memref` as MLIR has them, where xDSL lacks them or refuses what MLIR reads.

    %r = tensor.reshape %x(%s) : (tensor<*xf32>, tensor<?xindex>) -> tensor<*xf32>
    %t = tensor.empty(%n) {note} : tensor<?xf32>
    %n = tensor.rank %x : tensor<*xf32>
    %g = tensor.generate %m { ^bb0(%i: index): ... tensor.yield %e : f32 } : tensor<?x3xf32>
    memref.copy %a, %b : memref<?xf32> to memref<?xf32>

The tools use `Tensor` and `MemRef` of this module in the place of xDSL's dialects of the same names. Source of the rules: the
verifiers of MLIR's TensorOps.cpp and the traits of MemRefOps.td.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnySignlessIntegerType,
    IndexType,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, NoMemoryEffect, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

_ANY_TENSOR: Any = base(TensorType[Attribute]) | base(UnrankedTensorType[Attribute])
_ANY_MEMREF: Any = base(MemRefType[Attribute]) | base(UnrankedMemRefType[Attribute])
_EXTENTS: Any = TensorType[AnySignlessIntegerType | IndexType]


def _extents(type: Attribute) -> tuple[int, ...] | None:
    """The extents of a type, `DYNAMIC_INDEX` for unknown ones; None if it is unranked."""
    return cast(Any, type).get_shape() if isinstance(type, TensorType | MemRefType) else None


def _element(type: Attribute) -> Attribute:
    return cast(Any, type).element_type


@irdl_op_definition
class ReshapeOp(tensor.ReshapeOp):
    """`tensor.reshape`, of sources and to results of which nothing or not all is known."""

    name = "tensor.reshape"
    source = operand_def(_ANY_TENSOR)
    shape = operand_def(_EXTENTS)
    result = result_def(_ANY_TENSOR)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = None

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = [parser.parse_unresolved_operand()]
        with parser.in_parens():
            operands.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        values = parser.resolve_operands(operands, types.inputs.data, start)
        return cls.create(operands=values, attributes=attributes, result_types=types.outputs.data)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        with printer.in_parens():
            printer.print_operand(self.shape)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    def verify_(self) -> None:
        if _element(self.source.type) != _element(self.result.type):
            raise VerifyException(f"elements of type {_element(self.source.type)} become {_element(self.result.type)}")
        lengths = _extents(self.shape.type)
        if lengths is None or len(lengths) != 1:
            raise VerifyException("the shape must be a tensor of rank 1")
        given, wanted = _extents(self.source.type), _extents(self.result.type)
        if wanted is None:
            return
        if lengths[0] == DYNAMIC_INDEX:
            raise VerifyException(f"a shape of unknown length, expected {len(wanted)} for a result of that rank")
        if lengths[0] != len(wanted):
            raise VerifyException(f"a shape of length {lengths[0]}, expected {len(wanted)}, the rank of the result")
        if given is not None and DYNAMIC_INDEX not in (*given, *wanted) and math.prod(given) != math.prod(wanted):
            raise VerifyException(f"{math.prod(given)} elements become {math.prod(wanted)}")


@irdl_op_definition
class EmptyOp(tensor.EmptyOp):
    """`tensor.empty`, in a text that keeps its attributes."""

    name = "tensor.empty"
    dynamic_sizes = var_operand_def(IndexType)
    tensor = result_def(TensorType[Attribute])
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        values = parser.resolve_operands(operands, [IndexType()] * len(operands), start)
        return cls.create(operands=values, attributes=attributes, result_types=[type])

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.dynamic_sizes, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tensor.type)

    def verify_(self) -> None:
        extents = cast(Sequence[int], _extents(self.tensor.type))
        if len(self.dynamic_sizes) != (unknown := extents.count(DYNAMIC_INDEX)):
            raise VerifyException(f"{len(self.dynamic_sizes)} extents as operands, expected {unknown}, as many as are unknown")


@irdl_op_definition
class RankOp(IRDLOperation):
    """The rank of a tensor."""

    name = "tensor.rank"
    tensor = operand_def(_ANY_TENSOR)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format: ClassVar[str | None] = "$tensor attr-dict `:` type($tensor)"


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose elements the region computes from their indices; unknown extents are operands."""

    name = "tensor.generate"
    dynamic_extents = var_operand_def(IndexType)
    body = region_def()
    result = result_def(TensorType[Attribute])
    traits = traits_def(RecursiveMemoryEffect())
    assembly_format: ClassVar[str | None] = "$dynamic_extents $body attr-dict `:` type($result)"

    def verify_(self) -> None:
        extents = cast(Sequence[int], _extents(self.result.type))
        if len(self.dynamic_extents) != (unknown := extents.count(DYNAMIC_INDEX)):
            raise VerifyException(f"{len(self.dynamic_extents)} extents as operands, expected {unknown}, as many as are unknown")
        if len(self.body.blocks) != 1:
            raise VerifyException(f"a region of {len(self.body.blocks)} blocks, expected 1")
        if tuple(self.body.block.arg_types) != (IndexType(),) * len(extents):
            given = ", ".join(map(str, self.body.block.arg_types))
            raise VerifyException(f"a region of arguments ({given}), expected {len(extents)} of type index, one per dimension")
        last = self.body.block.last_op
        if not isinstance(last, tensor.YieldOp) or tuple(last.operand_types) != (_element(self.result.type),):
            raise VerifyException(f"the region must end in tensor.yield of one {_element(self.result.type)}")


@irdl_op_definition
class CopyOp(memref.CopyOp):
    """`memref.copy`, in the text that MLIR has for it, and of memory of which not all is known."""

    name = "memref.copy"
    source = operand_def(_ANY_MEMREF)
    destination = operand_def(_ANY_MEMREF)
    traits = traits_def(MemoryWriteEffect(), MemoryReadEffect())
    assembly_format: ClassVar[str | None] = "$source `,` $destination attr-dict `:` type($source) `to` type($destination)"

    def verify_(self) -> None:
        source, destination = self.source.type, self.destination.type
        if _element(source) != _element(destination):
            raise VerifyException(f"elements of type {_element(source)} are copied to {_element(destination)}")
        given, wanted = _extents(source), _extents(destination)
        if given is None or wanted is None:
            return
        pairs = list(zip(given, wanted, strict=False))
        if len(given) != len(wanted) or any(a != b for a, b in pairs if DYNAMIC_INDEX not in (a, b)):
            raise VerifyException(f"{source} is copied to {destination}, expected memory of the same shape")


OPS: tuple[type[IRDLOperation], ...] = (ReshapeOp, EmptyOp, RankOp, GenerateOp, CopyOp)


def _replaced(dialect: Dialect) -> Dialect:
    """`dialect` with the ops of this module in the place of those of the same name, or behind all others."""
    own = {op.name: op for op in OPS if op.dialect_name() == dialect.name}
    ops = [own.pop(op.name, op) for op in dialect.operations]
    interfaces = dialect._interfaces  # pyright: ignore[reportPrivateUsage], as there is no other way to list them
    return Dialect(dialect.name, [*ops, *own.values()], list(dialect.attributes), list(interfaces))


Tensor, MemRef = _replaced(tensor.Tensor), _replaced(memref.MemRef)
