"""
The pretty forms of StableHLO, CHLO and Shardy ops, as MLIR prints them: one small parse function for each form.

Each builds the op that the generic form would build. Ops without a row here have operands, perhaps attributes, and types. Source
of the forms: the `assemblyFormat` of each op in the definitions of the dialects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntElementsAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand

from .dialect import OP_TYPES

T = TypeVar("T")
Property = tuple[str, Callable[["Syntax"], Attribute]]


def parse_pretty(op_type: type[Operation], parser: Parser) -> Operation:
    """Read what follows the name of an op of one of these dialects. Raises xDSL's `ParseError`."""
    syntax = Syntax(op_type, parser)
    return FORMS.get(op_type.name, Syntax.plain)(syntax)


class Syntax:
    """The parts of text forms; the parser is behind the op's name."""

    def __init__(self, op_type: type[Operation], parser: Parser):
        self.op_type, self.parser = op_type, parser
        self.properties: dict[str, Attribute] = {}

    # Tokens

    def at(self, text: str) -> bool:
        """Return whether the next token is `text`."""
        return cast(Any, self.parser)._current_token.text == text

    def at_value(self) -> bool:
        """Return whether an SSA value comes next."""
        return cast(Any, self.parser)._current_token.text[:1] == "%"

    def punctuation(self, text: Any) -> None:
        """Read one punctuation mark."""
        self.parser.parse_punctuation(text)

    def accept(self, text: Any) -> bool:
        """Read a punctuation mark if it comes next."""
        return self.parser.parse_optional_punctuation(text) is not None

    def word(self) -> str:
        """Read a bare word."""
        return self.parser.parse_identifier()

    def keyword(self, text: str) -> None:
        """Read a given word."""
        self.parser.parse_keyword(text)

    def scan(self, pattern: re.Pattern[str], expected: str) -> str:
        """Read text that is no sequence of MLIR tokens, from the next token on."""
        parser = cast(Any, self.parser)
        match = pattern.match(parser.lexer.input.content, parser._current_token.span.start)
        if match is None:
            self.parser.raise_error(f"expected {expected}")
        parser._resume_from(match.end())
        return match[0]

    # Parts

    def values(self) -> list[UnresolvedOperand]:
        """Read values separated by commas, up to what is no value; a last comma is read too."""
        found: list[UnresolvedOperand] = []
        while self.at_value():
            found.append(self.parser.parse_unresolved_operand())
            if not self.accept(","):
                break
        return found

    def argument(self) -> Parser.Argument:
        """Read `%x: type`, and the location that may follow."""
        argument = self.parser.parse_argument()
        self.parser.parse_optional_location()
        return argument

    def parenthesized(self, read: Callable[[], T]) -> list[T]:
        """Read `(a, b)`."""
        return self.parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read)

    def bracketed(self, read: Callable[[], T]) -> list[T]:
        """Read `[a, b]`."""
        return self.parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, read)

    def integers(self) -> list[int]:
        """Read `[1, 2]`."""
        return self.bracketed(self.parser.parse_integer)

    def attributes(self) -> dict[str, Attribute]:
        """Read `{...}` if it is there."""
        return self.parser.parse_optional_attr_dict()

    def types(self, count: int) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Read `: (a, b) -> c`, `: a -> b`, or one type (or one each) for operands and results."""
        self.punctuation(":")
        if self.at("("):
            return self.function_type()
        types = self.type_list()
        inputs = types * count if len(types) == 1 else types
        if self.accept("->"):
            return inputs, self.results()
        return inputs, types

    def type_list(self) -> list[Attribute]:
        """Read types separated by commas."""
        types: list[Attribute] = [self.parser.parse_type()]
        while self.accept(","):
            types.append(self.parser.parse_type())
        return types

    def results(self) -> list[Attribute]:
        """Read `t` or `(t, u)`."""
        return list(self.parenthesized(self.parser.parse_type)) if self.at("(") else [self.parser.parse_type()]

    def function_type(self) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Read `(a, b) -> c`."""
        type: FunctionType = self.parser.parse_function_type()
        return type.inputs.data, type.outputs.data

    def resolve(self, values: Sequence[UnresolvedOperand], types: Sequence[Attribute]) -> Sequence[SSAValue]:
        """The values of these types."""
        return self.parser.resolve_operands(values, types, self.parser.pos)

    def build(
        self,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> Operation:
        """The op with the properties collected so far."""
        return self.op_type.create(
            operands=operands,
            result_types=results,
            properties=self.properties,
            attributes=dict(attributes or {}),
            regions=regions,
        )

    def finish(self, values: Sequence[UnresolvedOperand], regions: Sequence[Region] = ()) -> Operation:
        """Read attributes and types, and build the op."""
        attributes = self.attributes()
        inputs, outputs = self.types(len(values))
        return self.build(self.resolve(values, inputs), outputs, attributes, regions)

    # Forms

    def plain(self) -> Operation:
        """Operands, attributes, types."""
        read = self.parser.parse_unresolved_operand
        return self.finish(self.parser.parse_comma_separated_list(Parser.Delimiter.NONE, read) if self.at_value() else [])

    def with_properties(self, known: Mapping[str, Property]) -> Operation:
        """Operands, then `name = value` separated by commas."""
        values = self.values()
        while (word := self.parser.parse_optional_identifier()) is not None:
            if word not in known:
                self.parser.raise_error(f"expected one of {', '.join(known)}")
            self.punctuation("=")
            name, read = known[word]
            self.properties[name] = read(self)
            if not self.accept(","):
                break
        return self.finish(values)

    def wrap(self, name: str, text: str) -> Attribute:
        """An attribute of this dialect with the given text."""
        return cast(Any, self.parser.ctx.get_attr(f"{self.op_type.dialect_name()}.{name}"))(text)


def integer_array(values: Iterable[int]) -> DenseArrayBase:
    """`array<i64: ...>`."""
    return DenseArrayBase.from_list(i64, list(values))


def _list(s: Syntax) -> Attribute:
    return integer_array(s.integers())


def _one(s: Syntax) -> Attribute:
    return IntegerAttr(s.parser.parse_integer(), i64)


def _bool(s: Syntax) -> Attribute:
    return IntegerAttr(int(s.parser.parse_boolean()), i1)


def _string(s: Syntax) -> Attribute:
    return StringAttr(s.parser.parse_str_literal())


def _precisions(s: Syntax) -> Attribute:
    return ArrayAttr([s.wrap("precision", word) for word in s.bracketed(s.word)])


def _enumeration(name: str) -> Callable[[Syntax], Attribute]:
    return lambda s: s.wrap(name, s.word())


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


_PARTS: dict[Attribute, AnyFloat] = {ComplexType(f32): f32, ComplexType(f64): f64}


def _slice(s: Syntax) -> Operation:
    values = [s.parser.parse_unresolved_operand()]
    starts, limits, strides = list[int](), list[int](), list[int]()

    def dimension() -> None:
        starts.append(s.parser.parse_integer())
        s.punctuation(":")
        limits.append(s.parser.parse_integer())
        strides.append(s.parser.parse_integer() if s.accept(":") else 1)

    s.bracketed(dimension)
    for name, numbers in (("start_indices", starts), ("limit_indices", limits), ("strides", strides)):
        s.properties[name] = integer_array(numbers)
    return s.finish(values)


def _dot_general(s: Syntax) -> Operation:
    values = s.values()
    dims: dict[str, list[int]] = {}
    while (word := s.parser.parse_optional_identifier()) is not None:
        s.punctuation("=")
        if word in ("batching_dims", "contracting_dims"):
            kind = word.removesuffix("_dims")
            dims[f"lhs_{kind}_dimensions"] = s.integers()
            s.keyword("x")
            dims[f"rhs_{kind}_dimensions"] = s.integers()
        elif word == "precision":
            s.properties["precision_config"] = _precisions(s)
        else:
            s.properties[word] = (
                s.parser.parse_attribute() if not s.at("<") else s.wrap("dot_algorithm", s.scan(_ANGLES, "<...>"))
            )
        if not s.accept(","):
            break
    s.properties["dot_dimension_numbers"] = s.wrap("dot", ", ".join(f"{name} = {v}" for name, v in dims.items()))
    return s.finish(values)


_ANGLES = re.compile(r"<[^<>]*>")
_CONV = re.compile(r"\[[^\]]*\]\s*x\s*\[[^\]]*\]\s*->\s*\[[^\]]*\]")


def _convolution(s: Syntax) -> Operation:
    values = s.parenthesized(s.parser.parse_unresolved_operand)
    s.keyword("dim_numbers")
    s.punctuation("=")
    s.properties["dimension_numbers"] = s.wrap("conv", s.scan(_CONV, "dimension numbers such as [b, 0, f]x[0, i, o]->[b, 0, f]"))
    if s.accept(","):
        s.keyword("window")
        s.punctuation("=")
        _window(s)
    return s.finish(values)


def _window(s: Syntax) -> None:
    """`{stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = .., rhs_dilate = .., reverse = [false, false]}`."""
    s.punctuation("{")
    while not s.at("}"):
        word = s.word()
        s.punctuation("=")
        if word == "pad":
            pairs = s.bracketed(s.integers)
            flat = [n for pair in pairs for n in pair]
            type = TensorType(i64, [len(pairs), 2])
            if len(flat) != 2 * len(pairs):
                s.parser.raise_error("expected pairs of integers")
            s.properties["padding"] = DenseIntElementsAttr.from_list(type, flat) if pairs else integer_array([])
        elif word == "reverse":
            flags = s.bracketed(lambda: s.parser.parse_optional_boolean() or (not s.at("false") and bool(_flag(s))))
            s.properties["window_reversal"] = integer_array(map(int, flags))
        elif word in _WINDOW:
            s.properties[_WINDOW[word]] = _list(s)
        else:
            s.parser.raise_error(f"expected one of pad, reverse, {', '.join(_WINDOW)}")
        if not s.accept(","):
            break
    s.punctuation("}")


_WINDOW = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}


