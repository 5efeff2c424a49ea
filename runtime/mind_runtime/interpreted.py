"""
Core IR, PTIR and `xp` in xDSL's own interpreter, op by op, from the kernels of the `numpy` target. Values are NumPy arrays.

    interpreter = Interpreter(module)
    mind_runtime.register_implementations(interpreter)
    (y,) = interpreter.call_op("f", (x,))

Here every intermediate value lives until the function ends, and results may share memory; `compile` is for real work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, cast

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.core import CoreOp
from mind_dialect.declared_dims import broken, declarations_of
from mind_dialect.errors import MindError, error
from mind_dialect.extents.dims import is_expression, size_in
from mind_dialect.extents.solutions import solutions
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.types import PtirDType, read_type
from mind_dialect.ptir_shapes import UNKNOWN
from mind_dialect.ptir_shapes.dims import bounded
from mind_lowering.core_rules import RULES, converted_type
from mind_lowering.dynamic_dims import needs_check, rule_arguments
from mind_lowering.emitter import Emitter
from mind_lowering.kernels import NUMPY
from mind_lowering.memory_need import Need, allocation_error, byte_count, check_need, check_rank, physical_memory, read_any
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_kernels.table import KERNELS, kernel_call
from mind_lowering.xp import CallOp, ExpectOp, FreeOp, ReturnOp
from mind_lowering.xp.arguments import ITERATIONS, Iterations, Seed, SizeArgument
from mind_lowering.xp.regions import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from mind_passes.dim_names import has_names

from .core_errors import as_core
from .foreign import ForeignFunctions
from .foreign_scalars import register_missing
from .interpreted_shape import ShapeFunctions
from .random_numbers import CountedFunctions, Draws
from .signature import TensorSpec, admit

Values = tuple[Any, ...]
_ROOTS = {"xp": np, "k": NUMPY}


def function(callee: str) -> Callable[..., Any]:
    """The NumPy function or kernel that `callee` names."""
    root, _, name = callee.partition(".")
    return attrgetter(name)(_ROOTS[root])


def keyword(value: Any, sizes: dict[str, int], seed: int = 0, iterations: Values = ()) -> Any:
    """A keyword argument as a kernel wants it: dtypes as the arrays' own, names of dimensions as sizes."""
    if isinstance(value, PtirDType):
        return array_dtype(value.name)
    if isinstance(value, Seed):
        return seed
    if isinstance(value, Iterations):
        return iterations
    if isinstance(value, SizeArgument):
        return _size(value.dim, sizes)
    if isinstance(value, tuple):
        return tuple(_size(v, sizes) if isinstance(v, str) else keyword(v, sizes, seed) for v in cast(Values, value))
    return value


def _size(dim: str, sizes: dict[str, int]) -> int:
    if (size := size_in(dim, sizes)) is None:
        raise error("E8001", f"dimension {dim} has no size here, expected an operand that has it", name=dim, extents=())
    return size


def check_dynamic_result(type: Attribute, sizes: dict[str, int]) -> None:
    """As `check_result`, of a type with names whose sizes are known; E3006 for an extent that nothing can hold."""
    shape = read_type(type).shape
    if any(isinstance(n, str) for n in shape):
        bounded([UNKNOWN if (size := size_in(n, sizes)) is None else size for n in shape])
        check_need(Need(byte_count(type, sizes), type), physical_memory())


def check_result(type: Attribute) -> None:
    """E6003 for a result of more dimensions than NumPy has, E6004 for one that no memory holds."""
    check_rank(type)
    check_need(Need(byte_count(type, {}), type), physical_memory())


def bind_sizes(types: Sequence[Attribute], values: Sequence[Any], sizes: dict[str, int]) -> None:
    """Give names of dimensions the sizes that arrays have; E8001 for an expression of names that has another size."""
    dims = [
        pair for type, value in zip(types, values, strict=True) for pair in zip(read_any(type)[1], np.shape(value), strict=True)
    ]
    for dim, n in dims:
        if isinstance(dim, str) and not is_expression(dim):
            sizes[dim] = n
    solve([dim for dim, _ in dims], [n for _, n in dims], sizes)
    for dim, n in dims:
        if is_expression(dim) and (expected := size_in(dim, sizes)) not in (n, None):
            raise error("E8001", f"dimension {dim} has size {n}, expected {expected}", name=dim, extents=(expected, n))


