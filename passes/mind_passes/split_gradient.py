"""
A gradient function cut in two, for systems that run them apart: values forwards, adjoints later from saved values.

`@f_grad`, with cotangents as inputs, becomes `@f_grad_forward` and `@f_grad_backward`. The former has the inputs of `@f` and
returns its results, then residuals; the latter takes what was saved of inputs and residuals, then the cotangents, and returns the
gradients. Both compute what is cheaper to rematerialize than to save (see `residuals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, FunctionType, ModuleOp, SymbolRefAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.declared_dims import keep_declarations
from mind_dialect.errors import error
from mind_dialect.program import COTANGENT_ATTRIBUTE, functions, stated_attributes
from mind_dialect.verify import verify

from .gradient import GRAD_WRT
from .residuals import cut
from .selection import derived_name

SPLIT_OF = "mind.split_of"
"""On `@f_grad_forward` and `@f_grad_backward`: the gradient function that they compute together."""
SAVED = "mind.saved"
"""On `@f_grad_backward`: its inputs before the cotangents, as positions in the inputs and then the results of the other one."""


@dataclass(frozen=True)
class SplitGradient:
    """Both functions; `saved` are the positions of `SAVED`."""

    forward: FuncOp
    backward: FuncOp
    saved: tuple[int, ...]


def split_gradient(module: ModuleOp, gradient: FuncOp) -> SplitGradient:
    """
    Put both halves of a gradient function of PTIR behind it, in place; it stays.

    It needs cotangents as inputs and the results of the primal (`seed=cotangent`, `keep-primal=true`): E7001 for another.
    """
    wrt = gradient.attributes.get(GRAD_WRT)
    if not isinstance(wrt, DenseArrayBase):
        name = gradient.sym_name.data
        raise error("E7001", f"@{name} is no gradient function, expected one made by autodiff", option="function")
    work = gradient.clone()
    block, returned = work.body.block, work.body.block.last_op
    assert isinstance(returned, ReturnOp)
    attributes: Sequence[DictionaryAttr] = [] if work.arg_attrs is None else list(work.arg_attrs.data)
    cotangents = [a for a, stated in zip(block.args, attributes, strict=False) if COTANGENT_ATTRIBUTE in stated.data]
    count = len(returned.operands) - len(wrt.get_values())
    if not cotangents or count < 1:
        message = f"@{gradient.sym_name.data} has no cotangents or primal results, expected seed=cotangent, keep-primal=true"
        raise error("E7001", message, option="seed")
    arguments = [a for a in block.args if a not in cotangents]
    primal, gradients = list(returned.operands[:count]), list(returned.operands[count:])
    returned.operands = primal
    _order(returned)
    found = cut(block, returned, gradients, cotangents, at_hand=set(arguments))
    returned.operands = [*primal, *(x for x in found.computed if x not in primal)]
    found.backward.add_op(ReturnOp(*[found.became.get(g, g) for g in gradients]))
    places = [*arguments, *returned.operands]
    saved = tuple(places.index(x) for x in found.residuals)
    forward = _function(module, gradient, "forward", Region(work.body.detach_block(0)), attributes[: len(arguments)])
    keep_declarations(gradient, forward)
    stated = [DictionaryAttr({}) for _ in saved] + list(attributes[len(arguments) :])
    backward = _function(module, gradient, "backward", Region(found.backward), stated)
    backward.attributes[SAVED] = DenseArrayBase.from_list(i64, list(saved))
    assert gradient.parent is not None
    gradient.parent.insert_ops_after([forward, backward], gradient)
    return SplitGradient(forward, backward, saved)


def _order(end: Operation) -> None:
    """Put what `end` depends on before it, and the other ops of its block behind it, each in their order."""
    block = end.parent
    assert block is not None
    needed: set[Operation] = set()
    stack: list[SSAValue] = list(end.operands)
    while stack:
        op = stack.pop().owner
        if isinstance(op, Operation) and op not in needed:
            needed.add(op)
            stack += [v for inner in op.walk() for v in inner.operands]
    last = end
    for op in [op for op in block.ops if op is not end and op not in needed]:
        op.detach()
        block.insert_op_after(op, last)
        last = op


def _function(module: ModuleOp, of: FuncOp, suffix: str, body: Region, attributes: Sequence[DictionaryAttr]) -> FuncOp:
    block = body.block
    last = block.last_op
    assert last is not None
    type = FunctionType.from_lists([a.type for a in block.args], [v.type for v in last.operands])
    made = FuncOp(derived_name(module, of, suffix), type, body, arg_attrs=stated_attributes(attributes))
    made.attributes[SPLIT_OF] = SymbolRefAttr(of.sym_name.data)
    made.location = of.location
    return made


@dataclass(frozen=True)
class MindSplitGradientPass(ModulePass):
    """
    Split each gradient @f_grad of PTIR that takes cotangents into @f_grad_forward and @f_grad_backward.

    The first returns the results of the function and residuals. The second takes what `mind.saved` lists, by position in inputs
    and results of the first, then the cotangents. Both compute what is cheaper to rematerialize than to save.
    """

    name = "mind-split-gradient"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for func in [f for f in functions(op) if GRAD_WRT in f.attributes]:
            split_gradient(op, func)
        verify(op)
