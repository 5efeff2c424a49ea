"""
The shape dialect in xDSL's interpreter, op by op, by the table that the lattice is evaluated with.

    a value of type    is
    !shape.size        a size of the lattice: 3, "?", Invalid(reason)
    !shape.shape       a shape of the lattice: (3, "?"), UNRANKED, Invalid(reason)
    !shape.witness     True, None where unknown, Invalid(reason)
    !shape.value_shape `ValueShape`, or Invalid(reason)
    index, i1          a Python number
    an extent tensor   a NumPy array; so too all other tensors

Errors are values where the type can hold them. Where it cannot (an index, an extent tensor, a truth) the op fails with E9020,
and with E9021 for what is unknown. A constraint that does not hold fails where it stands, as its lowering does; so does
`assuming` of a witness that is false or unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, StringAttr, i1
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    ReturnedValues,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute, Operation

from mind_dialect import shape as sh
from mind_dialect.errors import CATALOGUE, MindError, brief, error
from mind_dialect.shape.evaluate import EVALUATE, Shaped, Value, as_shape, evaluate, shape_of_type
from mind_dialect.shape.lattice import MAX_RANK, UNKNOWN, UNRANKED, Invalid, Shape, Unranked, join, ranked, show
from mind_dialect.shape.types import ShapeType, SizeType, ValueShapeType, WitnessType, is_extents, is_shaped
from mind_passes.shape.emitted import CODE_ATTRIBUTE, filled

Values = tuple[Any, ...]
MAX_STEPS = 1 << 17
"""So many steps one `reduce` may take, those of others inside it included."""


class ValueShape(NamedTuple):
    """A value, None if unknown, and a shape that it is said to have."""

    value: Any
    shape: Shape


def failed(op: Operation, reason: str) -> MindError:
    """E9020 for an op that fails, or the code that a constraint states."""
    stated = op.attributes.get(CODE_ATTRIBUTE)
    code = stated.data if isinstance(stated, StringAttr) and stated.data in CATALOGUE else "E9020"
    name = op.name.removeprefix("shape.")
    return error(code, f"{name}: {reason}", operation=op, **{**dict.fromkeys(CATALOGUE[code].context, ""), "reason": reason})


def unknown(op: Operation, issue: str) -> MindError:
    """Return E9021 for an op that needs what is not known."""
    return error("E9021", f"{op.name.removeprefix('shape.')}: {issue}", operation=op, reason=issue)


def _extents_of(value: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in value.shape) if hasattr(value, "shape") else np.shape(value)


def _contents(value: Any) -> Shape:
    """The elements of a list of integers; unknown for all else, Invalid for a list that is too long to be a shape."""
    if not isinstance(value, np.ndarray):
        return UNRANKED
    array = cast("np.ndarray[Any, Any]", value)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        return UNRANKED
    return tuple(array.tolist()) if array.size <= MAX_RANK else Invalid(f"rank {array.size} is more than {MAX_RANK}")


def lattice_value(op: Operation, value: Any, type: Attribute) -> Value:
    """A value of the interpreter as the lattice has it; E9020 for a tensor that is not of the declared type."""
    if isinstance(value, Invalid):
        return value
    if isinstance(value, ValueShape):
        return Shaped(value.shape, _contents(value.value))
    if is_shaped(type):
        found = _extents_of(value)
        if isinstance(join(found, shape_of_type(type)), Invalid):
            raise failed(op, f"an operand of shape {brief(list(found))}, declared {type}")
        return Shaped(found, _contents(value))
    if isinstance(type, ShapeType):
        return ranked(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    if isinstance(type, IndexType) or (isinstance(type, SizeType) and not isinstance(value, str)):
        return int(value) if value >= 0 or isinstance(type, IndexType) else Invalid(f"negative size {value}")
    return bool(value) if type == i1 else value


def python_value(op: Operation, value: Value, type: Attribute) -> Any:
    """A value of the lattice as the interpreter holds one of `type`; E9020 and E9021 for what it cannot hold."""
    if isinstance(type, SizeType | ShapeType | WitnessType | ValueShapeType):
        return value
    if isinstance(value, Invalid):
        raise failed(op, value.reason)
    if isinstance(type, IndexType) and isinstance(value, int):
        return value
    if type == i1 and value is not None:
        return value
    if is_extents(type) and isinstance(value, Shaped):
        contents = value.contents
        if isinstance(contents, tuple) and all(isinstance(n, int) for n in contents):
            return np.array(contents, np.int64)
    shown = show(value.contents if isinstance(value, Shaped) else cast(Any, value)) if value is not None else UNKNOWN
    raise unknown(op, f"the result is {shown}, which {brief(type)} cannot hold")


def _evaluate(op: Operation, args: Values) -> tuple[Value, ...]:
    values = [lattice_value(op, value, type) for value, type in zip(args, op.operand_types, strict=True)]
    return evaluate(op, values)


def _run(_functions: ShapeRunner, _interpreter: Interpreter, op: Operation, args: Values) -> Values:
    """An op by its row."""
    return tuple(python_value(op, v, t) for v, t in zip(_evaluate(op, args), op.result_types, strict=True))


def _run_constraint(_functions: ShapeRunner, interpreter: Interpreter, op: Operation, args: Values) -> Values:
    """A constraint fails at once if it does not hold."""
    (found,) = _evaluate(op, args)
    if isinstance(found, Invalid):
        raise failed(op, _reason(interpreter, op, found.reason))
    return (found,)


def _reason(interpreter: Interpreter, op: Operation, otherwise: str) -> str:
    """The message of a constraint, with the numbers that it compares where they are known."""
    owner = op.pred.owner if isinstance(op, sh.CstrRequireOp) else None
    return (
        filled(cast(sh.CstrRequireOp, op), interpreter.get_values(owner.operands)) if isinstance(owner, Operation) else otherwise
    )


def _run_with_shape(_functions: ShapeRunner, _interpreter: Interpreter, op: sh.WithShapeOp, args: Values) -> Values:
    (found,) = _evaluate(op, args)
    if not isinstance(found, Shaped):
        return (found,)
    value = args[0].value if isinstance(args[0], ValueShape) else args[0]
    return (ValueShape(value, found.shape),)


def _run_value_of(_functions: ShapeRunner, _interpreter: Interpreter, op: sh.ValueOfOp, args: Values) -> Values:
    (found,) = args
    if isinstance(found, Invalid):
        raise failed(op, found.reason)
    if found.value is None:
        raise unknown(op, "the value of a value shape is unknown")
    lattice_value(op, found.value, op.result.type)
    return (found.value,)


def _run_debug_print(_functions: ShapeRunner, interpreter: Interpreter, op: sh.DebugPrintOp, args: Values) -> Values:
    interpreter.print(show(cast(Any, lattice_value(op, args[0], op.input.type))))
    return args


def _run_assuming(_functions: ShapeRunner, interpreter: Interpreter, op: sh.AssumingOp, args: Values) -> Values:
    (holds,) = args
    if isinstance(holds, Invalid):
        raise failed(op, holds.reason)
    if holds is None:
        raise unknown(op, "it is not known whether the constraint holds")
    return interpreter.run_ssacfg_region(op.body, (), op.name)


def _run_reduce(functions: ShapeRunner, interpreter: Interpreter, op: sh.ReduceOp, args: Values) -> Values:
    shape = as_shape(lattice_value(op, args[0], op.shape.type))
    if not isinstance(shape, tuple):
        return tuple(_without_steps(op, shape, type) for type in op.result_types)
    carried = args[1:]
    with functions.steps(op) as step:
        for i, extent in enumerate(shape):
            step()
            carried = interpreter.run_ssacfg_region(op.body, (i, extent, *carried), op.name)
    return carried


def _without_steps(op: sh.ReduceOp, shape: Unranked | Invalid, type: Attribute) -> Any:
    """Return what `reduce` gives for a shape without a rank: where the type allows, nothing known, or why it is invalid."""
    if not isinstance(type, SizeType | ShapeType):
        if isinstance(shape, Invalid):
            raise failed(op, shape.reason)
        raise unknown(op, f"a shape of unknown rank, of which {brief(type)} cannot be computed")
    return shape if isinstance(shape, Invalid) else UNKNOWN if isinstance(type, SizeType) else UNRANKED


def _end(_functions: ShapeRunner, _interpreter: Interpreter, _op: Operation, args: Values) -> tuple[Any, Values]:
    return ReturnedValues(args), ()


class _Steps:
    """Counts the steps of a `reduce` and those inside it; E9022 for too many."""

    def __init__(self) -> None:
        self._depth = self._count = 0
        self._op: Operation | None = None

    def __call__(self, op: Operation) -> _Steps:
        self._op = op
        return self

    def __enter__(self) -> Callable[[], None]:
        if self._depth == 0:
            self._count = 0
        self._depth += 1
        return self._step

    def __exit__(self, *_: object) -> None:
        self._depth -= 1

    def _step(self) -> None:
        self._count += 1
        if self._count > MAX_STEPS:
            message = f"reduce: more than {MAX_STEPS} steps, those of inner ones included"
            raise error("E9022", message, operation=self._op, limit=MAX_STEPS)


class ShapeRunner(InterpreterFunctions):
    """Shared by the implementations."""

    def __init__(self) -> None:
        self.steps = _Steps()

    @impl_callable(sh.FuncOp)
    def call(self, interpreter: Interpreter, op: sh.FuncOp, args: Values) -> Values:
        """A shape function; E4000 if it is declared only."""
        if op.is_declaration:
            message = f"@{op.sym_name.data} is declared only, expected a body"
            raise error("E4000", message, operation=op, given="a declaration", expected="a body")
        return interpreter.run_ssacfg_region(op.body, args, op.sym_name.data)


_OWN: dict[type[Operation], Any] = {
    sh.WithShapeOp: _run_with_shape,
    sh.ValueOfOp: _run_value_of,
    sh.DebugPrintOp: _run_debug_print,
    sh.AssumingOp: _run_assuming,
    sh.ReduceOp: _run_reduce,
}
_ENDINGS: tuple[type[Operation], ...] = (sh.AssumingYieldOp, sh.YieldOp, sh.ReturnOp)


def _name(op: type[Operation]) -> str:
    return f"run_{op.name.replace('.', '_')}"


def _row(op: type[Operation]) -> Any:
    constrains = issubclass(op, sh.ConstraintOp | sh.CstrRequireOp)
    return _OWN.get(op, _run_constraint if constrains else _run)


ShapeFunctions = register_impls(
    type(
        "ShapeFunctions",
        (ShapeRunner,),
        {
            **{_name(op): impl(op)(_row(op)) for op in (*EVALUATE, *(op for op in _OWN if op not in EVALUATE))},
            **{_name(op): impl_terminator(op)(_end) for op in _ENDINGS},
        },
    )
)
"""The implementations, one per row of the tables."""