def solve(dims: Sequence[Any], extents: Sequence[int], sizes: dict[str, int]) -> None:
    """Give names that only expressions among dimensions have the sizes by which these are the extents."""
    for found in solutions([dims], tuple(sizes)):
        sizes[found.name] = found.of(extents[found.axis], sizes)


def admitted(op: Operation, values: Values) -> None:
    """E2001 for a value that is no array of the operand's type."""
    for i, (value, operand) in enumerate(zip(values, op.operands, strict=True)):
        admit(value, TensorSpec.of(f"{i}", operand.type), f"operand {i} of {op.name}")


def check_sizes(func: FuncOp, types: Sequence[Attribute], values: Sequence[Any], sizes: dict[str, int]) -> None:
    """Raise E8001 for arguments that give a name two sizes, E8010 for sizes that break what the function declares."""
    for type, value in zip(types, values, strict=True):
        for dim, n in zip(read_any(type)[1], np.shape(value), strict=True):
            if isinstance(dim, str) and not is_expression(dim) and sizes.get(dim, n) != n:
                message = f"dimension {dim} of arguments of @{func.sym_name.data} has size {n}, elsewhere {sizes[dim]}"
                raise error("E8001", f"{message}; expected one size", name=dim, extents=(sizes[dim], n))
    if (found := broken(declarations_of(func), sizes)) is not None:
        given = ", ".join(f"{name} = {sizes[name]}" for name in found.names)
        context = {name: sizes[name] for name in found.names}
        raise error("E8010", f"{given}; declared is {found.text!r}", declaration=found.text, sizes=context)


class MindRunner(InterpreterFunctions):
    """Shared by the implementations: the seed of random numbers, and the sizes of named dimensions by function."""

    def __init__(self, seed: int = 0):
        self.seed = seed
        self.draws = Draws()
        self.sizes: dict[Operation | None, dict[str, int]] = {}
        self.named: dict[FuncOp, list[BlockArgument]] = {}

    def sizes_at(self, op: Operation, interpreter: Interpreter | None = None) -> dict[str, int]:
        """The sizes known in the function around `op`; with an interpreter, those that its arguments have in this call."""
        func = op.parent_op()
        while func is not None and not isinstance(func, FuncOp):
            func = func.parent_op()
        sizes = self.sizes.setdefault(func, {})
        if func is not None and interpreter is not None:
            if func not in self.named:
                self.named[func] = [a for a in func.body.blocks[0].args if has_names(a.type)]
            arguments = self.named[func]
            here: dict[str, int] = {}  # what an earlier call had says nothing of this one
            types, values = [a.type for a in arguments], interpreter.get_values(arguments)
            bind_sizes(types, values, here)
            check_sizes(func, types, values, here)
            sizes |= here
        return sizes

    def run(self, op: Operation, callee: str, arguments: dict[str, Any], values: Values, sizes: dict[str, int]) -> Values:
        """One call on checked operands."""
        for type in op.result_types:
            check_result(type)
        given = {name: keyword(value, sizes, self.seed, self.draws.iterations) for name, value in arguments.items()}
        try:
            with np.errstate(all="ignore"):
                result = function(callee)(*values, **given)
        except MemoryError:
            raise allocation_error(op.result_types[0], "out of memory") from None
        results: Values = cast(Values, result) if isinstance(result, tuple) else () if result is None else (result,)
        return tuple(np.asarray(r) for r in results)

    def run_ptir(self, op: PtirOp, values: Values, sizes: dict[str, int]) -> Values:
        """The results of an op that has a kernel."""
        bind_sizes(op.operand_types, values, sizes)
        if needs_check(op):
            rule = {
                name: keyword(v, sizes) if isinstance(v, tuple | SizeArgument) else v for name, v in rule_arguments(op).items()
            }
            NUMPY.check(*values, op=op.OPCODE, **rule)
        if isinstance(op, ptir.CustomCallOp):
            dtypes = tuple(read_type(v.type).dtype for v in op.results)
            return self.run(op, "k.custom_call", {**op.values(), "dtypes": dtypes}, values, sizes)
        for type in op.result_types:
            check_dynamic_result(type, sizes)
        call = kernel_call(op)
        drawn: dict[str, Any] = {}
        if isinstance(op, ptir.RandomOp):
            drawn = {"ordinal": self.draws.ordinal(op), "seed": self.seed, "iterations": ITERATIONS}
        results = self.run(op, call.callee, {**call.arguments, **drawn}, values, sizes)
        for value, declared in zip(results, op.results, strict=True):
            spec = TensorSpec.of("result", declared.type)
            if not spec.fits(value.shape):
                raise error(
                    "E8001", f"a result of shape {list(value.shape)}, declared {spec}", name="result", extents=value.shape
                )
        bind_sizes(op.result_types, results, sizes)
        return results


