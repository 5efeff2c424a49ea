"""
The pretty forms of StableHLO, CHLO and Shardy ops, as MLIR prints them: one small parse function for each form.

Each builds the op that the generic form would build. Ops without a row here have operands, perhaps attributes, and types. Source
of the forms: the `assemblyFormat` of each op in the definitions of the dialects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from .computations import manual_computation, named_computation, reduce, while_loop
from .dimension_numbers import convolution, dot_general, slice_bounds
from .syntax import ANGLES, Property, Syntax, boolean, enumeration, integer, integer_list, precisions, string, word

_FORMAT = re.compile(r"e\d{1,4}m\d{1,4}")
_PARTS: dict[Attribute, AnyFloat] = {ComplexType(f32): f32, ComplexType(f64): f64}


def parse_pretty(op_type: type[Operation], parser: Parser) -> Operation:
    """Read what follows the name of an op of one of these dialects. Raises xDSL's `ParseError`."""
    syntax = Syntax(op_type, parser)
    return (FORMS.get(op_type.name) or TORCH_FORMS.get(op_type.name) or Syntax.plain)(syntax)


def _named(**known: Property) -> Callable[[Syntax], Operation]:
    return lambda s: s.with_properties(known)


def _return(s: Syntax) -> Operation:
    values = s.values()
    types: list[Attribute] = []
    attributes = s.attributes()
    if values:
        s.punctuation(":")
        types = s.type_list()
    return s.build(s.resolve(values, types), [], attributes)


def _constant(s: Syntax) -> Operation:
    attributes = s.attributes()
    value: Any = s.parser.parse_attribute()
    s.properties["value"] = value
    if not isinstance(type := getattr(value, "type", None), TensorType):
        s.parser.raise_error("expected a tensor literal such as dense<0.0> : tensor<4xf32>")
    return s.build([], [cast(Attribute, type)], attributes)


def _symbolic_int(s: Syntax) -> Operation:
    """A symbol and its range, of torch-mlir: `torch.symbolic_int "T" {min_val = 2, max_val = 8} : !torch.int`."""
    s.properties["symbol_name"] = string(s)
    s.properties.update(s.attributes())
    s.punctuation(":")
    return s.build([], [s.parser.parse_type()], s.attributes())


def _bind_symbolic_shape(s: Syntax) -> Operation:
    """The dimensions of a value, of torch-mlir: `torch.bind_symbolic_shape %x, [%s], affine_map<()[s0] -> (s0, 4)> : type`."""
    value = s.parser.parse_unresolved_operand()
    s.punctuation(",")
    symbols = s.bracketed(lambda: s.parser.parse_unresolved_operand())
    s.punctuation(",")
    s.properties["shape_expressions"] = s.parser.parse_attribute()
    attributes = s.attributes()
    s.punctuation(":")
    symbol: Any = s.parser.ctx.get_type("torch.int")
    types = [s.parser.parse_type(), *[symbol("") for _ in symbols]]
    return s.build(s.resolve([value, *symbols], types), [], attributes)


def _no_operands(s: Syntax) -> Operation:
    attributes = s.attributes()
    s.punctuation(":")
    return s.build([], s.type_list(), attributes)


def _after_all(s: Syntax) -> Operation:
    values = s.values()
    attributes = s.attributes()
    s.punctuation(":")
    type = s.parser.parse_type()
    return s.build(s.resolve(values, [type] * len(values)), [type], attributes)


def _compare(s: Syntax) -> Operation:
    s.properties["comparison_direction"] = s.wrap("comparison_direction", s.word())
    s.punctuation(",")
    values = s.values()
    if (word := s.parser.parse_optional_identifier()) is not None:
        s.properties["compare_type"] = s.wrap("comparison_type", word)
    return s.finish(values)


def _select(s: Syntax) -> Operation:
    values = s.values()
    attributes = s.attributes()
    inputs, outputs = s.types(3)
    if len(inputs) == 2:  # one for the predicate, one for all others
        inputs, outputs = [inputs[0], inputs[1], inputs[1]], [inputs[1]]
    return s.build(s.resolve(values, inputs), outputs, attributes)


def _complex(s: Syntax) -> Operation:
    values = s.values()
    attributes = s.attributes()
    s.punctuation(":")
    if s.at("("):
        inputs, outputs = s.function_type()
        return s.build(s.resolve(values, inputs), outputs, attributes)
    result = s.parser.parse_type()
    part = _part(result)
    return s.build(s.resolve(values, [part] * len(values)), [result], attributes)


def _part(type: Attribute) -> Attribute:
    """The type of the real parts of a complex tensor."""
    tensor: Any = type
    part = _PARTS.get(getattr(tensor, "element_type", type))
    return type if part is None else TensorType(part, tensor.get_shape())


def _custom_call(s: Syntax) -> Operation:
    s.properties["call_target_name"] = StringAttr(s.parser.parse_symbol_name().data)
    return s.finish(s.parenthesized(s.parser.parse_unresolved_operand))


def _composite(s: Syntax) -> Operation:
    s.properties["name"] = string(s)
    return s.finish(s.values())


def _reduce_precision(s: Syntax) -> Operation:
    values = s.values()
    s.keyword("format")
    s.punctuation("=")
    text = s.scan(_FORMAT, "a format such as e5m10")
    exponent, _, mantissa = text[1:].partition("m")
    s.properties["exponent_bits"] = IntegerAttr(int(exponent), i32)
    s.properties["mantissa_bits"] = IntegerAttr(int(mantissa), i32)
    return s.finish(values)


