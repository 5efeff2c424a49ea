"""
`custom_vjp`: a function with a reverse rule of your own; `checkpoint`: one whose results reverse mode computes again.

A call of a function with a rule records the forward rule's ops, and a call of a function of the module that returns the result
among its inputs: the arguments, the result and the residuals. `mind.vjp` names the backward rule on it (see
`mind_passes.derivatives.custom`), which returns cotangents of the arguments alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, UnitAttr, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from mind_dialect.ptir.types import tensor_type
from mind_passes.derivatives.custom import VJP, VJP_WRT
from mind_passes.derivatives.rules import can_vary

from .. import tree
from ..array import Array
from ..checks import check_function
from ..dtypes import DEFAULTS, kind_of, numpy_dtype, ptir_dtype
from ..emit import constant
from ..faults import fault
from ..kinds import is_numpy, is_tuple
from ..operands import array_of, broadcast, cast
from ..places import function_place
from ..staging import Function, leaf_names, result_array, symbol
from ..trace import ACTIVE, Trace, arrange, hint, recording

MOST_ORDERS = 3
"""So often a rule may call its own function: so often a function whose rule does so can be differentiated."""

_PROVISIONAL = "new:"
"""The beginning of names of functions that are about to enter the library of their trace."""
_OPEN: ContextVar[tuple[Any, ...]] = ContextVar("mind_array_custom_vjp", default=())
"""The calls whose rules are being traced, each as the function, the container of its arguments and their types."""


@dataclass(frozen=True)
class _Group:
    """Leaves of the arguments, of the result or of the residuals of a call, and their container."""

    arrays: list[Array]
    structure: Any
    labels: Sequence[str]


class custom_vjp:
    """
    A function whose reverse derivative is a rule of your own; `defvjp` sets the rule.

    The rule is a pair: `forward(*args) -> (result, residuals)`, and `backward(residuals, g) -> adjoints`, one per argument (a
    tuple where there are several), None where no gradient flows. Arrays that the two capture are constants for derivatives. The
    forward rule may call the function itself. There is no forward mode: `jvp` of it is E5001.
    """

    def __init__(self, function: Function):
        check_function(function, "custom_vjp")
        self.function = self.__wrapped__ = function
        self.__name__ = symbol(function)
        self.__doc__ = function.__doc__
        self._forward: Function | None = None
        self._backward: Function | None = None

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Use this rule in reverse mode."""
        check_function(forward, f"custom_vjp {self.__name__}")
        check_function(backward, f"custom_vjp {self.__name__}")
        self._forward, self._backward = forward, backward

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function; while traced, with its rule. Arguments by name take their positions."""
        args = self._placed(args, keywords) if keywords else args
        trace = ACTIVE.get()
        if self._forward is None or self._backward is None:
            message = (
                f"custom_vjp {self.__name__} ({function_place(self.function)}) has no rule; call {self.__name__}.defvjp(...)"
            )
            raise fault("E5001", message, op=self.__name__)
        if trace is None:
            return self.function(*args)
        arguments = self._group(args, leaf_names(self.function, args, {}))
        key = (self, arguments.structure, tuple([x.spec for x in arguments.arrays]))
        with _entered(key) as times:
            if times == MOST_ORDERS:
                groups = [arguments, self._result(self.function(*args))]
                return self._called(trace, groups, {VJP: UnitAttr()})
            rule = _BackwardRule(self.__name__, self._backward, arguments, *self._forwarded(self._forward, args))
            func = rule.function(trace)
            stated = {VJP: SymbolRefAttr(func.sym_name.data), VJP_WRT: DenseArrayBase.from_list(i64, rule.numbers)}
            return self._called(trace, rule.groups, stated, list(rule.trace.captured), [func])

    def _forwarded(self, forward: Function, args: tuple[Any, ...]) -> tuple[_Group, _Group]:
        """The result and the residuals of the forward rule, whose ops are recorded."""
        pair: Any = forward(*args)
        if not is_tuple(pair) or len(pair) != 2:
            message = f"custom_vjp {self.__name__}: forward returns {type(pair).__name__}, expected (result, residuals)"
            raise fault("E1104", message, path="forward", expected="(result, residuals)", actual=type(pair).__name__)
        return self._result(pair[0]), self._group(pair[1], tree.paths(pair[1], root="residuals"))

    def _called(
        self,
        trace: Trace,
        groups: Sequence[_Group],
        stated: Mapping[str, Attribute],
        captured: Sequence[SSAValue] = (),
        rules: Sequence[FuncOp] = (),
    ) -> Any:
        """The result of a call of a function that returns the second of the groups, which are its arguments with `captured`."""
        values = [*(trace.lift(x) for group in groups for x in group.arrays), *captured]
        first, results = len(groups[0].arrays), groups[1].arrays
        block = Block(arg_types=[v.type for v in values])
        for argument, label in zip(block.args, [label for group in groups for label in group.labels], strict=False):
            argument.name_hint = hint(label)
        returned = block.args[first : first + len(results)]
        block.add_op(ReturnOp(*returned))
        types = [v.type for v in returned]
        func = FuncOp(_provisional(self.__name__), (block.arg_types, types), Region(block), visibility="private")
        func.attributes.update(stated)
        wanted = {f.sym_name.data: f.sym_name.data.removeprefix(_PROVISIONAL) for f in (func, *rules)}
        name = trace.library.include([func, *rules], wanted)[func.sym_name.data]
        return tree.unflatten(groups[1].structure, trace.results(CallOp(name, values, types), [y.spec for y in results]))

    def _placed(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position; E1105 where they do not fit, or only a name reaches a parameter."""
        try:
            bound = inspect.signature(self.function).bind(*args, **keywords)
        except (TypeError, ValueError) as e:
            raise fault("E1105", f"custom_vjp {self.__name__}: {e}", path=self.__name__, actual=str(list(keywords))) from None
        if bound.kwargs:
            name = next(iter(bound.kwargs))
            message = f"custom_vjp {self.__name__}: {name} is passed by name only, expected positional parameters"
            raise fault("E1105", message, path=name, actual="a keyword")
        return bound.args

    def _result(self, result: Any) -> _Group:
        return self._group(result, tree.paths(result, root="result"))

    def _group(self, container: Any, labels: Sequence[str]) -> _Group:
        """The leaves of the arguments, of the result or of the residuals; E1105 for what is no array."""
        leaves, structure = tree.flatten(container)
        return _Group([self._array(x, label) for x, label in zip(leaves, labels, strict=True)], structure, labels)

    def _array(self, x: Any, label: str) -> Array:
        """A leaf of an argument, of the result or of a residual as an array; E1105 for what is none."""
        if isinstance(x, Array) or is_numpy(x) or type(x) in DEFAULTS:
            return result_array(x, self.function, label)
        actual = type(x).__name__
        message = f"custom_vjp {self.__name__}: {label} is a {actual}, expected an array or a number; capture what is none"
        raise fault("E1105", message, path=label, actual=actual)


