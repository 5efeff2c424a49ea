"""
Functions on shapes, libraries that say which function gives the shapes of which op, and the attribute that names libraries.

    shape.func @f(%x: !shape.value_shape) -> !shape.shape { ... shape.return %s : !shape.shape }
    shape.function_library @lib { shape.func ... } mapping {test.op = @f}
    module attributes {shape.lib = [@lib]} { ... }

A name must lead to what it should name, and an op has one shape function: upstream checks that when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import DictionaryAttr, FunctionType, StringAttr, SymbolRefAttr
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import AnyAttr, irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    CallableOpInterface,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    ReturnLike,
    SymbolOpInterface,
    SymbolTable,
)

from ..errors import MindError, brief, error
from ..names import VISIBILITIES, VISIBILITY_ATTRIBUTE
from .base import ShapeOp, only_block
from .terminators import check_types_passed
from .types import ANY, is_array

LIBRARY_ATTRIBUTE = "shape.lib"


@irdl_op_definition
class ReturnOp(ShapeOp):
    """Ends a shape function; in the early form also an iteration of `reduce`."""

    name = "shape.return"
    PARENTS: ClassVar = ("shape.func", "shape.reduce")
    arguments = var_operand_def(ANY)
    traits = traits_def(IsTerminator(), ReturnLike())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def check_op(self) -> None:
        parent = self.parent_op()
        if not isinstance(parent, FuncOp):
            return
        name, type = parent.properties.get("sym_name"), parent.properties.get("function_type")
        if isinstance(name, StringAttr) and isinstance(type, FunctionType):  # else the function is at fault
            check_types_passed(self, type.outputs.data, f"results of @{name.data}")


class _Callable(CallableOpInterface):
    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return op.regions[0]

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return cast(FuncOp, op).type.inputs.data

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return cast(FuncOp, op).type.outputs.data


@irdl_op_definition
class FuncOp(ShapeOp):
    """A function on sizes and shapes. Without a body it is declared only."""

    name = "shape.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(AnyAttr())
    sym_visibility = opt_prop_def(AnyAttr())
    arg_attrs = opt_prop_def(AnyAttr())
    res_attrs = opt_prop_def(AnyAttr())
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), _Callable())

    @classmethod
    def of(cls, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute], region: Region | None = None) -> Self:
        """The function of the given type; without a region its body is a block of arguments and no ops yet."""
        body = Region(Block(arg_types=inputs)) if region is None else region
        function_type = FunctionType.from_lists(list(inputs), list(outputs))
        return cls(result_types=[], regions=[body], sym_name=name, function_type=function_type)

    @property
    def type(self) -> FunctionType:
        """The types of arguments and results."""
        return cast(FunctionType, self.function_type)

    @property
    def is_declaration(self) -> bool:
        """Return whether the function has no body."""
        return self.body.first_block is None

    def check_properties(self) -> None:
        _check_symbol(self)
        if not isinstance(self.function_type, FunctionType):
            message = f"function_type is {brief(self.function_type)}, expected a function type"
            raise error("E9007", message, property="function_type")
        counts = {"arg_attrs": len(self.type.inputs.data), "res_attrs": len(self.type.outputs.data)}
        for name, count in counts.items():
            found = self.properties.get(name)
            if found is not None and not _is_list_of_dicts(found, count):
                message = f"{name} is {brief(found)}, expected a list of {count} dictionaries"
                raise error("E9007", message, property=name)

    def check_op(self) -> None:
        entry = self.body.first_block
        if entry is None:
            return
        stated, found = tuple(self.type.inputs.data), tuple(entry.arg_types)
        if stated != found:
            shown, wanted = (f"({', '.join(map(brief, types))})" for types in (found, stated))
            message = f"the body takes {shown}, expected the inputs {wanted}"
            raise error("E9009", message, expected=wanted, actual=shown)
        for block in self.body.blocks:
            last = block.last_op
            if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
                found_op = "nothing" if last is None else last.name
                raise error("E9005", f"the body ends in {found_op}, expected shape.return", issue="terminator")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_visibility_keyword()
        reserved = ("sym_name", "function_type", "sym_visibility")
        name, inputs, outputs, region, extra, arg_attrs, res_attrs = parse_func_op_like(parser, reserved_attr_names=reserved)
        properties: dict[str, Attribute | None] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(inputs, outputs),
            "sym_visibility": visibility,
            "arg_attrs": arg_attrs,
            "res_attrs": res_attrs,
        }
        present = {key: value for key, value in properties.items() if value is not None}
        return cls.create(properties=present, attributes={} if extra is None else dict(extra.data), regions=[region])

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.string('sym_visibility')}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.type,
            self.body,
            self.attributes,
            arg_attrs=cast(Any, self.arg_attrs),
            res_attrs=cast(Any, self.res_attrs),
            reserved_attr_names=(),
        )


@irdl_op_definition
class FunctionLibraryOp(ShapeOp):
    """Shape functions, with a mapping from ops to them."""

    name = "shape.function_library"
    sym_name = prop_def(StringAttr)
    mapping = prop_def(AnyAttr())
    sym_visibility = opt_prop_def(AnyAttr())
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), SymbolTable(), NoTerminator())

    @property
    def functions(self) -> dict[str, FuncOp]:
        """The functions of the library by name."""
        return {op.sym_name.data: op for op in self.body.block.ops if isinstance(op, FuncOp)}

    def function_of(self, op: str) -> FuncOp | None:
        """The shape function of the op named `op`, in a verified library."""
        found = cast(DictionaryAttr, self.mapping).data.get(op)
        return None if found is None else self.functions[cast(SymbolRefAttr, found).root_reference.data]

    def check_properties(self) -> None:
        _check_symbol(self)
        if not isinstance(self.mapping, DictionaryAttr):
            message = f"mapping is {brief(self.mapping)}, expected a dictionary from ops to functions"
            raise error("E9007", message, property="mapping")

    def check_op(self) -> None:
        block = only_block(self.body, "the library")
        if block.args:
            raise error("E9005", "the library has arguments, expected none", issue="arguments")
        functions: set[str] = set()
        for op in block.ops:
            if not isinstance(op, FuncOp):
                raise error("E9012", f"holds {op.name}, expected shape.func only", issue=op.name)
            name = op.properties.get("sym_name")
            if isinstance(name, StringAttr):
                if name.data in functions:
                    raise error("E9011", f"has two functions @{name.data}", symbol=name.data)
                functions.add(name.data)
        for mapped, reference in cast(DictionaryAttr, self.mapping).data.items():
            if not isinstance(reference, SymbolRefAttr) or reference.nested_references.data:
                message = f"maps {mapped} to {brief(reference)}, expected the name of a function such as @f"
                raise error("E9012", message, issue=mapped)
            if reference.root_reference.data not in functions:
                message = f"maps {mapped} to {reference}, which is no function of the library"
                raise error("E9010", message, symbol=reference.root_reference.data)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "mapping"))
        region = parser.parse_region()
        if region.first_block is None:
            region.add_block(Block())
        parser.parse_keyword("mapping")
        mapping = parser.parse_optional_attr_dict()
        return cls.create(
            properties={"sym_name": name, "mapping": DictionaryAttr(mapping)},
            attributes={} if attributes is None else dict(attributes.data),
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        rest = {n: p for n, p in self.properties.items() if n not in ("sym_name", "mapping")}
        printer.print_op_attributes({**rest, **self.attributes}, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_string(" mapping ")
        printer.print_attribute(self.mapping)


FUNCTION_OPS: tuple[type[ShapeOp], ...] = (FuncOp, ReturnOp, FunctionLibraryOp)


def _check_symbol(op: ShapeOp) -> None:
    if not op.string("sym_name"):
        raise error("E9007", "sym_name is empty, expected a name", property="sym_name")
    if (found := op.string(VISIBILITY_ATTRIBUTE)) not in (None, *VISIBILITIES):
        message = f"{VISIBILITY_ATTRIBUTE} is {brief(found)!r}, expected one of {', '.join(VISIBILITIES)}"
        raise error("E9007", message, property=VISIBILITY_ATTRIBUTE)


def _is_list_of_dicts(attribute: Attribute, count: int) -> bool:
    return (
        is_array(attribute) and len(attribute.data) == count and all(isinstance(item, DictionaryAttr) for item in attribute.data)
    )


def check_libraries(op: Operation) -> None:
    """
    The rules of the attribute `shape.lib` of `op`.

    E9012 if it stands on no symbol table or names no libraries, E9010 if a name leads nowhere, E9011 if two of the libraries
    have a shape function for the same op.
    """
    seen: dict[str, str] = {}
    for library in libraries(op):
        mapping = library.properties.get("mapping")
        for mapped in mapping.data if isinstance(mapping, DictionaryAttr) else ():
            if mapped in seen:
                message = f"{LIBRARY_ATTRIBUTE}: {mapped} has shape functions in @{seen[mapped]} and @{library.sym_name.data}"
                raise error("E9011", f"{message}, expected one", symbol=mapped)
            seen[mapped] = library.sym_name.data


def libraries(op: Operation) -> Iterator[FunctionLibraryOp]:
    """The libraries that `shape.lib` of `op` names, in its order; E9010 and E9012 as `check_libraries` says."""
    named = op.attributes.get(LIBRARY_ATTRIBUTE)
    if named is None:
        return
    if not op.has_trait(SymbolTable) or len(op.regions) != 1:
        raise _malformed(f"stands on {op.name}, expected an op that holds symbols, such as a module")
    symbols: dict[str, Operation] = {}
    for block in op.regions[0].blocks:
        for inner in block.ops:
            if isinstance(name := inner.get_attr_or_prop("sym_name"), StringAttr):
                symbols.setdefault(name.data, inner)
    references = named.data if is_array(named) else (named,)
    for reference in references:
        if not isinstance(reference, SymbolRefAttr) or reference.nested_references.data:
            raise _malformed(f"holds {brief(reference)}, expected the name of a library such as @lib, or a list of them")
        found = symbols.get(reference.root_reference.data)
        if found is None:
            message = f"{LIBRARY_ATTRIBUTE}: there is no {reference}"
            raise error("E9010", message, symbol=reference.root_reference.data)
        if not isinstance(found, FunctionLibraryOp):
            raise _malformed(f"{reference} is a {found.name}, expected a shape.function_library")
        yield found


def library_functions(op: Operation) -> dict[str, FuncOp]:
    """Return the shape functions with a body that verified libraries of `op` have, by the names of ops."""
    found: dict[str, FuncOp] = {}
    for library in libraries(op):
        for name in cast(DictionaryAttr, library.mapping).data:
            function = library.function_of(name)
            if function is not None and not function.is_declaration:
                found[name] = function
    return found


def _malformed(issue: str) -> MindError:
    return error("E9012", f"{LIBRARY_ATTRIBUTE}: {issue}", issue=issue)