def _top_k(s: Syntax) -> Operation:
    s.punctuation("(")
    values = s.values()
    s.keyword("k")
    s.punctuation("=")
    s.properties["k"] = integer(s)
    s.punctuation(")")
    return s.finish(values)


def _get_tuple_element(s: Syntax) -> Operation:
    values = [s.parser.parse_unresolved_operand()]
    s.punctuation("[")
    s.properties["index"] = integer(s)
    s.punctuation("]")
    return s.finish(values)


def _tuple(s: Syntax) -> Operation:
    values = s.values()
    attributes = s.attributes()
    s.punctuation(":")
    result: Any = s.parser.parse_type()
    parts = getattr(getattr(result, "types", None), "data", None)
    if parts is None:
        s.parser.raise_error("expected a tuple type")
    return s.build(s.resolve(values, parts), [result], attributes)


def _mesh(s: Syntax) -> Operation:
    s.properties["sym_name"] = StringAttr(s.parser.parse_symbol_name().data)
    s.punctuation("=")
    s.properties["mesh"] = s.wrap("mesh", s.scan(ANGLES, 'a mesh such as <["x"=2]>')[1:-1])
    return s.build([], [], s.attributes())


def _sharded(s: Syntax) -> Operation:
    """One value and the sharding it takes: `%x <@mesh, [{"a"}, {}]> : t`."""
    values = [s.parser.parse_unresolved_operand()]
    s.properties["sharding"] = s.wrap("sharding", s.scan(ANGLES, "a sharding such as <@mesh, [{}]>")[1:-1])
    return s.finish(values)


def _with_word(word: str, read: Callable[[Syntax], Attribute]) -> Callable[[Syntax], Operation]:
    """One value, then `word=value` without a comma."""

    def form(s: Syntax) -> Operation:
        values = [s.parser.parse_unresolved_operand()]
        s.keyword(word)
        s.punctuation("=")
        s.properties[word] = read(s)
        attributes = s.attributes()
        s.punctuation(":")
        type = s.parser.parse_type()
        results = [] if s.op_type.name == "sdy.sharding_group" else [type]
        return s.build(s.resolve(values, [type]), results, attributes)

    return form


def _iota(s: Syntax) -> Operation:
    s.keyword("dim")
    s.punctuation("=")
    s.properties["iota_dimension"] = integer(s)
    return _no_operands(s)


_DIMS: Property = ("broadcast_dimensions", integer_list)
_PRECISION: Property = ("precision_config", precisions)

FORMS: dict[str, Callable[[Syntax], Operation]] = {
    "stablehlo.after_all": _after_all,
    "stablehlo.broadcast": _named(sizes=("broadcast_sizes", integer_list)),
    "stablehlo.broadcast_in_dim": _named(dims=_DIMS),
    "stablehlo.cholesky": _named(lower=("lower", boolean)),
    "stablehlo.compare": _compare,
    "stablehlo.complex": _complex,
    "stablehlo.composite": _composite,
    "stablehlo.concatenate": _named(dim=("dimension", integer)),
    "stablehlo.constant": _constant,
    "stablehlo.convolution": convolution,
    "stablehlo.create_token": _no_operands,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.dot": _named(precision=_PRECISION),
    "stablehlo.dot_general": dot_general,
    "stablehlo.dynamic_broadcast_in_dim": _named(dims=_DIMS),
    "stablehlo.dynamic_iota": _named(dim=("iota_dimension", integer)),
    "stablehlo.dynamic_slice": _named(sizes=("slice_sizes", integer_list)),
    "stablehlo.einsum": _named(config=("einsum_config", string)),
    "stablehlo.fft": _named(type=("fft_type", enumeration("fft_type")), length=("fft_length", integer_list)),
    "stablehlo.get_dimension_size": _named(dim=("dimension", integer)),
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.iota": _iota,
    "stablehlo.pad": _named(
        low=("edge_padding_low", integer_list),
        high=("edge_padding_high", integer_list),
        interior=("interior_padding", integer_list),
    ),
    "stablehlo.partition_id": _no_operands,
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.replica_id": _no_operands,
    "stablehlo.return": _return,
    "stablehlo.reverse": _named(dims=("dimensions", integer_list)),
    "stablehlo.rng": _named(distribution=("rng_distribution", enumeration("rng_distribution"))),
    "stablehlo.rng_bit_generator": _named(algorithm=("rng_algorithm", enumeration("rng_algorithm"))),
    "stablehlo.select": _select,
    "stablehlo.set_dimension_size": _named(dim=("dimension", integer)),
    "stablehlo.slice": slice_bounds,
    "stablehlo.transpose": _named(dims=("permutation", integer_list)),
    "stablehlo.tuple": _tuple,
    "stablehlo.unary_einsum": _named(config=("einsum_config", string)),
    "stablehlo.while": while_loop,
    "chlo.constant": _constant,
    "chlo.top_k": _top_k,
    "sdy.manual_computation": manual_computation,
    "sdy.mesh": _mesh,
    "sdy.named_computation": named_computation,
    "sdy.propagation_barrier": _with_word("allowed_direction", word),
    "sdy.reshard": _sharded,
    "sdy.return": _return,
    "sdy.sharding_constraint": _sharded,
    "sdy.sharding_group": _with_word("group_id", integer),
}
"""Reads what follows the op's name, by that name; ops without a row have operands, attributes and types."""

TORCH_FORMS: dict[str, Callable[[Syntax], Operation]] = {
    "torch.symbolic_int": _symbolic_int,
    "torch.bind_symbolic_shape": _bind_symbolic_shape,
}
"""Forms of the ops of `Torch`, which is read and not converted."""