def _flag(s: Syntax) -> int:
    return s.parser.parse_optional_integer(allow_boolean=False) or 0


def _reduce(s: Syntax) -> Operation:
    inputs, inits = list[UnresolvedOperand](), list[UnresolvedOperand]()
    while True:
        s.punctuation("(")
        inputs.append(s.parser.parse_unresolved_operand())
        s.keyword("init")
        s.punctuation(":")
        inits.append(s.parser.parse_unresolved_operand())
        s.punctuation(")")
        if not s.accept(","):
            break
    applied = s.word() if s.parser.parse_optional_keyword("applies") is not None else None
    s.keyword("across")
    s.keyword("dimensions")
    s.punctuation("=")
    s.properties["dimensions"] = _list(s)
    attributes = s.attributes()
    s.punctuation(":")
    types, results = s.function_type()
    region = _applied(s, applied, types[-1]) if applied is not None and types else _reducer(s)
    return s.build(s.resolve([*inputs, *inits], types), results, attributes, [region])


def _applied(s: Syntax, name: str, type: Attribute) -> Region:
    """The body that applies one op to both arguments, which have the type of the initial value."""
    block = Block(arg_types=[type, type])
    if (op_type := OP_TYPES.get(name)) is None:
        s.parser.raise_error(f"expected an op of StableHLO, found {name}")
    op = op_type.create(operands=block.args, result_types=[type])
    block.add_ops([op, OP_TYPES["stablehlo.return"].create(operands=op.results)])
    return Region(block)


