"""
Functions with derivative rules of their own: `mind.vjp` and `mind.jvp` on a function name the functions that are its derivatives.

    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mind.vjp = @f_vjp} { ... }
    func.func private @f_vjp(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> { ... }

The reverse rule takes the inputs of the function and a cotangent for each floating-point result, and returns a cotangent for each
floating-point input, or for those that `mind.vjp_wrt` lists by number; no gradient flows to the others, such as residuals. The
forward rule takes a tangent for each floating-point input instead, and returns those of the results.
In the place of a name, a unit says that there is a rule which the module does not hold: differentiating the function is E5001.
Autodiff and batching leave calls of such functions in place, with the attributes on the call, and call the rules; everything else
puts the functions in the place of calls like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation

from mind_dialect.dominance import walk
from mind_dialect.errors import brief, error

from .rules import can_vary

VJP = "mind.vjp"
"""On a function, and on calls of it while they are differentiated: the function that is its reverse rule."""
VJP_WRT = "mind.vjp_wrt"
"""The numbers of the inputs that the reverse rule returns cotangents for; without it, every floating-point input."""
JVP = "mind.jvp"
"""Likewise the forward rule."""


def rules_of(op: Operation) -> dict[str, SymbolRefAttr]:
    """The rules that a function or a call states, by attribute."""
    return {name: rule for name in (VJP, JVP) if isinstance(rule := op.attributes.get(name), SymbolRefAttr)}


def stated_on_calls(func: FuncOp) -> dict[str, Attribute]:
    """Return the attributes by which a call states the rules of the function that it calls."""
    stated: dict[str, Attribute] = {**rules_of(func)}
    if VJP in stated and VJP_WRT in func.attributes:
        stated[VJP_WRT] = func.attributes[VJP_WRT]
    return stated


def differentiated(op: FuncOp | CallOp, inputs: Sequence[Attribute]) -> list[int]:
    """Return the numbers of the inputs, of these types, that the reverse rule of a function or call returns cotangents for."""
    stated = op.attributes.get(VJP_WRT)
    chosen = stated.get_values() if isinstance(stated, DenseArrayBase) else range(len(inputs))
    return [int(i) for i in chosen if can_vary(inputs[int(i)])]


def references(op: Operation) -> dict[str, SymbolRefAttr]:
    """Return the functions that an op names, by attribute: the callee of a call, and derivative rules."""
    return {**({"callee": op.callee} if isinstance(op, CallOp) else {}), **rules_of(op)}


def rename_references(root: Operation, names: Mapping[str, str]) -> None:
    """Let `root`, and the ops in it, name functions as `names` says, in place."""
    for op in walk(root):
        for key, name in references(op).items():
            if (new := names.get(name.string_value())) is not None:
                (op.properties if key == "callee" else op.attributes)[key] = SymbolRefAttr(new)


def has_rules(func: FuncOp) -> bool:
    """Return whether a function has a derivative rule of its own."""
    return VJP in func.attributes or JVP in func.attributes


def check_rules(func: FuncOp, symbols: Mapping[str, Operation]) -> None:
    """E4016 unless the rules that a function states are functions of `symbols` whose types fit its own."""
    inputs, outputs = list(func.function_type.inputs), list(func.function_type.outputs)
    _check_numbers(func, inputs)
    varying, results = [t for t in inputs if can_vary(t)], [t for t in outputs if can_vary(t)]
    chosen = [inputs[i] for i in differentiated(func, inputs)]
    for name, takes, gives in ((VJP, [*inputs, *results], chosen), (JVP, [*inputs, *varying], results)):
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


def _check_numbers(func: FuncOp, inputs: Sequence[Attribute]) -> None:
    """E4016 for inputs to differentiate by that are no floating-point inputs, each once and in order."""
    if (stated := func.attributes.get(VJP_WRT)) is None:
        return
    text = brief(f"{stated}")
    numbers = list(stated.get_values()) if isinstance(stated, DenseArrayBase) else [-1]
    varying = [i for i, t in enumerate(inputs) if can_vary(t)]
    if not set(numbers) <= set(varying) or numbers != sorted(set(numbers)):
        issue = f"{VJP_WRT} of @{func.sym_name.data} is {text}, expected some of {varying} in ascending order"
        raise error("E4016", issue, operation=func, issue=issue)


def _shown(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> str:
    return brief(f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, outputs))})")