def _run_core(functions: MindRunner, _interpreter: Interpreter, op: CoreOp, values: Values) -> Values:
    """A Core IR op as the ops of PTIR that it means."""
    admitted(op, values)
    check_result_of_core(op)
    emit = Emitter()
    arguments = Block(arg_types=[converted_type(t) for t in op.operand_types]).args
    try:
        result = RULES[type(op)](emit, op, list(arguments))
        found: dict[SSAValue, Any] = dict(zip(arguments, values, strict=True))
        for made in emit.ops:
            assert isinstance(made, PtirOp)
            results = functions.run_ptir(made, tuple(found[v] for v in made.operands), {})
            found.update(zip(made.results, results, strict=True))
        return (np.asarray(found[result]),)
    except MindError as e:
        raise as_core(e, op).at(op, op.place()) from None


def check_result_of_core(op: CoreOp) -> None:
    """As `check_result`, before the op is converted."""
    check_result(converted_type(op.results[0].type))


def _run_ptir(functions: MindRunner, interpreter: Interpreter, op: PtirOp, values: Values) -> Values:
    admitted(op, values)
    try:
        return functions.run_ptir(op, values, functions.sizes_at(op, interpreter))
    except MindError as e:
        raise (e if e.op is not None else e.at(op, op.place())) from None


def _run_fusion(_functions: MindRunner, interpreter: Interpreter, op: ptir.FusionOp, values: Values) -> Values:
    return interpreter.run_ssacfg_region(op.body, values, "ptir.fusion")


def _run_cond(_functions: MindRunner, interpreter: Interpreter, op: ptir.CondOp, values: Values) -> Values:
    admitted(op, values)
    return interpreter.run_ssacfg_region(op.true_region if values[0] else op.false_region, values[1:], "ptir.cond")


def _run_while(functions: MindRunner, interpreter: Interpreter, op: ptir.WhileOp | WhileOp, values: Values) -> Values:
    admitted(op, values)
    with functions.draws.loop():
        while True:
            functions.draws.iteration()
            go_on, *passed = interpreter.run_ssacfg_region(op.cond_region, values, op.name)
            values = tuple(passed)
            if not go_on:
                return values
            values = interpreter.run_ssacfg_region(op.body_region, values, op.name)


def _run_steps(
    functions: MindRunner,
    interpreter: Interpreter,
    op: ptir.ScanOp | ForOp,
    carried: Values,
    scanned: Values,
    put: Callable[[int, int, Any], None],
) -> Values:
    """The carried values after all steps; `put` takes the step, number and value of what is stacked."""
    with functions.draws.loop():
        for step in NUMPY.steps(*scanned):
            functions.draws.iteration()
            given = (*carried, *(np.asarray(x[step]) for x in scanned))
            results = interpreter.run_ssacfg_region(op.body_region, given, op.name)
            carried = results[: len(carried)]
            for i, value in enumerate(results[len(carried) :]):
                put(step, i, value)
    return carried


def _run_scan(functions: MindRunner, interpreter: Interpreter, op: ptir.ScanOp, values: Values) -> Values:
    admitted(op, values)
    count = op.num_carries
    carried, scanned = values[:count], values[count:]
    stacks: list[list[Any]] = [[] for _ in op.stacks]
    carried = _run_steps(functions, interpreter, op, carried, scanned, lambda _step, i, value: stacks[i].append(value))
    specs = [TensorSpec.of("", r.type) for r in op.stacks]
    empty = [tuple(d if isinstance(d, int) else 0 for d in spec.shape[1:]) for spec in specs]
    stacked = [np.stack(v) if v else np.zeros((0, *e), s.numpy_dtype) for v, e, s in zip(stacks, empty, specs, strict=True)]
    return (*carried, *stacked)