def _reducer(s: Syntax) -> Region:
    """`reducer(%a: t, %b: t) (%c: u, %d: u) {...}`: the block takes all first ones, then all second ones."""
    s.keyword("reducer")
    first, second = list[Parser.Argument](), list[Parser.Argument]()
    while s.at("("):
        pair = s.parenthesized(s.argument)
        if len(pair) != 2:
            s.parser.raise_error("expected two arguments")
        first.append(pair[0])
        second.append(pair[1])
    return s.parser.parse_region([*first, *second])


def _while(s: Syntax) -> Operation:
    names, values = list[UnresolvedOperand](), list[UnresolvedOperand]()

    def carried() -> None:
        names.append(s.parser.parse_unresolved_operand())
        s.punctuation("=")
        values.append(s.parser.parse_unresolved_operand())

    s.parenthesized(carried)
    types: list[Attribute] = []
    if values:
        s.punctuation(":")
        types = s.type_list()
    attributes = s.attributes() if s.parser.parse_optional_keyword("attributes") is not None else {}
    operands = s.resolve(values, types)
    regions: list[Region] = []
    for keyword in ("cond", "do"):
        s.keyword(keyword)
        arguments = [Parser.Argument(n.span, t) for n, t in zip(names, types, strict=True)]
        regions.append(s.parser.parse_region(arguments))
    return s.build(operands, types, attributes, regions)


def _custom_call(s: Syntax) -> Operation:
    s.properties["call_target_name"] = StringAttr(s.parser.parse_symbol_name().data)
    return s.finish(s.parenthesized(s.parser.parse_unresolved_operand))


def _composite(s: Syntax) -> Operation:
    s.properties["name"] = _string(s)
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


_FORMAT = re.compile(r"e\d{1,4}m\d{1,4}")


def _top_k(s: Syntax) -> Operation:
    s.punctuation("(")
    values = s.values()
    s.keyword("k")
    s.punctuation("=")
    s.properties["k"] = _one(s)
    s.punctuation(")")
    return s.finish(values)


def _get_tuple_element(s: Syntax) -> Operation:
    values = [s.parser.parse_unresolved_operand()]
    s.punctuation("[")
    s.properties["index"] = _one(s)
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
    s.properties["mesh"] = s.wrap("mesh", s.scan(_ANGLES, 'a mesh such as <["x"=2]>')[1:-1])
    return s.build([], [], s.attributes())