@contextmanager
def _entered(key: Any) -> Generator[int]:
    """Note that the rules of a call are being traced; yields how many traces of them are open already."""
    token = _OPEN.set((*_OPEN.get(), key))
    try:
        yield _OPEN.get().count(key) - 1
    finally:
        _OPEN.reset(token)


def _provisional(name: str) -> str:
    """A name that no function of a library has."""
    return f"{_PROVISIONAL}{name}"


class _BackwardRule:
    """The backward rule of one call, and how the inputs of its function are grouped."""

    def __init__(self, name: str, backward: Function, arguments: _Group, result: _Group, residuals: _Group):
        self.name, self.backward = name, backward
        self.groups = (arguments, result, residuals)
        self.numbers: list[int] = []
        """The leaves of the arguments that it returns adjoints for."""
        self.trace: Trace

    def function(self, parent: Trace) -> FuncOp:
        """The function of the arguments, the result, the residuals, what the rule captures, and cotangents of the result."""
        trace = self.trace = Trace(function_place(self.backward), parent)
        with recording(trace):
            inputs = [
                [trace.argument(x.spec, label, weak=x.weak) for x, label in zip(group.arrays, group.labels, strict=True)]
                for group in self.groups
            ]
            cotangents = [
                trace.argument(y.spec, "cotangent") if can_vary(tensor_type(*y.spec)) else constant(0, y.dtype, y.shape)
                for y in self.groups[1].arrays
            ]
            _, result, residuals = self.groups
            found = self.backward(tree.unflatten(residuals.structure, inputs[2]), tree.unflatten(result.structure, cotangents))
            values = [trace.lift(x) for x in self._checked(self._leaves(found))]
        block, own = trace.block, sum(map(len, inputs))
        cotangent_count = len(block.args) - own - len(trace.captured)
        arrange(block, [*block.args[:own], *block.args[own + cotangent_count :], *block.args[own : own + cotangent_count]])
        block.add_op(ReturnOp(*values))
        types = (block.arg_types, [v.type for v in values])
        return FuncOp(_provisional(f"{self.name}_vjp"), types, Region(block), visibility="private")

    def _leaves(self, found: Any) -> list[Any]:
        """One adjoint, or None, per leaf of the arguments."""
        adjoints: tuple[Any, ...] = found if is_tuple(found) else (found,)
        children = self.groups[0].structure.children()
        if len(adjoints) != len(children):
            message = (
                f"custom_vjp {self.name}: backward returns {len(adjoints)} adjoints, expected one per argument, {len(children)}"
            )
            raise fault("E2007", message, expected=len(children), actual=len(adjoints))
        leaves: list[Any] = []
        for x, form in zip(adjoints, children, strict=True):
            if x is None:
                leaves += [None] * form.num_leaves
                continue
            part, structure = tree.flatten(x)
            if structure != form:
                message = f"custom_vjp {self.name}: backward returns {tree.shown(structure)} for an argument {tree.shown(form)}"
                raise fault("E1104", message, path="backward", expected=tree.shown(form), actual=tree.shown(structure))
            leaves += part
        return leaves

    def _checked(self, leaves: Sequence[Any]) -> list[Array]:
        """The adjoints that there are, each of the type of its argument; E2001 for another."""
        checked: list[Array] = []
        for i, (x, argument) in enumerate(zip(leaves, self.groups[0].arrays, strict=True)):
            spec = argument.spec
            if x is None or not can_vary(tensor_type(*spec)):
                continue
            array = array_of(x, self.name)
            if array.weak or kind_of(array.dtype) in "biu" or not isinstance(x, Array):
                array = broadcast(cast(array, numpy_dtype(spec.dtype)), spec.shape)
            if ptir_dtype(array.dtype) is not spec.dtype or array.spec.shape != spec.shape:
                actual = f"{array.dtype}{list(array.shape)}"
                message = f"custom_vjp {self.name}: backward returns {actual} for argument {i}, expected {spec}"
                raise fault("E2001", message, expected=str(spec), actual=str(array.spec))
            self.numbers.append(i)
            checked.append(array)
        return checked


def checkpoint(function: Function) -> Function:
    """
    Return a function whose intermediate results reverse mode computes again instead of keeping them.

    It saves memory and costs a second run of the function's ops.
    """
    check_function(function, "checkpoint")

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        trace = ACTIVE.get()
        if trace is None:
            return function(*args, **kwargs)
        before, trace.checkpoint = trace.checkpoint, True
        try:
            return function(*args, **kwargs)
        finally:
            trace.checkpoint = before

    recomputed.__name__ = symbol(function)
    recomputed.__doc__ = function.__doc__
    return recomputed
