"""
Shapes at a call, on the host: can the program run on inputs of these shapes, and what shapes does it give?

    output_shapes(program, (2, 3, 64), (2, 3, 64))   ->   ((2, 3, 64),)

The check is the program's shape function, which `reify-shapes` makes and the target `mind-shape-python` turns into Python. For
which sizes a program is compiled is decided in `specialized.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.extents.dims import is_expression
from mind_dialect.extents.solutions import solutions
from mind_dialect.names import shown_op
from mind_dialect.op import DialectOp
from mind_dialect.program import value_ids
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.ptir_shapes import MAX_EXTENT, UNKNOWN, Dims
from mind_passes.callees import calls_in
from mind_passes.dim_names import dims_of, names_used
from mind_passes.inline import inlined

from .specialized import Shapes, Sizes

if TYPE_CHECKING:
    from mind_lowering.shape_python import ShapeSource

KEPT = 16
"""For so many sizes programs of other systems keep what those compiled."""


class Guard:
    """The shape function of a function: raises what is wrong with shapes of inputs, gives those of the results."""

    def __init__(self, func: FuncOp):
        """Raises the coded error of shapes that cannot be, whatever the inputs; E6003 for what has no shape function."""
        from mind_lowering.shape_python import open_inputs, shape_source  # for dynamic programs alone: slow to load
        from mind_passes.shape.reify import fault_error, reify

        made = reify(func)
        for fault in made.faults:
            raise fault_error(fault)
        self.source: ShapeSource = shape_source(made.function, checked=True)
        self.open = tuple(i for i, is_open in enumerate(open_inputs(made.function)) if is_open)
        """The numbers of the inputs that have other dimensions than numbers."""
        self._func = func
        self._run: Callable[..., tuple[Any, ...]] = self.source.compiled()

    def __call__(self, *shapes: Sizes) -> tuple[Sequence[int | None], ...]:
        """As `of_open`, given the shapes of all inputs."""
        return self.of_open(*[shapes[i] for i in self.open])

    def of_open(self, *shapes: Sizes) -> tuple[Sequence[int | None], ...]:
        """
        Return the shapes of the results for shapes of the `open` inputs; None for what only the run can tell.

        Their ranks, and sizes that are numbers, are those declared. Raises a coded error, with NumPy's wording.
        """
        try:
            return self._run(*shapes)
        except MindError as e:
            e.op = self._ops.get(str(e.context.get("op")))
            raise

    @cached_property
    def _ops(self) -> Mapping[str, Operation]:
        """The ops of the function by what messages call them."""
        ids = value_ids(self._func.body.block)
        return {shown_op(op.opcode, op, ids): op for op in self._func.body.block.ops if isinstance(op, DialectOp)}


def checked_shapes(what: str, shapes: Sequence[Any], count: int) -> Shapes:
    """Shapes that somebody gives, or arrays: E2007 for another number of them, E7001 for what is no shape."""
    if len(shapes) != count:
        raise error("E2007", f"{what} expects {count} shapes, found {len(shapes)}", expected=count, actual=len(shapes))
    found: list[Sizes] = []
    for i, given in enumerate(shapes):
        extents = getattr(given, "shape", given)
        sizes = cast("Sequence[object]", extents) if isinstance(extents, tuple | list) else (None,)
        if not all(type(n) is int and 0 <= n <= MAX_EXTENT for n in sizes):
            raise error("E7001", f"shape {i} of {what} is {brief(given)}, expected a tuple of sizes", option="shapes")
        found.append(cast("Sizes", tuple(sizes)))
    return tuple(found)


def shown_dims(shapes: Sequence[Sequence[int | None]]) -> tuple[Dims, ...]:
    """Shapes as users see them: `?` for an unknown size."""
    return tuple(tuple(UNKNOWN if n is None else n for n in shape) for shape in shapes)


def bound_function(func: FuncOp, shapes: Shapes) -> tuple[FuncOp, dict[Operation, Operation]] | None:
    """
    A copy of a dynamic function for inputs of these shapes, and for each op of it the one of the function.

    None if a dimension has no name, or one that no input has: there is no binding then that says all.
    """
    bindings: dict[str, int] = {}
    declared = [dims_of(argument.type) or () for argument in func.body.block.args]
    for dims, shape in zip(declared, shapes, strict=True):
        bindings |= {d: n for d, n in zip(dims, shape, strict=True) if isinstance(d, str) and not is_expression(d)}
    for found in solutions(declared):
        bindings[found.name] = found.of(shapes[found.shape][found.axis], bindings)
    if UNKNOWN in bindings:
        return None
    if calls_in(func):
        whole = inlined(func)
        copy, origins = whole.func, whole.origins
    else:
        copy = func.clone()
        origins = dict(zip(walk(copy), walk(func), strict=True))
    if not set(names_used(copy)) <= bindings.keys():
        return None
    from mind_passes.shape.specialize import specialize

    module = ModuleOp([copy], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
    specialize(module, bindings)
    return copy, origins
