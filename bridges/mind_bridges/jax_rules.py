"""
Import of functions of JAX with what they say of derivatives, for which StableHLO has no op: `stop_gradient` and custom rules.

Before a trace is lowered, `Rules.marked` puts composites in the place of both: `mind.stop_gradient`, which the importer reads as
`ptir.stop_gradient`, and `mind.custom_derivative`, whose decomposition is the function itself. `Rules.attach` then imports the
rules and names them on the functions (`mind.vjp`, `mind.jvp`), so that autodiff calls what JAX would call. Functions have custom
rules, and so have the primitives of `IMPLICIT`. Source: the primitives of `jax.extend.core.primitives`, and JAX's own `vjp` and
`jvp` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from itertools import count
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from mind_dialect.dominance import walk
from mind_dialect.program import NAME_ATTRIBUTE, functions, named_attributes, stated_attributes
from mind_passes.derivatives.custom import JVP, VJP, VJP_WRT
from mind_translate.stablehlo import read_stablehlo
from mind_translate.stablehlo.control import CUSTOM_DERIVATIVE, LOGISTIC, RULE_ATTRIBUTE, STOP_GRADIENT

from .jax_substitutes import WITH_BODIES, substitute
from .jax_traces import Derivative, described, innermost, passed, reads_all, trace_of, with_captured

MOST_ORDERS = 3
"""So often a function with a custom rule can be differentiated."""

LINEAR_SOLVE = "custom_linear_solve"
IMPLICIT = (
    *(LINEAR_SOLVE, "igamma", "igammac", "random_gamma", "regularized_incomplete_beta"),
    *("bessel_i0e", "bessel_i1e"),
)
"""
The primitives whose derivative JAX computes from the function that they compute, not from the ops that compute it.

