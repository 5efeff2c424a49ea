"""
Tuples as their elements: arguments, results, loops, calls and barriers have several values instead, as newer producers write.

Runs before the conversion, in place, on functions that hold a tuple. An element of a tuple is then the value that it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error

from .foreign import ForeignOp, name_of


def flatten_tuples(functions: Iterable[FuncOp]) -> None:
    """Replace tuples by their elements. E8002 for an element that a tuple does not have, E4015 for one of another type."""
    for f in functions:
        signature = f.function_type
        if any(map(_is_tuple, (*signature.inputs, *signature.outputs))) or any(_holds_tuple(op) for op in walk(f)):
            _Flattener().function(f)


def _is_tuple(type: Attribute) -> bool:
    return isinstance(type, TupleType)


def _holds_tuple(op: Operation) -> bool:
    return any(_is_tuple(v.type) for v in (*op.operands, *op.results))


def elements_of(type: Attribute) -> list[Attribute]:
    """The types in a tuple, those of tuples in it included; another type is itself."""
    found: list[Attribute] = []
    stack = [type]
    while stack:
        given = stack.pop()
        if isinstance(given, TupleType):
            stack.extend(reversed(given.types.data))
        else:
            found.append(given)
    return found


def _all_elements(types: Iterable[Attribute]) -> list[Attribute]:
    return [element for type in types for element in elements_of(type)]


class _Flattener:
    """Rewrites one function; `elements` are the values of each tuple so far."""

    def __init__(self) -> None:
        self.elements: dict[SSAValue, list[SSAValue]] = {}
        self.replaced: list[Operation] = []

    def function(self, f: FuncOp) -> None:
        """Rewrite the body and the signature."""
        inputs, outputs = f.function_type.inputs.data, f.function_type.outputs.data
        self.region(f.body)
        for op in reversed(self.replaced):
            op.detach()
            op.erase(safe_erase=False)
        f.properties["function_type"] = FunctionType.from_lists(_all_elements(inputs), _all_elements(outputs))
        for name, types in (("arg_attrs", inputs), ("res_attrs", outputs)):
            if isinstance(given := f.properties.get(name), ArrayAttr):
                f.properties[name] = _attributes(types, cast("ArrayAttr[DictionaryAttr]", given).data)

    def region(self, region: Region) -> None:
        """Rewrite all blocks; arguments that are tuples go when nothing reads them any more."""
        for block in region.blocks:
            tuples = [argument for argument in block.args if _is_tuple(argument.type)]
            for argument in tuples:
                types = elements_of(argument.type)
                self.elements[argument] = [block.insert_arg(t, argument.index + 1 + i) for i, t in enumerate(types)]
            for op in list(block.ops):
                self.op(op, block)
            for argument in tuples:
                block.erase_arg(argument, safe_erase=False)

    def op(self, op: Operation, block: Block) -> None:
        """Rewrite an op, or note the elements of the tuple that it makes or reads."""
        name = name_of(op)
        for region in op.regions:
            self.region(region)
        if name == "stablehlo.tuple" and len(op.results) == 1 and _is_tuple(op.results[0].type):
            self._whole(op)
        elif name == "stablehlo.get_tuple_element" and len(op.operands) == len(op.results) == 1:
            self._element(op)
        elif _holds_tuple(op):
            self._rebuilt(op, block)

    def _values(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        return [element for value in values for element in self.elements.get(value, [value])]

    def _whole(self, op: Operation) -> None:
        """Note the elements of a tuple that an op makes."""
        values, stated = self._values(op.operands), elements_of(op.results[0].type)
        if [v.type for v in values] != stated:
            declared, inferred = (", ".join(map(str, types)) for types in (stated, [v.type for v in values]))
            raise error("E4015", f"states {declared}, gives {inferred}", declared=declared, inferred=inferred).at(op, name_of(op))
        self.elements[op.results[0]] = values
        self.replaced.append(op)

    def _element(self, op: Operation) -> None:
        """Note what an element of a tuple is; one of another value is left to the row, which raises."""
        whole, result = op.operands[0], op.results[0]
        if not isinstance(whole.type, TupleType) or whole not in self.elements:
            return
        types, index = whole.type.types.data, _index(op)
        if not 0 <= index < len(types):
            message = f"index is {index}, expected 0 to {len(types) - 1}"
            raise error("E8002", message, attribute="index", value=index).at(op, name_of(op))
        if types[index] != result.type:
            message = f"states {result.type}, element {index} is {types[index]}"
            raise error("E4015", message, declared=str(result.type), inferred=str(types[index])).at(op, name_of(op))
        start = len(_all_elements(types[:index]))
        found = self.elements[whole][start : start + len(elements_of(types[index]))]
        if _is_tuple(result.type):
            self.elements[result] = found
        else:
            result.replace_all_uses_with(found[0])
        self.replaced.append(op)

    def _rebuilt(self, op: Operation, block: Block) -> None:
        """Put an op with the elements of its operands and results in the place of one with tuples."""
        made = type(op).create(
            operands=self._values(op.operands),
            result_types=_all_elements(r.type for r in op.results),
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        made.location = op.location
        block.insert_op_before(made, op)
        results = list(made.results)
        for result in op.results:
            own, results = results[: (n := len(elements_of(result.type)))], results[n:]
            if _is_tuple(result.type):
                self.elements[result] = [*own]
            else:
                own[0].name_hint = result.name_hint
                result.replace_all_uses_with(own[0])
        self.replaced.append(op)


def _index(op: Operation) -> int:
    try:
        return ForeignOp(op, (), ()).integer("index")
    except MindError as e:
        raise e.at(op, name_of(op)) from None


def _attributes(types: Sequence[Attribute], given: Sequence[DictionaryAttr]) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results; elements of tuples have none."""
    found: list[DictionaryAttr] = []
    for type, attributes in zip(types, given, strict=False):
        found += [DictionaryAttr({})] * len(elements_of(type)) if _is_tuple(type) else [attributes]
    return ArrayAttr(found)
