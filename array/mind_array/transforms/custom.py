"""
`custom_vjp`: a function with a reverse rule of your own; `checkpoint`: one whose results reverse mode computes again.

A call of a function with a rule records the forward rule's ops, whose results pass through a marker, a custom call that returns
them. Reverse mode asks the marker for adjoints: it records the backward rule. Batching adds an axis to the marker's operands.
`resolve` takes the markers out of a program before anything compiles it, so that only ordinary ops are left.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.ptir import CustomCallOp
from mind_dialect.ptir.types import read_type
from mind_dialect.ptir_shapes import Dim
from mind_lowering.custom_calls import register_custom_call
from mind_passes import batching
from mind_passes.batching.rules import batched_type, spread_all
from mind_passes.derivatives.ptir.calls import register_call
from mind_passes.derivatives.rules import Value
from mind_passes.derivatives.walks import Whole
from mind_passes.ptir import construct

from .. import tree
from ..array import Array
from ..call_rules import recorded
from ..checks import check_function
from ..dtypes import DEFAULTS, kind_of
from ..emit import contract_dtype
from ..faults import fault
from ..kinds import is_numpy, is_tuple
from ..operands import array_of
from ..places import function_place
from ..staging import leaf_names, result_array, symbol
from ..trace import ACTIVE

if TYPE_CHECKING:
    from mind_passes.derivatives.walks import Flows, Reverse

TARGET = "mind.array.custom_vjp.v1"
Function = Callable[..., Any]


@dataclass(frozen=True)
class _Rule:
    """The backward rule of one call: how its operands are grouped, and the function."""

    backward: Function
    name: str
    arguments: Any
    residuals: Any
    result: Any
    counts: tuple[int, int, int]
    """Numbers of operands that are arguments, results and residuals."""


_rules: list[Any] = []
_known: dict[Any, int] = {}


def _number(rule: _Rule) -> int:
    key = (id(rule.backward), rule.name, rule.arguments, rule.residuals, rule.result)
    if key not in _known:
        _known[key] = len(_rules)
        _rules.append(rule)
    return _known[key]


class custom_vjp:
    """
    A function whose reverse derivative is a rule of your own; `defvjp` gives the rule.

    The rule is a pair: `forward(*args) -> (result, residuals)`, and `backward(residuals, g) -> adjoints`, one per argument (a
    tuple where there are several), None where no gradient flows. There is no forward mode: `jvp` of it is E5001.
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
        """Call the function; while traced, with its rule. Arguments given by name take their places."""
        args = self._placed(args, keywords) if keywords else args
        trace = ACTIVE.get()
        if self._forward is None or self._backward is None:
            message = (
                f"custom_vjp {self.__name__} ({function_place(self.function)}) has no rule; call {self.__name__}.defvjp(...)"
            )
            raise fault("E5001", message, op=self.__name__)
        if trace is None:
            return self.function(*args)
        made: Any = self._forward(*args)
        if not is_tuple(made) or len(made) != 2:
            message = f"custom_vjp {self.__name__}: forward returns {type(made).__name__}, expected (result, residuals)"
            raise fault("E1104", message, path="forward", expected="(result, residuals)", actual=type(made).__name__)
        parts: Any = made
        groups = [tree.flatten(part) for part in (args, *parts)]
        labels = [
            leaf_names(self.function, args, {}),
            tree.paths(parts[0], root="result"),
            tree.paths(parts[1], root="residuals"),
        ]
        arrays = [[self._array(x, n) for x, n in zip(g[0], names, strict=True)] for g, names in zip(groups, labels, strict=True)]
        rule = _Rule(self._backward, self.__name__, groups[0][1], groups[2][1], groups[1][1], tuple(map(len, arrays)))  # pyright: ignore
        results = arrays[1]
        op = CustomCallOp(
            *(trace.lift(x) for group in arrays for x in group),
            target=TARGET,
            attrs={"rule": _number(rule), "levels": 0},
            result_types=[trace.lift(y).type for y in results],
        )
        return tree.unflatten(groups[1][1], trace.results(op, [y.spec for y in results]))

    def _placed(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position; E1105 where they do not fit, or only a name reaches a parameter."""
        try:
            bound = inspect.signature(self.function).bind(*args, **keywords)
        except (TypeError, ValueError) as e:
            raise fault("E1105", f"custom_vjp {self.__name__}: {e}", path=self.__name__, actual=str(list(keywords))) from None
        if bound.kwargs:
            name = next(iter(bound.kwargs))
            message = f"custom_vjp {self.__name__}: {name} is given by name only, expected positional parameters"
            raise fault("E1105", message, path=name, actual="a keyword")
        return bound.args

    def _array(self, x: Any, label: str) -> Array:
        """A leaf of an argument, of the result or of a residual as an array; E1105 for what is none."""
        if isinstance(x, Array) or is_numpy(x) or type(x) in DEFAULTS:
            return result_array(x, self.function, label)
        actual = type(x).__name__
        message = f"custom_vjp {self.__name__}: {label} is a {actual}, expected an array or a number; capture what is none"
        raise fault("E1105", message, path=label, actual=actual)


def _rule_of(op: CustomCallOp) -> tuple[_Rule, int]:
    attrs: Any = op.values()["attrs"]
    rule: Any = _rules[attrs["rule"]]
    return rule, int(attrs["levels"])


def _adjoints(sweep: Reverse, op: CustomCallOp, gs: Sequence[SSAValue | None]) -> Sequence[Value | None]:
    """Return the backward rule's adjoints of the arguments; nothing flows to results and residuals."""
    rule, levels = _rule_of(op)
    count, results, _ = rule.counts
    residuals = list(op.operands[count + results :])
    cotangents = [g if g is not None else sweep.append(construct.full(0.0, y)) for g, y in zip(gs, op.results, strict=True)]

    def backward(given: Sequence[Array]) -> list[Array | None]:
        return _checked(rule, _batched(rule, levels)(*given), op, levels)

    values = recorded(backward, function_place(rule.backward), [*residuals, *cotangents])
    return [*values, *[None] * (len(op.operands) - count)]


def _batched(rule: _Rule, levels: int) -> Function:
    """The backward rule on leaves, mapped over the leading axes that batching has added."""
    from .batching import vmap

    residuals = rule.counts[2]

    def backward(*leaves: Any) -> Any:
        return rule.backward(tree.unflatten(rule.residuals, leaves[:residuals]), tree.unflatten(rule.result, leaves[residuals:]))

    if not levels:
        return backward

    def positions(*leaves: Any) -> Any:
        """The adjoints that there are, in a dict by the number of the argument."""
        found = _adjoint_leaves(rule, backward(*leaves))
        return {str(i): x for i, x in enumerate(found) if x is not None}

    mapped: Function = positions
    for _ in range(levels):
        mapped = vmap(mapped)
    return mapped


def _adjoint_leaves(rule: _Rule, found: Any) -> list[Any]:
    """One adjoint, or None, per leaf of the arguments."""
    count = rule.arguments.num_leaves
    given: tuple[Any, ...] = found if is_tuple(found) else (found,)
    children = rule.arguments.children()
    if len(given) != len(children):
        message = f"custom_vjp {rule.name}: backward returns {len(given)} adjoints, expected one per argument, {len(children)}"
        raise fault("E2007", message, expected=len(children), actual=len(given))
    leaves: list[Any] = []
    for x, form in zip(given, children, strict=True):
        if x is None:
            leaves += [None] * form.num_leaves
            continue
        part, structure = tree.flatten(x)
        if structure != form:
            message = f"custom_vjp {rule.name}: backward returns {tree.shown(structure)} for an argument {tree.shown(form)}"
            raise fault("E1104", message, path="backward", expected=tree.shown(form), actual=tree.shown(structure))
        leaves += part
    assert len(leaves) == count
    return leaves


def _checked(rule: _Rule, found: Any, op: CustomCallOp, levels: int) -> list[Array | None]:
    """The adjoints, each of the type of its argument; E2001 for another."""
    if levels:
        leaves = [found.get(str(i)) for i in range(rule.counts[0])]
    else:
        leaves = _adjoint_leaves(rule, found)
    made: list[Array | None] = []
    for i, x in enumerate(leaves):
        spec = read_type(op.operands[i].type)
        if x is None or not spec.dtype.is_float:
            made.append(None)
            continue
        from ..dtypes import numpy_dtype
        from ..operands import broadcast, cast

        array = array_of(x, rule.name)
        if array.weak or kind_of(array.dtype) in "biu" or not isinstance(x, Array):
            array = broadcast(cast(array, numpy_dtype(spec.dtype)), spec.shape)
        if contract_dtype(array.dtype) is not spec.dtype or array.spec.shape != spec.shape:
            message = (
                f"custom_vjp {rule.name}: backward returns {array.dtype}{list(array.shape)} for argument {i}, expected {spec}"
            )
            raise fault("E2001", message, expected=str(spec), actual=str(array.spec))
        made.append(array)
    return made


def _flows(of: Flows, op: CustomCallOp) -> Sequence[int]:
    count = _rule_of(op)[0].counts[0]
    return [(1 << count) - 1] * len(op.results)


def _mapped(op: CustomCallOp, xs: Sequence[SSAValue], flags: Sequence[bool], size: Dim) -> Sequence[Operation]:
    attrs: Any = op.values()["attrs"]
    made = CustomCallOp(
        *spread_all(xs, flags, size),
        target=TARGET,
        attrs={**attrs, "levels": attrs["levels"] + 1},
        result_types=[batched_type(y.type, size) for y in op.results],
    )
    return made.results  # pyright: ignore


def _unresolved(xp: Any, *xs: Any, rule: int, levels: int) -> Any:
    count, results, _ = _rules[rule].counts
    return tuple(xs[count : count + results]) if results != 1 else xs[count]


register_custom_call(TARGET, _unresolved)
register_call(TARGET, reverse=Whole(_adjoints, _flows))
batching.register(TARGET, _mapped)  # pyright: ignore[reportArgumentType]


def resolve(root: Operation) -> None:
    """Replace the markers of functions with rules by what they return, in place."""
    for op in list(walk(root)):
        if isinstance(op, CustomCallOp) and op.values()["target"] == TARGET:
            count, results, _ = _rule_of(op)[0].counts
            for y, x in zip(op.results, op.operands[count : count + results], strict=True):
                y.replace_all_uses_with(x)
            op.detach()
            op.erase()


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
