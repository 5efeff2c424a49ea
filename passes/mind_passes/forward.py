"""
Forward-mode autodiff of PTIR: `@f` gets a sibling `@f_jvp`.

`@f_jvp` takes the inputs of `@f` and a tangent for each that varies, and returns the outputs of `@f` and the tangent of each
floating-point output: the Jacobian times the tangents. One walk forwards, with a dict from value to tangent; like the reverse
walk it knows no op. Values that do not vary have no tangent, and nothing is computed for them.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Region
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.declared_dims import keep_declarations
from mind_dialect.errors import MindError, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import NAME_ATTRIBUTE, input_names, ssa_name, stated_attributes, value_ids
from mind_dialect.verify import verify

from .algebra import PtirAlgebra
from .derivatives.rules import can_vary
from .derivatives.walks import Flows, Forward
from .gradient import select_values
from .ptir.canonicalize import canonicalize
from .selection import derived_name, functions_to_do, is_ptir, own_copy, select_function
from .working_copy import working_copy

JVP_OF = "mind.jvp_of"
"""On `@f_jvp`: the function whose Jacobian it multiplies with tangents."""


@dataclass(frozen=True)
class ForwardOptions:
    """
    Options of forward mode: which inputs vary, and how strictly.

    `wrt`: the inputs that vary, by index or name; None means every floating-point input. `keep_primal`: return the outputs
    of the function first. `verify`: check the function before and the result after.
    """

    wrt: tuple[int | str, ...] | None = None
    keep_primal: bool = True
    verify: bool = True


@dataclass(frozen=True)
class Jvp:
    """A module with a function and its Jacobian-vector product."""

    module: ModuleOp
    primal: FuncOp
    function: FuncOp


def forward_mode(module: ModuleOp, function: str | None = None, options: ForwardOptions | None = None) -> Jvp:
    """
    Put `@f_jvp` into a copy of `module`, for `@function` or its only function of PTIR.

    Raises the verifier's errors for an invalid function, E5001 for an op without a rule, E5005 for integer inputs in `wrt`,
    E4000 for a function of Core IR, E7003 for options that name nothing.
    """
    module = own_copy(module)
    return add_jvp(module, select_function(module, function), options or ForwardOptions())


def add_jvp(module: ModuleOp, func: FuncOp, options: ForwardOptions, name: str | None = None) -> Jvp:
    """Put the Jacobian-vector product of `func`, called `name`, behind it, in place."""
    name = name or derived_name(module, func, "jvp")
    if not is_ptir(func):
        message = f"@{func.sym_name.data} is not of PTIR; convert it with convert-mind-to-ptir"
        raise error("E4000", message, operation=func, given="Core IR", expected="PTIR")
    if options.verify:
        verify(func)
    made = jvp_function(working_copy(func), name, options)
    assert func.parent is not None
    func.parent.insert_op_after(made, func)
    canonicalize(made)
    if options.verify:
        try:
            verify(made)
        except MindError as e:
            message = f"the forward derivative of @{func.sym_name.data} does not verify: {e.message}"
            raise error("E5002", message, operation=e.op, inner=e.code) from e
    return Jvp(module, func, made)


def jvp_function(func: FuncOp, name: str, options: ForwardOptions) -> FuncOp:
    """Build `@f_jvp` from a working copy."""
    body = func.body.block
    wrt = select_values(func, value_ids(body), options.wrt, {})
    if any(not isinstance(x, BlockArgument) for x in wrt):
        raise error(
            "E7003", f"wrt={options.wrt} names a value inside @{func.sym_name.data}, expected inputs", name=None, known=()
        )
    block = Block(arg_types=[*(x.type for x in body.args), *(x.type for x in wrt)])
    walk = Forward(block, PtirAlgebra(), Flows(PtirAlgebra()))
    walk.enter(body, block.args)
    names = input_names(func)
    tangents = block.args[len(body.args) :]
    walk.tangents.update(zip((walk.copies[x] for x in wrt), tangents, strict=True))
    tangent_names = [_fresh(f"{names[x.index]}_tangent", names) for x in wrt if isinstance(x, BlockArgument)]
    for t, label in zip(tangents, tangent_names, strict=True):
        t.name_hint = ssa_name(label)
    end = walk.run(list(body.ops))
    outputs = [walk.copies[y] for y in end.operands]
    results = outputs if options.keep_primal else []
    tangents_out = {y: walk.tangent(y) for y in outputs if can_vary(y.type)}
    for y, t in tangents_out.items():
        if t.name_hint is None and y.name_hint is not None:
            t.name_hint = f"{y.name_hint}_tangent"
    results = [*results, *(tangents_out[y] for y in outputs if y in tangents_out)]
    block.add_op(ReturnOp(*results))
    arguments = list(func.arg_attrs.data) if func.arg_attrs is not None else [DictionaryAttr({}) for _ in body.args]
    arguments += [DictionaryAttr({NAME_ATTRIBUTE: StringAttr(label)}) for label in tangent_names]
    types = FunctionType.from_lists([a.type for a in block.args], [r.type for r in results])
    made = FuncOp(name, types, Region(block), arg_attrs=stated_attributes(arguments))
    made.attributes[JVP_OF] = SymbolRefAttr(func.sym_name.data)
    keep_declarations(func, made)
    made.location = func.location
    return made


def _fresh(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    taken.append(name)
    return name


@dataclass(frozen=True)
class MindJvpPass(ModulePass):
    """
    Add the forward-mode derivative @f_jvp alongside each function @f of PTIR.

    Without `function`, every function gets one that has none, is not itself derived from another, and is not called by another.
    `wrt=x,1` names the inputs that vary, by name or place; by default every floating-point one. `keep-primal=false` leaves
    out the outputs of the function, `verify=false` the checks before and after.
    """

    name = "mind-jvp"

    function: str | None = None
    wrt: tuple[int | str, ...] | None = None
    keep_primal: bool = True
    verify: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in functions_to_do(op, self.function, JVP_OF, is_ptir):
            add_jvp(op, func, ForwardOptions(self.wrt, self.keep_primal, self.verify))
