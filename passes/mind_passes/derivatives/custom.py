"""
Functions with derivative rules of their own: `mind.vjp` and `mind.jvp` on a function name the functions that are its derivatives.

    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mind.vjp = @f_vjp} { ... }
    func.func private @f_vjp(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> { ... }

The reverse rule takes the inputs of the function and a cotangent for each floating-point result, and gives a cotangent for each
floating-point input; the forward rule takes a tangent for each floating-point input instead, and gives those of the results.
In the place of a name, a unit says that there is a rule which the module does not hold: differentiating the function is E5001.
Autodiff and batching leave calls of such functions in place, with the attributes on the call, and call the rules; everything else
puts the functions in the place of calls like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from mind_dialect.errors import brief, error

from .rules import can_vary

VJP = "mind.vjp"
"""On a function, and on calls of it while they are differentiated: the function that is its reverse rule."""
JVP = "mind.jvp"
"""Likewise the forward rule."""


def rules_of(op: Operation) -> dict[str, SymbolRefAttr]:
    """The rules that a function or a call states, by attribute."""
    return {name: rule for name in (VJP, JVP) if isinstance(rule := op.attributes.get(name), SymbolRefAttr)}


def has_rules(func: FuncOp) -> bool:
    """Return whether a function has a derivative rule of its own."""
    return VJP in func.attributes or JVP in func.attributes


def check_rules(func: FuncOp, symbols: Mapping[str, Operation]) -> None:
    """E4016 unless the rules that a function states are functions of `symbols` whose types fit its own."""
    inputs, outputs = list(func.function_type.inputs), list(func.function_type.outputs)
    varying, results = [t for t in inputs if can_vary(t)], [t for t in outputs if can_vary(t)]
    for name, takes, gives in ((VJP, [*inputs, *results], varying), (JVP, [*inputs, *varying], results)):
        if (stated := func.attributes.get(name)) is None or isinstance(stated, UnitAttr):
            continue
        rule = symbols.get(stated.string_value()) if isinstance(stated, SymbolRefAttr) else None
        if not isinstance(rule, FuncOp):
            issue = f"{name} of @{func.sym_name.data} is {brief(stated)}, expected the name of a function in the module"
            raise error("E4016", issue, operation=func, issue=issue)
        found = list(rule.function_type.inputs), list(rule.function_type.outputs)
        if found != (takes, gives):
            issue = f"{name} of @{func.sym_name.data}: {stated} is {_shown(*found)}, expected {_shown(takes, gives)}"
            raise error("E4016", issue, operation=rule, issue=issue)


def _shown(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> str:
    return brief(f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, outputs))})")
