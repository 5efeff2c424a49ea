"""
Sizes for named dimensions: types, properties and what follows from them, throughout a function.

Equal names are equal sizes within one call, so a name gives way everywhere at once. Then each PTIR op says again what its results
are: where its rule knows a size now, an unknown dimension gets it, also in the regions of loops and branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import Rewriter

from mind_dialect.declared_dims import bind_declarations
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.extents.dims import are_equal
from mind_dialect.program import functions
from mind_dialect.ptir import PtirOp, ScanOp, YieldOp
from mind_dialect.ptir.control import RegionOp
from mind_dialect.ptir.types import TensorSpec, read_type, tensor_type
from mind_dialect.ptir_shapes import UNKNOWN, Dim
from mind_dialect.ptir_shapes.dims import MAX_EXTENT

from ..dim_names import Renaming, names_used, unify


def parse_bindings(texts: Sequence[str]) -> dict[str, int]:
    """
    Sizes by name; E7001 for what cannot be read.

    >>> parse_bindings(["B=8,T=128"]), parse_bindings(["B=8", "T=128"])
    ({'B': 8, 'T': 128}, {'B': 8, 'T': 128})
    """
    found: dict[str, int] = {}
    for text in ",".join(texts).split(",") if texts else ():
        name, equals, size = (part.strip() for part in text.partition("="))
        if not equals or not name.isidentifier() or not (size.isascii() and size.isdecimal()) or len(size) > 19:
            raise error("E7001", f"bind: cannot read {brief(text)!r}, expected name=size such as B=8", option="bind")
        if int(size) > MAX_EXTENT:
            raise error("E7001", f"bind: {name}={size} is beyond 2^63 - 1", option="bind")
        if found.get(name, int(size)) != int(size):
            raise error("E7001", f"bind: {name} is {found[name]} and {size}", option="bind")
        found[name] = int(size)
    return found


def specialize(module: ModuleOp, bindings: Mapping[str, int]) -> None:
    """
    Give named dimensions their sizes in every function of a verified module, in place.

    E7003 for a name that no function has; the coded error of an op that is wrong for these sizes; E8001 for a call of a
    function that names the dimension otherwise; E8010 for sizes that break what a function declares.
    """
    known: dict[str, None] = {}
    for func in functions(module):
        known.update(dict.fromkeys(names_used(func)))
    for name in bindings:
        if name not in known:
            raise error("E7003", f"bind: no dimension is named {name}, known: {list(known)}", name=name, known=list(known))
    renaming = Renaming(bindings)
    for func in functions(module):
        _specialize(func, renaming)
    for op in walk(module):
        if isinstance(op, CallOp):
            _check_call(op, module)


def rename_dims(module: ModuleOp, names: Mapping[str, str]) -> None:
    """Give named dimensions other names in every function of a verified module, in place; all names at once, so they may swap."""
    for func in functions(module):
        _specialize(func, Renaming(names))


def take_types(func: FuncOp, given: Sequence[Attribute]) -> None:
    """
    Give the arguments of a function the types of a call, in place: its names become the call's, unknown dimensions what is known.

    E3003 for another type than the function takes; what an op or a declaration makes of the sizes as in `specialize`.
    """
    names: dict[str, Dim] = {}
    for declared, type in zip(func.body.block.arg_types, given, strict=True):
        unify(declared, type, names)
    renaming = Renaming(names)
    for i, (declared, type) in enumerate(zip(func.body.block.arg_types, given, strict=True)):
        m, n = read_type(renaming.type(declared)), read_type(type)
        if m.dtype is not n.dtype or len(m.shape) != len(n.shape) or not all(map(_fits, m.shape, n.shape)):
            message = f"argument {i} of @{func.sym_name.data} is {n}, expected {m}"
            raise error("E3003", message, operation=func, dimension=f"argument {i}", extents=(str(n), str(m)))
    _specialize(func, renaming, given)


def _fits(taken: Dim, given: Dim) -> bool:
    """Return whether a dimension is the one that is taken, as far as they are known."""
    return UNKNOWN in (taken, given) or are_equal(taken, given) is True


def _specialize(func: FuncOp, renaming: Renaming, arguments: Sequence[Attribute] | None = None) -> None:
    """Put dimensions in the place of names throughout a function, whose arguments get other types if those are given."""
    for op in walk(func):
        if op is not func:
            _retype(op.results, [renaming.type(type) for type in op.result_types])
        for region in op.regions:
            for block in region.blocks:
                _retype(block.args, [renaming.type(type) for type in block.arg_types])
        if isinstance(op, PtirOp):
            op.properties.update(renaming.properties(op))
    if arguments is not None:
        _retype(func.body.block.args, arguments)
    for block in func.body.blocks:
        _infer(block)
    bind_declarations(func, renaming.names)
    inputs = [renaming.type(type) for type in func.function_type.inputs] if arguments is None else arguments
    last = func.body.last_block.last_op if func.body.last_block is not None else None
    outputs = [renaming.type(type) for type in func.function_type.outputs] if last is None else list(last.operand_types)
    func.function_type = FunctionType.from_lists(inputs, outputs)


def _retype(values: Sequence[SSAValue], types: Sequence[Attribute]) -> None:
    for value, type in zip(tuple(values), types, strict=True):
        if value.type is not type and value.type != type:
            Rewriter.replace_value_with_new_type(value, type)


def _infer(block: Block) -> None:
    """Let each PTIR op of a block say what its results are."""
    for op in block.ops:
        if isinstance(op, PtirOp) and not isinstance(op, YieldOp):
            try:
                _infer_op(op)
            except MindError as e:
                raise e if e.op is not None else e.at(op, op.place()) from None


def _infer_op(op: PtirOp) -> None:
    operands = [read_type(type) for type in op.operand_types]
    if isinstance(op, RegionOp):
        for region in op.regions:
            taken = _taken(op, operands)
            _retype(region.block.args, [tensor_type(*spec) for spec in taken])
            _infer(region.block)
    declared = [read_type(type) for type in op.result_types]
    inferred = op.infer_all(operands, op.values(), op.regions, declared)
    _retype(op.results, [_more(old, new, type) for old, new, type in zip(declared, inferred, op.result_types, strict=True)])


def _taken(op: RegionOp, operands: Sequence[TensorSpec]) -> Sequence[TensorSpec]:
    """Return the values that the blocks of a region op take: the operands, one slice of those that are scanned."""
    if isinstance(op, ScanOp):
        count = op.num_carries
        return [*operands[:count], *(TensorSpec(spec.dtype, spec.shape[1:]) for spec in operands[count:])]
    return operands[len(operands) - len(op.regions[0].block.args) :]


def _more(declared: TensorSpec, inferred: TensorSpec, type: Attribute) -> Attribute:
    """The declared type, with what the rule knows of its dimensions."""
    if declared == inferred or len(declared.shape) != len(inferred.shape):
        return type
    dims = [m if n == UNKNOWN else n for m, n in zip(declared.shape, inferred.shape, strict=True)]
    return tensor_type(declared.dtype, dims)


def _check_call(op: CallOp, module: ModuleOp) -> None:
    for func in functions(module):
        if func.sym_name.data != op.callee.string_value():
            continue
        given, taken = [*op.operand_types, *op.result_types], [*func.function_type.inputs, *func.function_type.outputs]
        for m, n in zip(given, taken, strict=False):
            if m != n:
                callee = func.sym_name.data
                message = f"calls @{callee} with {m}, which takes or gives {n}: bind its names too, or put calls in place first"
                raise error("E8001", f"func.call {message} (--mind-inline)", operation=op, name=callee, extents=(str(m), str(n)))
