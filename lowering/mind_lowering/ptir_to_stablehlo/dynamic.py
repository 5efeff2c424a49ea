"""
Dimensions with names in StableHLO: which ops may have them, where their sizes come from, and what must hold of them.

StableHLO has no names of dimensions. While a function is emitted, types have them in their encodings, as types of PTIR do; at the
end `?` is left. Sizes are those of arguments, by `get_dimension_size`, and arithmetic on them. What types of arguments and
declarations demand is asserted first, in the form in which JAX exports it, so that it is checked once sizes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, FunctionType, IntegerAttr, StringAttr, TensorType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from mind_dialect import ptir
from mind_dialect.declared_dims import declarations_of, facts_around, function_facts
from mind_dialect.dominance import values_of, walk
from mind_dialect.extents import Extent, Facts, TooLarge, extent, relation_text, symbol
from mind_dialect.extents.dims import extent_of, is_expression, names_in, under
from mind_dialect.extents.recording import Recorder
from mind_dialect.extents.solutions import SIZE, solutions
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import SI32, SI64, read_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims
from mind_dialect.stablehlo.types import plain

from ..dynamic_dims import are_given, claims, dims_of, needs_check, sizes_of
from .attributes import attribute, integer
from .builder import StablehloBuilder, is_static
from .elementwise import is_small
from .reductions import SUMS

_OF_REGIONS = (ptir.FusionOp, ptir.CondOp, ptir.WhileOp, ptir.ScanOp)
_DIRECTIONS = {"==": "EQ", "!=": "NE", ">=": "GE", ">": "GT", "<=": "LE", "<": "LT"}


def refusal(op: PtirOp) -> str | None:
    """Return why an op cannot have the dynamic dimensions that it has, if it has any."""
    if not any(isinstance(d, str) for d in dims_of(op)):
        return None
    if (reason := _limit(op)) is not None:
        return reason
    if _says_more(op) if isinstance(op, _OF_REGIONS) else needs_check(op, declared=True) or claims(op):
        return "on dimensions that may not fit: declare facts in mind.dims that exclude this"
    given = [*sizes_of(op), *(d for v in op.operands for d in read_type(v.type).shape)]
    return None if are_given(op, given) else "with a dimension that no argument gives its size"


def _says_more(op: PtirOp) -> bool:
    """Return whether the results of an op with regions have other dimensions than they, or whether scanned sizes may differ."""
    if isinstance(op, ptir.FusionOp):
        return any([v.type for v in yielded(region.block)] != list(op.result_types) for region in op.regions)
    with under(lambda: facts_around(op, declared=True)), Recorder() as recorder:
        return bool(claims(op)) or bool(recorder.requirements)


def _limit(op: PtirOp) -> str | None:
    """Return why the rule of an op computes nothing by the dynamic dimensions that it has, if it does not."""
    row = LIMITS.get(type(op))
    return None if row is None or row[0](op) else row[1]


def _never_empty(op: PtirOp, dims: Sequence[Dim]) -> bool:
    """Return whether types and declarations exclude that dimensions are of 0: XLA takes no slice of 1 from them."""
    found = facts_around(op, declared=True)
    return all(d >= 1 if isinstance(d, int) else found.bounds(extent_of(d))[0] >= 1 for d in dims if d not in (0, UNKNOWN))


def _is_wide(op: PtirOp) -> bool:
    return not is_small(op.operand_spec(0).dtype) or op.values()["kind"] in SUMS


def _has_known_images(op: PtirOp) -> bool:
    return is_static(op.operand_spec(0).shape[1:-1])


_MAY_BE_EMPTY = "on dimensions that may be 0: declare facts in mind.dims that exclude this"
LIMITS: Mapping[type[PtirOp], tuple[Callable[[Any], bool], str]] = {
    ptir.TakeOp: (lambda op: _never_empty(op, op.operand_spec(0).shape[:1]), _MAY_BE_EMPTY),
    ptir.GatherOp: (lambda op: _never_empty(op, op.operand_spec(0).shape), _MAY_BE_EMPTY),
    ptir.ReduceOp: (_is_wide, "on dynamic dimensions: without elements, floats of 8 bits have the limit of their own dtype"),
    ptir.ExtractPatchesOp: (_has_known_images, "on images of dynamic height or width: its windows are slices by number"),
}
"""Ops that only some dynamic dimensions are legal for: which, and the reason for the others. Every other op takes all."""


def undeclarable(func: FuncOp) -> list[str]:
    """Return the declarations of a function that no assertion holds: quotients by names, and what is too large."""
    found: list[str] = []
    for declared in declarations_of(func):
        try:
            if not declared.divides and declared.relations():
                continue
        except TooLarge:
            pass
        found.append(f"declaration {declared.text!r} is not allowed: a quotient by names, or beyond the limits of expressions")
    return found


def is_dynamic(func: FuncOp) -> bool:
    """Return whether a dimension of an argument has no size."""
    return any(not read_type(t).is_static for t in func.function_type.inputs)


# Sizes and assertions


def bind(b: StablehloBuilder, func: FuncOp, arguments: Sequence[SSAValue]) -> None:
    """Give names their sizes, from arguments, and assert what types of arguments and the function declare."""
    b.facts = function_facts(func)
    shapes = [read_type(t).shape for t in func.function_type.inputs]
    found = _bind_names(b, shapes, arguments)
    least = {relation_text(*_least(b, name)): _least(b, name) for name in b.sizes}
    for name, relation, number in least.values():
        # JAX's words, by which readers find the name
        message = f"Expected value >= {number} for dimension variable '{name}'. Found {{0}}"
        _assert(b, b.value(name), relation, b.value(number), message)
    for (i, axis), value in found.items():
        dim = shapes[i][axis]
        if (wanted := b.value(extent_of(dim))) is not value:
            message = f"Dimension {axis} of argument {i} has size {{0}}, expected {dim} = {{1}}"
            _assert(b, value, "==", wanted, message)
    for declared in declarations_of(func):
        for left, relation, right in declared.relations():
            if relation_text(left, relation, right) not in least:
                _assert(b, b.value(left), relation, b.value(right), f"Expected {declared.text}, found {{0}} and {{1}}")


def _bind_names(b: StablehloBuilder, shapes: Sequence[Dims], arguments: Sequence[SSAValue]) -> dict[tuple[int, int], SSAValue]:
    """Give names their sizes; return the size of each dimension of an argument that has a name or an expression."""
    found: dict[tuple[int, int], SSAValue] = {}
    for i, dims in enumerate(shapes):
        for axis, dim in enumerate(dims):
            if isinstance(dim, str) and dim != UNKNOWN:
                size = b.typed("get_dimension_size", (SI32, ()), arguments[i], dimension=integer(axis))
                found[i, axis] = b.convert(size, SI64)
                if not is_expression(dim):
                    b.sizes.setdefault(symbol(dim), found[i, axis])
    for solved in solutions(shapes):
        b.sizes[symbol(SIZE)] = found[solved.shape, solved.axis]
        b.sizes[symbol(solved.name)] = b.value(solved.size)
        names = {symbol(name) for name in chain(*map(_names, shapes))}
        b.sizes = {e: value for e, value in b.sizes.items() if e in names}
    return found


def _names(dims: Dims) -> Iterator[str]:
    return chain(*map(names_in, dims))


def _least(b: StablehloBuilder, name: Extent) -> tuple[Extent, str, Extent]:
    """The least size of a name as a relation."""
    return name, ">=", extent(max(0, int(b.facts.bounds(name)[0])))


def _assert(b: StablehloBuilder, left: SSAValue, relation: str, right: SSAValue, message: str) -> None:
    """Assert a relation of two sizes, whose values are put into the message."""
    properties: dict[str, Attribute] = {
        "call_target_name": StringAttr("shape_assertion"),
        "has_side_effect": BoolAttr.from_bool(True),
        "api_version": IntegerAttr(2, i32),
    }
    b.add("custom_call", [b.compare(_DIRECTIONS[relation], left, right), left, right], [], properties)
    b.ops[-1].attributes["error_message"] = StringAttr(message)


# Types


def finish(func: FuncOp, source: FuncOp, bounds: bool) -> None:
    """Replace types by those that StableHLO has; with `bounds`, those of arguments state bounds that `source` declares."""
    for value in list(chain.from_iterable(map(values_of, walk(func)))):
        _retype(value, plain(value.type))
    if bounds:
        facts = function_facts(source)
        for value, type in zip(func.body.block.args, source.function_type.inputs, strict=False):
            _retype(value, _bounded(value.type, read_type(type).shape, facts))
    last = func.body.block.last_op
    assert last is not None
    func.properties["function_type"] = FunctionType.from_lists(func.body.block.arg_types, last.operand_types)


def _retype(value: SSAValue, type: Attribute) -> None:
    if type is not value.type:
        made = Rewriter.replace_value_with_new_type(value, type)
        if isinstance(value, BlockArgument) and isinstance(made, BlockArgument):
            made.location = value.location


def _bounded(type: Attribute, dims: Dims, facts: Facts) -> Attribute:
    """Return a type that states the upper bounds of its dynamic dimensions, if one has any."""
    tops = [facts.bounds(extent_of(d))[1] if isinstance(d, str) and d != UNKNOWN else inf for d in dims]
    if all(top == inf for top in tops):
        return type
    texts = ", ".join("?" if top == inf else str(int(top)) for top in tops)
    tensor = cast("TensorType[Any]", type)
    return TensorType(tensor.element_type, tensor.get_shape(), attribute("bounds", texts))
