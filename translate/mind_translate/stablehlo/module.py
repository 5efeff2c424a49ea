"""
StableHLO programs as PTIR modules, in place: which functions are converted, which are kept, and which one is the entry.

Functions are converted that hold StableHLO, that call such functions, or are called by them. Public ones come first; private ones
are converted when a call reaches them, so functions without calls go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.declared_dims import names_given, state_declarations
from mind_dialect.dominance import walk
from mind_dialect.enzyme import DerivativeCall
from mind_dialect.errors import MindError, brief, error
from mind_dialect.extents import parse_declaration
from mind_dialect.extents.dims import names_in, substituted
from mind_dialect.program import named_attributes
from mind_dialect.ptir.types import is_dim_name, read_type, tensor_type
from mind_dialect.ptir_program import ENTRY_ATTRIBUTE, SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.ptir_shapes import UNKNOWN, Dim, Dims
from mind_dialect.verify import check_parts

from ..landing import INTEGER_KINDS
from ..unsupported import Refused, Unsupported
from .converter import StablehloConverter
from .foreign import bounds_of, name_of
from .size_functions import quotients
from .sizes import MOST_RESTARTS, Restart, Sizes
from .table import OPERANDS, POINTWISE, ROWS
from .torch_symbols import bound_dims, symbol_facts
from .tuples import flatten_tuples

DIMENSION_ATTRIBUTE = "mind.dimension"
"""The attribute of a scalar argument that must be the size of the dimension that it names."""
DIALECT_NAMES = frozenset({"stablehlo", "chlo", "sdy"})


def is_foreign(op: Operation) -> bool:
    """Return whether an op is of StableHLO, CHLO or Shardy."""
    return name_of(op).partition(".")[0] in DIALECT_NAMES


def holds_stablehlo(module: Operation) -> bool:
    """Return whether a module holds anything of StableHLO, CHLO or Shardy."""
    return any(is_foreign(op) for op in walk(module))


def convert_module(module: ModuleOp, *, everything: bool = False) -> None:
    """
    Convert a module, and the modules in it, in place; `everything` also where a function holds no StableHLO.

    Raises one E8008 that lists all that has no form in PTIR, or the coded error of the first op that is wrong in itself.
    """
    for op in walk(module):
        if isinstance(op, FuncOp | ReturnOp | DerivativeCall) or (isinstance(op, CallOp) and "callee" not in op.properties):
            check_parts(op)
    for inner in [op for op in walk(module) if isinstance(op, ModuleOp)]:
        functions = [op for op in inner.body.ops if isinstance(op, FuncOp)] if inner.body.blocks else []
        if chosen := _chosen(functions, everything):
            _convert_functions(inner, functions, chosen)


def _chosen(functions: list[FuncOp], everything: bool) -> set[str]:
    """The functions to convert: those with StableHLO, and those connected to them by calls."""
    names = {f.sym_name.data for f in functions}
    if everything:
        return {f.sym_name.data for f in functions if not _holds_ours(f)}
    connected: dict[str, set[str]] = {name: set() for name in names}
    for f in functions:
        for called in _calls(f):
            if called in names:
                connected[called].add(f.sym_name.data)
                connected[f.sym_name.data].add(called)
    stack = [f.sym_name.data for f in functions if holds_stablehlo(f)]
    chosen = set[str]()
    while stack:
        if (name := stack.pop()) not in chosen:
            chosen.add(name)
            stack.extend(connected[name])
    return chosen


def _holds_ours(f: FuncOp) -> bool:
    return any(op.name.startswith(("ptir.", "mind.", "shape.")) for op in walk(f))


def _calls(f: FuncOp) -> Iterator[str]:
    for op in walk(f):
        if isinstance(op, CallOp):
            yield op.callee.root_reference.data
        elif isinstance(op, DerivativeCall):
            yield op.fn.root_reference.data
        elif name_of(op) == "stablehlo.composite":
            decomposition = op.properties.get("decomposition", op.attributes.get("decomposition"))
            if isinstance(decomposition, SymbolRefAttr):
                yield decomposition.root_reference.data


def _computations(functions: list[FuncOp]) -> Iterator[str]:
    """Return the names of functions that custom calls name, as a comparator: rows read them, and nothing calls them."""
    for f in functions:
        for op in walk(f):
            if name_of(op) == "stablehlo.custom_call":
                given = op.properties.get("called_computations", op.attributes.get("called_computations"))
                names = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
                yield from (name.root_reference.data for name in names if isinstance(name, SymbolRefAttr))


def _convert_functions(module: ModuleOp, functions: list[FuncOp], chosen: set[str]) -> None:
    by_name = {f.sym_name.data: f for f in functions}
    flatten_tuples(f for name, f in by_name.items() if name in chosen)
    to = StablehloConverter(ROWS, OPERANDS, POINTWISE, by_name)
    to.quotients = quotients(by_name)
    helpers = set(_computations(functions))
    public = [f for f in functions if f.sym_name.data in chosen - helpers and _is_public(f)]
    stack = public or [f for f in functions if f.sym_name.data in chosen]
    made: dict[str, FuncOp] = {}
    stack.reverse()
    while stack:
        f = stack.pop()
        if (name := f.sym_name.data) in made:
            continue
        made[name] = converted = convert_function(to, f)
        stack.extend(by_name[called] for called in reversed(list(_calls(converted))) if called in chosen)
    to.unsupported.raise_if_any()
    _check_calls(made)
    for f in functions:
        name = f.sym_name.data
        if name not in chosen:
            continue
        if name in made:
            module.body.block.insert_op_before(made[name], f)
        f.detach()
        f.erase(safe_erase=False)
    _state(module, made)


def _is_public(f: FuncOp) -> bool:
    return f.sym_visibility is None or f.sym_visibility.data == "public"


def _state(module: ModuleOp, made: dict[str, FuncOp]) -> None:
    """State the version of the contract, and which of several functions is the entry."""
    module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
    public = [name for name, f in made.items() if _is_public(f)]
    entry = "main" if "main" in made else public[0] if len(public) == 1 else None
    if entry is not None and len(made) > 1 and ENTRY_ATTRIBUTE not in module.attributes:
        module.attributes[ENTRY_ATTRIBUTE] = SymbolRefAttr(entry)


def _check_calls(made: dict[str, FuncOp]) -> None:
    """Raise E4000 for functions that call themselves, with the cycle."""
    done: set[str] = set()
    for root in made:
        path: list[str] = []
        stack: list[tuple[str, bool]] = [(root, False)]
        on_path: set[str] = set()
        while stack:
            name, leaving = stack.pop()
            if leaving:
                on_path.discard(path.pop())
                done.add(name)
                continue
            if name in on_path:
                way = " -> ".join(f"@{n}" for n in [*path[path.index(name) :], name])
                message = f"@{name} calls itself: {brief(way)}; PTIR has no recursion"
                raise error("E4000", message, operation=made[name], given="a recursive call", expected="calls that end")
            if name in done or name not in made:
                continue
            path.append(name)
            on_path.add(name)
            stack.append((name, True))
            stack.extend((called, False) for called in _calls(made[name]))


def convert_function(to: StablehloConverter, f: FuncOp) -> FuncOp:
    """The PTIR function of a function of StableHLO; as often as names of sizes turn out to be one, from the start."""
    to.sizes = Sizes(to.quotients)
    counted = to.unsupported
    for _ in range(MOST_RESTARTS):
        to.unsupported = Unsupported({key: replace(kind) for key, kind in counted.kinds.items()})
        try:
            return _converted(to, f)
        except Restart:
            to.sizes.values.clear()
            to.sizes.used.clear()
            to.sizes.facts.clear()
            to.sizes.dimensions.clear()
    raise Refused("sizes that cannot be distinguished")


def _converted(to: StablehloConverter, f: FuncOp) -> FuncOp:
    """The PTIR function of a function of StableHLO; attributes stay. E4000 for one of several blocks or without a body."""
    if len(f.body.blocks) != 1:
        name, given = brief(f.sym_name.data), f"{len(f.body.blocks)} blocks"
        message = f"@{name} has {given}, expected a body of one block; loops and branches are ops of StableHLO"
        raise error("E4000", message, operation=f, given=given, expected="one block")
    source = f.body.block
    to.op, to.location, to.env = f, f.location, {}
    block = _entry(to, f)
    with to.inside(block):
        try:
            results = to.run_block(source)
        except Refused as refused:
            if not to.unsupported.kinds:  # else it follows from what is counted
                to.unsupported.add("func.return", refused, to.op)
            results = []
        to.add(ReturnOp(*results))
    for name, op in to.sizes.used.items():
        number = int(name.partition("_")[2])
        to.unsupported.add(name_of(op) if op is not None else "func.func", _no_dimension(number), op)
    made = FuncOp(
        f.sym_name.data,
        (block.arg_types, [v.type for v in results]),
        Region(block),
        visibility=f.sym_visibility,
        arg_attrs=_argument_attributes(to, f),
        res_attrs=f.res_attrs,
    )
    made.attributes.update(f.attributes)
    made.location = f.location
    _declare(made, [*symbol_facts(source), *to.sizes.facts])
    return made


def _entry(to: StablehloConverter, f: FuncOp) -> Block:
    """Return a block with the arguments of a function in types of PTIR; scalar integers may hold sizes."""
    source, block = f.body.block, Block()
    for argument in source.args:
        to.stand_in(argument)
        if argument not in to.env:
            _refuse_type(to, f, argument)
    for i, argument in enumerate(source.args):
        if argument in to.env:
            made = block.insert_arg(_named(to, argument, i), len(block.args))
            if read_type(made.type).shape == () and read_type(made.type).dtype.kind in INTEGER_KINDS:
                to.sizes.new_scalar(made, f"size_{i}")
            made.name_hint, made.location = argument.name_hint, argument.location
            to.env[argument] = made
    return block


def _declare(made: FuncOp, facts: Iterable[str]) -> None:
    """Let a function declare what it demands of sizes, where dimensions of its arguments have the names."""
    known = names_given(made.function_type.inputs)
    try:
        state_declarations(made, [text for text in facts if known.issuperset(parse_declaration(text).names)])
    except MindError as e:
        raise e.at(made, f"@{made.sym_name.data}") from None


def _no_dimension(number: int) -> Refused:
    """A size that only a scalar argument says."""
    return Refused(
        f"a size that argument {number} holds and that is not the size of a dimension", "give the program static shapes"
    )


def _named(to: StablehloConverter, argument: SSAValue, i: int) -> Attribute:
    """The type of an argument, its dynamic dimensions named after it: those of `x` are `x_0`, `x_1` and so on."""
    dtype, shape = to.spec(to.env[argument])
    hint = argument.name_hint or f"arg{i}"
    base = hint if is_dim_name(hint) else f"arg{i}"
    if (bound := bound_dims(argument)) is not None:
        return tensor_type(dtype, _bound(to, shape, bound))
    dims = [to.sizes.name(f"{base}_{d}") if n == UNKNOWN else n for d, n in enumerate(shape)]
    to.sizes.dimensions.update(n for n in dims if isinstance(n, str))
    for dim, bound in zip(dims, bounds_of(argument.type), strict=False):
        if bound is not None:
            to.sizes.bounded(dim, bound)
    return tensor_type(dtype, dims)


def _bound(to: StablehloConverter, shape: Dims, bound: Sequence[Dim]) -> list[Dim]:
    """The dimensions that torch-mlir binds to those of an argument; E4000 for others than its type has."""
    if len(bound) != len(shape) or any(n not in (UNKNOWN, m) for n, m in zip(shape, bound, strict=True)):
        message = f"a binding of {list(bound)} for an argument of shape {list(shape)}, expected its sizes"
        raise error("E4000", message, given=list(bound), expected=list(shape))
    return [substituted(n, {name: to.sizes.name(name) for name in names_in(n)}) for n in bound]


def _argument_attributes(to: StablehloConverter, f: FuncOp) -> ArrayAttr[DictionaryAttr] | None:
    """The attributes of the arguments, with names from locations, and the dimensions that scalars are the sizes of."""
    locations = [a.location for a in f.body.block.args]
    stated = named_attributes(f, [place.desc.data if isinstance(place, NameLoc) else "" for place in locations])
    for i, attributes in enumerate(stated):
        if (name := to.sizes.name(f"size_{i}")) not in to.sizes.scalars and f"size_{i}" in to.sizes.scalars:
            attributes[DIMENSION_ATTRIBUTE] = StringAttr(name)
    return ArrayAttr([DictionaryAttr(a) for a in stated]) if any(stated) else f.arg_attrs


def _refuse_type(to: StablehloConverter, f: FuncOp, argument: object) -> None:
    try:
        to.spec_of(argument)  # pyright: ignore[reportArgumentType]
    except Refused as refused:
        to.unsupported.add("func.func", refused, f)


@dataclass(frozen=True)
class ConvertStablehloToPtirPass(ModulePass):
    """Convert StableHLO, CHLO and Shardy to PTIR; one error lists all ops without a form in PTIR."""

    name = "mind-convert-stablehlo-to-ptir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        convert_module(op)