`jnp.linalg.solve` stops the gradient of its factorization, for example, and differentiates `A x = b`.
"""


@dataclass(frozen=True)
class _Rule:
    """A function with rules of its own: what it is called, and its derivatives as functions of JAX."""

    name: str
    derivatives: Mapping[str, Derivative | None]
    """By attribute; None where JAX fails to derive the function."""
    order: int
    """The nesting depth of rules where it was met: 0 in an imported function, 1 in a rule of that one."""
    varying: Sequence[int] | None = None
    """The operands that the reverse rule returns cotangents for, by number; None for all that can vary."""


@dataclass
class Rules:
    """The rules met while functions of JAX are imported into one module."""

    jax: Any
    _order: int = 0
    _found: list[_Rule] = field(default_factory=list[_Rule])
    _numbers: dict[Any, int] = field(default_factory=dict[Any, int])
    _marked: dict[tuple[int, frozenset[int]], tuple[Any, Any]] = field(default_factory=dict[Any, tuple[Any, Any]])
    """By the identity of a trace, and which of its arguments are constants, it, so that it lives, and what it became."""
    _constants: set[Any] = field(default_factory=set[Any])
    """The variables of the traces at hand that depend on no argument of the function that is imported."""

    def read(self, function: Any, types: Sequence[Any]) -> ModuleOp:
        """The module of a function of JAX for arguments of these types; the calls in it state the rules of what they call."""
        is_jitted = hasattr(function, "trace")
        traced = (function if is_jitted else self.jax.jit(function, keep_unused=True)).trace(*types)
        marked = self.marked(traced.jaxpr)
        name, types_of_arrays = getattr(function, "__name__", "<jax>"), marked.in_avals
        # JAX drops arguments that a jitted function does not read.
        if marked is traced.jaxpr and (not is_jitted or reads_all(self.jax.extend.core, marked.jaxpr)):
            module = read_stablehlo(traced.lower().as_text(debug_info=True), name)
            if len(_entry(module).body.block.args) == len(types_of_arrays):
                return module  # else what it calls does not read them
        run = self.jax.extend.core.jaxpr_as_fun(marked)

        @wraps(function)
        def again(*given: Any) -> Any:
            leaves = self.jax.tree_util.tree_leaves(given)
            return self.jax.tree_util.tree_unflatten(traced.out_tree, run(*leaves))

        arrays = len(self.jax.tree_util.tree_leaves(types)) == len(types_of_arrays)
        given = types if arrays else types_of_arrays  # without the values of static arguments
        lowered = self.jax.jit(again, keep_unused=True).trace(*given).lower()
        module = read_stablehlo(lowered.as_text(debug_info=True), name)
        if not arrays:
            _name_inputs(_entry(module), traced.jaxpr.jaxpr.debug_info.arg_names)
        return module

    def marked(self, closed: Any, constant: frozenset[int] = frozenset()) -> Any:
        """
        A closed trace with marks in it and in all that it calls; itself where there is nothing to mark.

        `constant` holds the numbers of its arguments that are constants.
        """
        known = self._marked.get((id(closed), constant))
        if known is None:
            pairs = zip(closed.jaxpr.constvars, closed.consts, strict=True)
            self._constants.update(v for v, c in pairs if not isinstance(c, self.jax.core.Tracer))
            jaxpr = self._marked_body(closed.jaxpr, constant)
            made = closed if jaxpr is closed.jaxpr else closed.replace(jaxpr=jaxpr)
            known = self._marked[id(closed), constant] = (closed, made)
        return known[1]

    def _marked_body(self, jaxpr: Any, constant: frozenset[int]) -> Any:
        """A trace with marks; one that is called again with other constants has the same variables."""
        self._constants.difference_update(jaxpr.invars, *(e.outvars for e in jaxpr.eqns))
        self._constants.update(jaxpr.invars[i] for i in constant)
        equations: list[Any] = []
        for equation in jaxpr.eqns:
            equations.append(self._equation(equation))
            if all(map(self._is_constant, equation.invars)):
                self._constants.update(equation.outvars)
        if all(new is old for new, old in zip(equations, jaxpr.eqns, strict=True)):
            return jaxpr
        return jaxpr.replace(eqns=equations)

    def _equation(self, equation: Any) -> Any:
        primitives = self.jax.extend.core.primitives
        if equation.primitive is primitives.stop_gradient_p:
            return self._composite(equation, equation.invars, STOP_GRADIENT, _itself)
        if equation.primitive.name == "logistic" and np.dtype(equation.invars[0].aval.dtype).kind != "c":
            return self._composite(equation, equation.invars, LOGISTIC, self._computation(equation))
        if (function := substitute(self.jax, equation)) is not None:
            return self._replaced(equation, function)
        if equation.primitive.name.startswith(WITH_BODIES):
            return equation
        if equation.primitive in (primitives.custom_jvp_call_p, primitives.custom_vjp_call_p):
            called = self.marked(innermost(equation.params["call_jaxpr"]), self._constants_of(equation.invars))
            return self._custom(equation, self.jax.extend.core.jaxpr_as_fun(called))
        if equation.primitive.name in IMPLICIT:
            return self._custom(equation, self._computation(equation))
        changed = {key: new for key, old in equation.params.items() if (new := self._parameter(equation, key, old)) is not old}
        return equation.replace(params={**equation.params, **changed}) if changed else equation

    def _parameter(self, equation: Any, key: str, value: Any) -> Any:
        core = self.jax.extend.core
        if isinstance(value, core.ClosedJaxpr | core.Jaxpr):
            constant = self._constants_of(passed(equation, key, value))
            return self.marked(value, constant) if isinstance(value, core.ClosedJaxpr) else self._marked_body(value, constant)
        if not isinstance(value, tuple):
            return value
        parts = cast("tuple[Any, ...]", value)
        made = tuple([self._parameter(equation, key, x) for x in parts])
        return parts if all(a is b for a, b in zip(made, parts, strict=True)) else made

    def _constants_of(self, values: Sequence[Any]) -> frozenset[int]:
        """The numbers of the values that are constants; None stands for one that changes."""
        return frozenset(i for i, v in enumerate(values) if v is not None and self._is_constant(v))

    def _is_constant(self, value: Any) -> bool:
        return isinstance(value, self.jax.extend.core.Literal) or value in self._constants

    def _replaced(self, equation: Any, function: Callable[..., Any]) -> Any:
        """An equation that calls `function` in the place of a primitive; only what has no bodies is marked in it."""
        (call,) = self.jax.make_jaxpr(self.jax.jit(function))(*_types(self.jax, equation.invars)).eqns
        body = call.params["jaxpr"]
        has_bodies = equation.primitive.name.startswith(WITH_BODIES)
        params = {**call.params, "jaxpr": body if has_bodies else self.marked(body)}
        return call.replace(invars=equation.invars, outvars=equation.outvars, params=params, source_info=equation.source_info)

    def _computation(self, equation: Any) -> Callable[..., Any]:
        """Return the function that a primitive computes."""
        stated = equation.params
        if equation.primitive.name != LINEAR_SOLVE:
            return partial(equation.primitive.bind, **stated)
        lengths, solve = stated["const_lengths"], self.jax.extend.core.jaxpr_as_fun(self.marked(stated["jaxprs"].solve))
        start, end = lengths.matvec + lengths.vecmat, sum(lengths)

        def solved(*given: Any) -> Any:
            return solve(*given[start : start + lengths.solve], *given[end:])

        return solved

    def _custom(self, equation: Any, whole: Callable[..., Any]) -> Any:
        """The composite of a function with rules, which computes `whole`, on those operands that are no literals."""
        core = self.jax.extend.core
        operands = list(dict.fromkeys(v for v in equation.invars if not isinstance(v, core.Literal)))

        def function(*given: Any, rule: Any = None) -> Any:
            values = dict(zip(operands, given, strict=True))
            found = whole(*(v.val if isinstance(v, core.Literal) else values[v] for v in equation.invars))
            return found if equation.primitive.multiple_results else (found,)

        return self._composite(equation, operands, CUSTOM_DERIVATIVE, function, rule=np.int64(self._number(equation, operands)))

    def _composite(self, equation: Any, operands: Sequence[Any], name: str, function: Callable[..., Any], **stated: Any) -> Any:
        """An equation that calls a composite of `function` on `operands`, with the results of `equation`."""
        jax = self.jax
        composite = partial(jax.lax.composite(function, name), **stated)
        made = jax.make_jaxpr(jax.jit(composite, inline=True))(*_types(jax, operands))
        (call,) = made.eqns
        stated = {**call.params, "jaxpr": with_captured(jax, made, call)}
        return call.replace(invars=list(operands), outvars=equation.outvars, params=stated, source_info=equation.source_info)

    def _number(self, equation: Any, operands: Sequence[Any]) -> int:
        """
        The number of the rules of an equation; equal ones have one number.

        Equal are functions of one name that are computed alike and whose derivatives are: JAX makes new objects for each trace.
        """
        jax, core = self.jax, self.jax.extend.core
        types = _types(jax, operands)
        called = equation.params.get("call_jaxpr")
        if called is None:
            called = jax.make_jaxpr(partial(equation.primitive.bind, **equation.params))(*_types(jax, equation.invars))
        debug = called.jaxpr.debug_info
        one = core.Jaxpr((), operands, equation.outvars, [equation], equation.effects, debug)
        function = core.jaxpr_as_fun(core.ClosedJaxpr(one, []))
        is_implicit = equation.primitive.name in IMPLICIT
        unmoved = equation.invars if is_implicit else equation.invars[: equation.params.get("num_consts", 0)]
        captured = {v for v in unmoved if not isinstance(v, core.Literal)}
        fixed = {i for i, v in enumerate(operands) if v in captured and v in self._constants}
        derivatives: dict[str, Derivative] = {VJP: _reverse(jax, function, types, fixed)}
        if equation.primitive is not core.primitives.custom_vjp_call_p:
            derivatives[JVP] = _forward(jax, function, types, fixed)
        traces = {key: trace_of(jax, derivative) for key, derivative in derivatives.items()}
        name = equation.primitive.name if is_implicit else debug.func_name
        name = name if name.isidentifier() else "function"  # of a lambda
        key = (name, *fixed, *(described(jax, t) for t in (core.ClosedJaxpr(one, []), *traces.values())))
        if key not in self._numbers:
            self._numbers[key] = len(self._found)
            known = {key: derivatives[key] if trace is not None else None for key, trace in traces.items()}
            varying = [i for i, x in enumerate(types) if i not in fixed and _varies(jax, x)] if fixed else None
            self._found.append(_Rule(name, known, self._order, varying))
        return self._numbers[key]

    def attach(self, module: ModuleOp) -> None:
        """Name the rules of marked functions on them, and import the rules into the module, with the rules that these need."""
        symbols = {f.sym_name.data: f for f in functions(module)}
        rules: dict[int, dict[str, Attribute]] = {}
        named: dict[int, str] = {}
        decompositions: dict[str, FuncOp] = {}
        pending = list(symbols.values())
        while pending:
            for call in [op for op in walk(pending.pop()) if isinstance(op, CallOp) and RULE_ATTRIBUTE in op.attributes]:
                number, callee = _number_of(call), call.callee.string_value()
                if number not in rules:
                    rules[number], made = self._imported(module, self._found[number], symbols)
                    pending += made
                decompositions[callee] = symbols[callee]
                if number not in named:
                    func = symbols[callee].clone()
                    name = named[number] = _fresh(self._found[number].name, symbols)
                    func.sym_name = StringAttr(name)
                    func.attributes.update(rules[number])
                    module.body.block.insert_op_before(func, symbols[callee])
                    symbols[name] = func
                    pending.append(func)
                call.properties["callee"] = SymbolRefAttr(named[number])
        for func in decompositions.values():
            func.detach()
            func.erase()

    def _imported(self, module: ModuleOp, rule: _Rule, symbols: dict[str, FuncOp]) -> tuple[dict[str, Attribute], list[FuncOp]]:
        """The attributes that name a rule, and the functions that importing it has added."""
        if rule.order == MOST_ORDERS:  # rules of rules may go on without an end, as those of `jnp.sinc` do
            return {key: UnitAttr() for key in rule.derivatives}, []
        self._order = rule.order + 1
        named: dict[str, Attribute] = {}
        added: list[FuncOp] = []
        for key, derivative in rule.derivatives.items():
            if derivative is None:
                named[key] = UnitAttr()
                continue
            name = _fresh(f"{rule.name}_{key.partition('.')[2]}", symbols)
            added += _merged(module, self.read(*derivative), name, symbols)
            named[key] = SymbolRefAttr(name)
        if rule.varying is not None and isinstance(named[VJP], SymbolRefAttr):
            named[VJP_WRT] = DenseArrayBase.from_list(i64, rule.varying)
        return named, added


def _itself(x: Any) -> Any:
    return x


def _entry(module: ModuleOp) -> FuncOp:
    """Return `@main`, which JAX calls the function that it lowers."""
    return next(f for f in functions(module) if f.sym_name.data == "main")


def _name_inputs(func: FuncOp, names: Sequence[str | None] | None) -> None:
    """Name the inputs of a function; as the reader, only if all have names."""
    given = () if func.arg_attrs is None else func.arg_attrs.data
    unnamed = ({key: a.data[key] for key in a.data if key != NAME_ATTRIBUTE} for a in given)
    func.arg_attrs = stated_attributes(map(DictionaryAttr, unnamed))
    func.arg_attrs = stated_attributes(map(DictionaryAttr, named_attributes(func, [name for name in names or () if name])))


def _number_of(call: CallOp) -> int:
    stated = call.attributes.pop(RULE_ATTRIBUTE)
    assert isinstance(stated, IntegerAttr)
    return stated.value.data


def _fresh(name: str, symbols: Collection[str]) -> str:
    """`name`, or with a number behind it if it is taken, in the module or for a function to come."""
    return next(found for i in count() if (found := f"{name}_{i}" if i else name) not in symbols)


def _merged(module: ModuleOp, other: ModuleOp, name: str, symbols: dict[str, FuncOp]) -> list[FuncOp]:
    """Move the functions of another module to the end of this one: `@main` as `name`, all private."""
    moved = list(functions(other))
    names: dict[str, str] = {"main": name}
    for func in moved:
        names.setdefault(func.sym_name.data, _fresh(func.sym_name.data, {*symbols, *names.values()}))
    for func in moved:
        func.detach()
        func.sym_name, func.sym_visibility = StringAttr(names[func.sym_name.data]), StringAttr("private")
        func.arg_attrs = func.res_attrs = None
        for call in [op for op in walk(func) if isinstance(op, CallOp)]:
            call.properties["callee"] = SymbolRefAttr(names[call.callee.string_value()])
        module.body.block.add_op(func)
        symbols[func.sym_name.data] = func
    return moved


def _types(jax: Any, values: Sequence[Any]) -> list[Any]:
    return [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in values]


def _reverse(jax: Any, function: Callable[..., Any], types: Sequence[Any], fixed: Collection[int]) -> Derivative:
    """Return the reverse derivative of a function: of its arguments and a cotangent for each result that varies."""
    results = jax.eval_shape(function, *types)

    def reverse(*given: Any) -> Any:
        moving, positions = _moving(function, given[: len(types)], fixed)
        found = jax.vjp(moving, *(given[i] for i in positions))[1](_filled(jax, results, given[len(types) :]))
        return tuple(g for g, i in zip(found, positions, strict=True) if _varies(jax, types[i]))

    return reverse, [*types, *(y for y in results if _varies(jax, y))]


def _forward(jax: Any, function: Callable[..., Any], types: Sequence[Any], fixed: Collection[int]) -> Derivative:
    """Return the forward derivative of a function: of its arguments and a tangent for each that can vary."""

    def forward(*given: Any) -> Any:
        moving, positions = _moving(function, given[: len(types)], fixed)
        tangents = _filled(jax, types, given[len(types) :])
        results, found = jax.jvp(moving, tuple(given[i] for i in positions), tuple(tangents[i] for i in positions))
        return tuple(t for t, y in zip(found, results, strict=True) if _varies(jax, y))

    return forward, [*types, *(x for x in types if _varies(jax, x))]


def _moving(function: Callable[..., Any], values: Sequence[Any], fixed: Collection[int]) -> tuple[Callable[..., Any], list[int]]:
    """
    Return `function` of those arguments that are not `fixed`, and their positions; `fixed` ones are always `values`.

    JAX derives no function with respect to the arrays that it captures.
    """
    positions = [i for i in range(len(values)) if i not in fixed]

    def moving(*given: Any) -> Any:
        chosen = dict(zip(positions, given, strict=True))
        return function(*(chosen.get(i, value) for i, value in enumerate(values)))

    return moving, positions


def _varies(jax: Any, x: Any) -> bool:
    return jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)


def _filled(jax: Any, types: Sequence[Any], given: Iterable[Any]) -> list[Any]:
    """One derivative for each of `types`: those given for what varies, nothing of JAX's own type for the rest."""
    left = iter(given)
    return [next(left) if _varies(jax, x) else np.zeros(x.shape, jax.dtypes.float0) for x in types]