def _run_xp(functions: MindRunner, _interpreter: Interpreter, op: CallOp, values: Values) -> Values:
    admitted(op, values)
    arguments = op.values()
    if op.function != "k.constant":
        arguments = {n: v.item() if isinstance(v, PtirLiteralAttr) else v for n, v in arguments.items()}
    return functions.run(op, op.function, arguments, values, functions.sizes_at(op))


def _run_expect(functions: MindRunner, _interpreter: Interpreter, op: ExpectOp, values: Values) -> Values:
    sizes, dims = functions.sizes_at(op), op.values()
    for dim, n in zip(dims, np.shape(values[0]), strict=True):
        if isinstance(dim, str) and dim != "?" and not is_expression(dim):
            sizes.setdefault(dim, n)
    solve(dims, np.shape(values[0]), sizes)
    NUMPY.expect(values[0], dims, [size_in(d, sizes) for d in dims])
    return ()


def _run_xp_if(_functions: MindRunner, interpreter: Interpreter, op: IfOp, values: Values) -> Values:
    return interpreter.run_ssacfg_region(op.then_region if values[0] else op.else_region, (), "xp.if")


def _run_xp_for(functions: MindRunner, interpreter: Interpreter, op: ForOp, values: Values) -> Values:
    count, last = len(op.inits), len(op.inits) + len(op.scanned)
    carried, scanned, stacks = values[:count], values[count:last], values[last:]
    return _run_steps(functions, interpreter, op, carried, scanned, lambda step, i, value: stacks[i].__setitem__(step, value))


def _free(_functions: MindRunner, _interpreter: Interpreter, _op: FreeOp, _values: Values) -> Values:
    return ()


def _end(_functions: MindRunner, _interpreter: Interpreter, _op: Operation, values: Values) -> tuple[Any, Values]:
    return ReturnedValues(values), ()


_CONTROL: dict[type[PtirOp], Any] = {
    ptir.CondOp: _run_cond,
    ptir.WhileOp: _run_while,
    ptir.ScanOp: _run_scan,
    ptir.FusionOp: _run_fusion,
    ptir.CustomCallOp: _run_ptir,
}
_XP: dict[type[Operation], Any] = {
    CallOp: _run_xp,
    ExpectOp: _run_expect,
    FreeOp: _free,
    IfOp: _run_xp_if,
    WhileOp: _run_while,
    ForOp: _run_xp_for,
}
_ENDINGS: tuple[type[Operation], ...] = (ptir.YieldOp, ReturnOp, YieldOp, ConditionOp)

MindFunctions = register_impls(
    type(
        "MindFunctions",
        (MindRunner,),
        {
            **{f"run_core_{cls.OPCODE}": impl(cls)(_run_core) for cls in RULES},
            **{f"run_ptir_{cls.OPCODE}": impl(cls)(_run_ptir) for cls in KERNELS},
            **{f"run_ptir_{cls.OPCODE}": impl(cls)(run) for cls, run in _CONTROL.items()},
            **{f"run_{cls.name.replace('.', '_')}": impl(cls)(run) for cls, run in _XP.items()},
            **{f"run_{cls.name.replace('.', '_')}": impl_terminator(cls)(_end) for cls in _ENDINGS},
        },
    )
)
"""The implementations, one per row of the tables."""


def register_implementations(interpreter: Interpreter, seed: int = 0) -> None:
    """
    Teach `interpreter` Core IR, PTIR, `xp` and `shape`; and `func`, `scf`, `cf`, `arith`, `tensor` unless it knows them already.

    Values are NumPy arrays of exactly the types of the program, scalars of other dialects Python numbers. Ops of `tensor`, and
    constants of `arith` that are tensors, work on NumPy arrays too, and `func.call`, `scf.for` and `scf.while` count what random
    draws depend on, whatever was registered for them before. `seed` is what random numbers are made from. To use other
    implementations of the rest of `func`, `scf` or `arith`, register them first.
    """
    ours = MindFunctions(seed)
    interpreter.register_implementations(ours)
    interpreter.register_implementations(ShapeFunctions())
    for functions in (FuncFunctions, ScfFunctions, ArithFunctions):
        with suppress(ValueError):  # xDSL's word for "already registered"
            interpreter.register_implementations(functions())
    for functions in (ForeignFunctions(), CountedFunctions(ours.draws)):
        interpreter.register_implementations(functions, override=True)
    register_missing(interpreter)