def _sharded(s: Syntax) -> Operation:
    """One value and the sharding it takes: `%x <@mesh, [{"a"}, {}]> : t`."""
    values = [s.parser.parse_unresolved_operand()]
    s.properties["sharding"] = s.wrap("sharding", s.scan(_ANGLES, "a sharding such as <@mesh, [{}]>")[1:-1])
    return s.finish(values)


def _manual(s: Syntax) -> Operation:
    """`(%a, %b) in_shardings=[...] out_shardings=[...] manual_axes={...} (%x: t, %y: u) {...} : (t, u) -> v`."""
    values = s.parenthesized(s.parser.parse_unresolved_operand)
    for name in ("in_shardings", "out_shardings"):
        s.keyword(name)
        s.punctuation("=")
        s.properties[name] = s.wrap("sharding_per_value", s.scan(_SHARDINGS, "[<...>, ...]"))
    s.keyword("manual_axes")
    s.punctuation("=")
    s.properties["manual_axes"] = s.wrap("manual_axes", s.scan(_AXES, "{...}"))
    region = s.parser.parse_region(s.parenthesized(s.argument))
    return s.finish(values, [region])


def _named_computation(s: Syntax) -> Operation:
    """`<"name">(%a) (%x: t) {...} : (t) -> u`."""
    s.punctuation("<")
    s.properties["name"] = _string(s)
    s.punctuation(">")
    values = s.parenthesized(s.parser.parse_unresolved_operand)
    region = s.parser.parse_region(s.parenthesized(s.argument))
    return s.finish(values, [region])


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


def _word(s: Syntax) -> Attribute:
    return StringAttr(s.word())


_SHARDINGS = re.compile(r"\[(?:\s*<[^<>]*>\s*,?)*\s*\]")
_AXES = re.compile(r"\{[^{}]*\}")


_DIMS: Property = ("broadcast_dimensions", _list)
_PRECISION: Property = ("precision_config", _precisions)

FORMS: dict[str, Callable[[Syntax], Operation]] = {
    "stablehlo.after_all": _after_all,
    "stablehlo.broadcast": _named(sizes=("broadcast_sizes", _list)),
    "stablehlo.broadcast_in_dim": _named(dims=_DIMS),
    "stablehlo.cholesky": _named(lower=("lower", _bool)),
    "stablehlo.compare": _compare,
    "stablehlo.complex": _complex,
    "stablehlo.composite": _composite,
    "stablehlo.concatenate": _named(dim=("dimension", _one)),
    "stablehlo.constant": _constant,
    "stablehlo.convolution": _convolution,
    "stablehlo.create_token": _no_operands,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.dot": _named(precision=_PRECISION),
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_broadcast_in_dim": _named(dims=_DIMS),
    "stablehlo.dynamic_iota": _named(dim=("iota_dimension", _one)),
    "stablehlo.dynamic_slice": _named(sizes=("slice_sizes", _list)),
    "stablehlo.einsum": _named(config=("einsum_config", _string)),
    "stablehlo.fft": _named(type=("fft_type", _enumeration("fft_type")), length=("fft_length", _list)),
    "stablehlo.get_dimension_size": _named(dim=("dimension", _one)),
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.iota": lambda s: _iota(s),
    "stablehlo.pad": _named(
        low=("edge_padding_low", _list), high=("edge_padding_high", _list), interior=("interior_padding", _list)
    ),
    "stablehlo.partition_id": _no_operands,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.replica_id": _no_operands,
    "stablehlo.return": _return,
    "stablehlo.reverse": _named(dims=("dimensions", _list)),
    "stablehlo.rng": _named(distribution=("rng_distribution", _enumeration("rng_distribution"))),
    "stablehlo.rng_bit_generator": _named(algorithm=("rng_algorithm", _enumeration("rng_algorithm"))),
    "stablehlo.select": _select,
    "stablehlo.set_dimension_size": _named(dim=("dimension", _one)),
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _named(dims=("permutation", _list)),
    "stablehlo.tuple": _tuple,
    "stablehlo.unary_einsum": _named(config=("einsum_config", _string)),
    "stablehlo.while": _while,
    "chlo.constant": _constant,
    "chlo.top_k": _top_k,
    "sdy.manual_computation": _manual,
    "sdy.mesh": _mesh,
    "sdy.named_computation": _named_computation,
    "sdy.propagation_barrier": _with_word("allowed_direction", _word),
    "sdy.reshard": _sharded,
    "sdy.return": _return,
    "sdy.sharding_constraint": _sharded,
    "sdy.sharding_group": _with_word("group_id", _one),
}
"""Reads what follows the op's name, by that name; ops without a row have operands, attributes and types."""


def _iota(s: Syntax) -> Operation:
    s.keyword("dim")
    s.punctuation("=")
    s.properties["iota_dimension"] = _one(s)
    return _no_operands(s)
