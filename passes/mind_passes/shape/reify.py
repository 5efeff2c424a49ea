"""
The shapes of a program as a program: what its extents are and must be, from the shapes of its inputs.

    reify-shapes{mode=func}     a `shape.func @f_shapes` for each function `@f`, from its inputs to the shapes of its results
    reify-shapes{mode=inline}   shape ops and constraints between the ops of the program, each constraint before what needs it

Names of dimensions get their sizes from the first input that has them; others that have them must agree. A declared result type
that says more than its op's rule is one more constraint. Branches and loops may not run what they hold, so that the constraints
of their bodies are left to the run; what their results' types do not say is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import ptir, register
from mind_dialect.core import CoreOp
from mind_dialect.declared_dims import function_facts, keep_declarations
from mind_dialect.errors import CATALOGUE, MindError, error
from mind_dialect.extents.dims import is_expression, names_in
from mind_dialect.extents.solutions import SIZE, solutions
from mind_dialect.names import shown_op
from mind_dialect.op import DialectOp
from mind_dialect.profiles import profile_of
from mind_dialect.program import functions, input_names, value_ids
from mind_dialect.ptir import PtirOp
from mind_dialect.shape import ConstantOp, FuncOp, ReturnOp, library_functions
from mind_dialect.shape.dataflow import name_of
from mind_dialect.shape.evaluate import shape_of_type
from mind_dialect.shape.lattice import UNKNOWN, Extent, Ranked
from mind_dialect.shape.types import shape, size
from mind_dialect.verify import verify

from ..callees import calls_in
from ..inline import inlined
from .emitted import Fault, Shape
from .emitter import Emitter
from .library import placed
from .rules import SHAPE_RULES, emit_shapes

SHAPES_ATTRIBUTE = "mind.shapes"
"""On a function: the name of its shape function."""
Described = Mapping[str, FuncOp]
NONE_DESCRIBED: Described = {}
_NAMED = "dimension {i} of {what}, {name}, has size {{lhs}}, elsewhere {{rhs}}; expected one size"


class Reifier:
    """The shapes of the values of one function, emitted op by op."""

    def __init__(self, function: func.FuncOp, block: Block, described: Described, inline: bool = False):
        self.e = Emitter(block, function_facts(function))
        self.shapes: dict[SSAValue, Shape] = {}
        self._ids = value_ids(only_block(function))
        self._profile = profile_of(function)
        self._described = described
        self._inline = inline

    def inputs(self, function: func.FuncOp, emitted: Sequence[SSAValue]) -> None:
        """Give the inputs of a function their shapes, of which `emitted` has the values, and their names sizes."""
        arguments, called = only_block(function).args, [f"input {what}" for what in input_names(function)]
        for argument, value, what in zip(arguments, emitted, called, strict=True):
            self.bind(argument, value, what)
        self.solve(arguments)
        for argument, what in zip(arguments, called, strict=True):
            self.bind_expressions(argument, what)

    def ops(self, block: Block) -> None:
        """Emit what belongs to the ops of a function."""
        for op in list(block.ops):
            if not isinstance(op, func.ReturnOp):
                self.op(op)

    def bind(self, value: SSAValue, emitted: SSAValue, what: str) -> None:
        """Give an input its shape, and the names of its dimensions their sizes."""
        e, dims = self.e, ranked_dims(value.type)
        if dims is None:
            return
        found = self.shapes[value] = e.shape_of(emitted, len(dims))
        for i, dim in enumerate(dims):
            if isinstance(dim, str) and dim != UNKNOWN and not is_expression(dim):
                e.names.setdefault(dim, e.extent(found, i))
                self._require(found, i, dim, what)

    def solve(self, values: Sequence[SSAValue]) -> None:
        """Give names that only expressions of inputs have, whose shapes are bound, their sizes."""
        e = self.e
        for found in solutions([ranked_dims(value.type) or () for value in values], tuple(e.names)):
            extent = e.extent(self.shapes[values[found.shape]], found.axis)
            e.names[found.name] = e.expression(found.size, {**e.names, SIZE: extent})

    def bind_expressions(self, value: SSAValue, what: str) -> None:
        """Demand of an input whose shape is bound that its dimensions are what its type says of the names of all inputs."""
        for i, dim in enumerate(ranked_dims(value.type) or ()):
            if is_expression(dim):
                self._require(self.shapes[value], i, dim, what)

    def _require(self, found: Shape, i: int, dim: Extent, what: str) -> None:
        e, bound = self.e, self.e.dim(dim)
        e.require(e.extent(found, i), "eq", bound, "E8001", _NAMED.format(i=i, what=what, name=dim), always=True)
        found.extents[i] = bound

    def op(self, op: Operation) -> None:
        """Emit what belongs to one op."""
        e, outermost = self.e, self.e.source is None
        before = e.source, e.label
        e.source, e.label = op, self._label(op)
        if self._inline and outermost:
            e.anchor = op
        try:
            for value, found in zip(op.results, self._results(op), strict=True):
                if found is not None:
                    self.shapes[value] = found
        except MindError as error:
            raise error.at(op, e.label or op.name) from None
        finally:
            e.source, e.label = before

    def _label(self, op: Operation) -> str:
        opcode = op.opcode if isinstance(op, DialectOp) else name_of(op)
        return shown_op(opcode, op, self._ids)

    def _results(self, op: Operation) -> Sequence[Shape | None]:
        if (structural := STRUCTURAL.get(type(op))) is not None:
            return structural(self, op)
        if type(op) in SHAPE_RULES:
            found = emit_shapes(self.e, op, [self.shapes[v] for v in op.operands], self._profile)
        elif (given := self._by_library(op)) is not None:
            found = given
        else:
            return [self.declared(v) for v in op.results]
        return [self._claimed(v, x) for v, x in zip(op.results, found, strict=True)]

    def _by_library(self, op: Operation) -> list[Shape] | None:
        """Return the shapes that a function of `shape.lib` gives an op; None if there is none, or none for its operands."""
        function = self._described.get(name_of(op))
        if function is None or not all(ranked_dims(v.type) is not None and v in self.shapes for v in op.operands):
            return None
        return placed(self.e, function, [self.shapes[v] for v in op.operands], [ranked_dims(v.type) for v in op.results])

    def _claimed(self, value: SSAValue, found: Shape) -> Shape:
        """The shape of a result, where its declared type says more than its rule."""
        e, dims = self.e, ranked_dims(value.type)
        if dims is None or len(dims) != found.rank:
            expected = "a tensor" if dims is None else f"rank {found.rank}"
            raise error(
                "E4015", f"declared result {value.type}, expected {expected}", declared=str(value.type), inferred=expected
            )
        known = e.dims(found)
        if dims == known:
            return found
        extents = list(found.extents)
        for i, (dim, has) in enumerate(zip(dims, known, strict=True)):
            if dim == has or dim == UNKNOWN:
                continue
            extent = e.extent(found, i)
            if isinstance(dim, str) and not is_expression(dim):
                e.names.setdefault(dim, extent)
            stated = e.dim(dim)
            wording = f"dimension {i} of the result has size {{lhs}}, declared {{rhs}}"
            if extent is not stated:
                e.require(extent, "eq", stated, "E8001", wording)
                extents[i] = stated
        if all(a is b for a, b in zip(extents, found.extents, strict=True)):
            return found
        return e.shape([e.extent(found, i) if x is None else x for i, x in enumerate(extents)])

    def declared(self, value: SSAValue) -> Shape | None:
        """The shape of a value of which only the type is known; where the value is available, what it is."""
        e, dims = self.e, ranked_dims(value.type)
        if dims is None:
            return None
        if self._inline and isinstance(value.owner, Operation) and value.owner.parent is e.block:
            before, e.anchor = e.anchor, value.owner.next_op
            found = e.shape_of(value, len(dims))
            for i, dim in enumerate(dims):
                if isinstance(dim, str) and dim != UNKNOWN and not is_expression(dim):
                    e.names.setdefault(dim, e.extent(found, i))
            e.anchor = before
            return found
        return e.shape([self._dim(d) for d in dims])

    def _dim(self, dim: Extent) -> SSAValue:
        e = self.e
        if dim != UNKNOWN and all(name in e.names for name in names_in(dim)):
            return e.dim(dim)
        found = e.emit(ConstantOp.of(UNKNOWN, size))
        return found if dim == UNKNOWN or is_expression(dim) else e.names.setdefault(cast(str, dim), found)


def ranked_dims(type: Attribute) -> Ranked | None:
    """Return the dimensions of a ranked tensor, None for other types."""
    return cast(Ranked, shape_of_type(cast(Attribute, type))) if isinstance(type, TensorType) else None


# Ops with regions


def _declared(reifier: Reifier, op: Operation) -> Sequence[Shape | None]:
    return [reifier.declared(v) for v in op.results]


def _fusion(reifier: Reifier, op: ptir.FusionOp) -> Sequence[Shape]:
    block = op.body.block
    for argument, value in zip(block.args, op.operands, strict=True):
        reifier.shapes[argument] = reifier.shapes[value]
    for inner in block.ops:
        if not isinstance(inner, ptir.YieldOp):
            reifier.op(inner)
    ending = block.last_op
    return [reifier.shapes[v] for v in ending.operands] if ending is not None else []


def _scan(reifier: Reifier, op: ptir.ScanOp) -> Sequence[Shape | None]:
    e, count = reifier.e, op.num_carries
    length: SSAValue | None = None
    for i, value in enumerate(op.operands[count:]):
        extent = e.extent(reifier.shapes[value], 0)
        wording = f"scanned input {i} has size {{rhs}} along axis 0, expected {{lhs}}"
        length = extent if length is None else e.equal(length, extent, "E3003", wording)
    found = [reifier.declared(v) for v in op.results]
    for i, x in enumerate(found[count:], count):
        if x is not None and length is not None:
            found[i] = e.shape([length, *e.extents(x)[1:]])
    return found


STRUCTURAL: Mapping[type[Operation], Callable[..., Sequence[Shape | None]]] = {
    ptir.FusionOp: _fusion,
    ptir.ScanOp: _scan,
    ptir.CondOp: _declared,
    ptir.WhileOp: _declared,
    ptir.CustomCallOp: _declared,
}


# Functions


@dataclass(frozen=True)
class Reified:
    """The shape function of a function, and what is wrong with its shapes whatever the inputs."""

    function: FuncOp
    faults: list[Fault]


def fault_error(fault: Fault) -> MindError:
    """The coded error of a fault, which names the op."""
    place = getattr(fault.op, "place", None)
    context = {**dict.fromkeys(CATALOGUE[fault.code].context), "reason": fault.reason}
    return MindError(fault.code, fault.reason, context).at(fault.op, place() if place is not None else fault.op.name)


def reify(function: func.FuncOp, name: str | None = None, described: Described = NONE_DESCRIBED) -> Reified:
    """
    The shape function of a verified function of Core IR or PTIR, in no module; calls are followed.

    It takes the function's inputs, of which it reads shapes only, and gives the shapes of the results that are tensors.
    `described` are functions of `shape.lib` for ops of other dialects, by their names. E4000 for a function of several blocks.
    """
    if calls_in(function):
        function = inlined(function).func
    body = only_block(function)
    inputs = list(function.function_type.inputs.data)
    block = Block(arg_types=inputs)
    reifier = Reifier(function, block, described)
    for argument, emitted in zip(body.args, block.args, strict=True):
        emitted.name_hint = argument.name_hint
    reifier.inputs(function, block.args)
    reifier.ops(body)
    e = reifier.e
    ending = body.last_op
    returned = [e.as_shape(reifier.shapes[v]) for v in (ending.operands if ending is not None else ()) if v in reifier.shapes]
    block.add_op(ReturnOp(*returned, result_types=[]))
    made = FuncOp.of(name or f"{function.sym_name.data}_shapes", inputs, [shape] * len(returned))
    made.body.detach_block(made.body.block)
    made.body.add_block(block)
    if function.arg_attrs is not None:
        made.properties["arg_attrs"] = function.arg_attrs
    made.location = function.location
    keep_declarations(function, made)
    e.drop_implied()
    e.erase_unused()
    return Reified(made, e.faults)


def reify_inline(function: func.FuncOp, described: Described = NONE_DESCRIBED) -> list[Fault]:
    """Put shape ops and constraints between the ops of a verified function; what is wrong whatever the inputs."""
    body = only_block(function)
    reifier = Reifier(function, body, described, inline=True)
    reifier.e.anchor = body.first_op
    reifier.inputs(function, body.args)
    reifier.ops(body)
    reifier.e.erase_unused()
    return reifier.e.faults


def only_block(function: func.FuncOp) -> Block:
    """Return the block of a function; E4000 for a function of several."""
    blocks = function.body.blocks
    if len(blocks) != 1:
        message = f"@{function.sym_name.data} has {len(blocks)} blocks, expected 1: shapes are reified in their order"
        raise error("E4000", message, operation=function, given=f"{len(blocks)} blocks", expected="1 block")
    return blocks[0]


def _has_shapes(function: func.FuncOp, described: Described) -> bool:
    """Return whether there are rules for shapes of a function: it has ops of Core IR, of PTIR, or that a library describes."""
    return any(isinstance(op, CoreOp | PtirOp) or name_of(op) in described for op in function.walk())


def _symbols(module: ModuleOp) -> set[str]:
    names = (op.get_attr_or_prop("sym_name") for op in module.walk())
    return {str(getattr(name, "data", "")) for name in names if name is not None}


def reify_module(module: ModuleOp, mode: str = "func") -> list[FuncOp]:
    """
    Reify every function of Core IR or PTIR, in place; the shape functions that were made.

    E7001 for an unknown mode; the coded error of the first fault, named after its op.
    """
    if mode not in ("inline", "func"):
        raise error("E7001", f"mode {mode!r}, expected inline or func", option="mode")
    verify(module)
    taken, made, described = _symbols(module), list[FuncOp](), library_functions(module)
    for function in [f for f in functions(module) if f.body.blocks and _has_shapes(f, described)]:
        if mode == "inline":
            faults = reify_inline(function, described)
        else:
            name = _free(f"{function.sym_name.data}_shapes", taken)
            result = reify(function, name, described)
            faults = result.faults
            made.append(result.function)
            cast(Block, function.parent).insert_op_after(result.function, function)
            function.attributes[SHAPES_ATTRIBUTE] = SymbolRefAttr(name)
        for fault in faults:
            raise fault_error(fault)
    return made


def _free(name: str, taken: set[str]) -> str:
    found, i = name, 0
    while found in taken:
        i += 1
        found = f"{name}_{i}"
    taken.add(found)
    return found


@dataclass(frozen=True)
class ReifyShapesPass(ModulePass):
    """
    Express the shapes of programs as ops: in a shape function for each function, or among its ops.

    `mode=func`, the default, adds a `shape.func` for each function; `mode=inline` puts the ops among the function's own.
    """

    name = "mind-reify-shapes"

    mode: str = "func"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        reify_module(op, self.mode)
