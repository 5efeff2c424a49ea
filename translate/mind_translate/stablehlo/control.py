"""
Rows of loops, branches and calls.

PTIR's regions see their arguments only: what a region captures becomes an operand, and a loop carries it unchanged. `case`
becomes a tree of conditions; an index out of range takes the last branch, as in StableHLO. `counted.py` finds loops that count.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import tensor_type

from ..unsupported import Refused
from .converter import StablehloConverter, StablehloRow, Values
from .counted import as_scan
from .foreign import ForeignOp, is_dynamic

STOP_GRADIENT = "mind.stop_gradient"
"""The name of a composite that returns its operands, through which no gradient flows."""
LOGISTIC = "mind.logistic"
"""The name of a composite that JAX computes by ops that overflow, so that its derivative through them is NaN."""
CUSTOM_DERIVATIVE = "mind.custom_derivative"
"""The name of a composite of which `rule` says by number what its derivatives are."""
RULE_ATTRIBUTE = "mind.rule"
"""On the call that such a composite becomes: the number."""

_MARKS: dict[str, type[ptir.PtirOp]] = {STOP_GRADIENT: ptir.StopGradientOp, LOGISTIC: ptir.LogisticOp}


def _call(to: StablehloConverter, op: ForeignOp) -> Values:
    return called(to, op, op.symbol("callee"))


def _composite(to: StablehloConverter, op: ForeignOp) -> Values:
    """The decomposition, called; a few names mark what JAX lowers to no op of StableHLO (see `mind_bridges.jax_rules`)."""
    if (made := _MARKS.get(op.string("name"))) is not None:
        return [to.emit(made, x) for x in op.operands]
    results = called(to, op, op.symbol("decomposition"))
    stated = op.attributes.get("composite_attributes")
    if op.string("name") == CUSTOM_DERIVATIVE and isinstance(stated, DictionaryAttr) and isinstance(results[0].owner, CallOp):
        results[0].owner.attributes[RULE_ATTRIBUTE] = stated.data["rule"]
    return results


def _derivative(to: StablehloConverter, op: ForeignOp) -> Values:
    """A derivative call of Enzyme stays one; the function that it names is converted too."""
    func = to.callee(op.symbol("fn"))
    if any(is_dynamic(type) for type in (*func.function_type.inputs.data, *func.function_type.outputs.data)):
        raise Refused("a derivative of a function of dynamic sizes", "give the program static shapes")
    call = op.op
    types = [tensor_type(*spec) for spec in op.results]
    made = type(call).create(operands=op.operands, result_types=types, properties=call.properties, attributes=call.attributes)
    return to.add(made).results


def called(to: StablehloConverter, op: ForeignOp, name: str) -> Values:
    """A call of a function of the module, which is converted too."""
    func = to.callee(name)
    if any(is_dynamic(type) for type in (*func.function_type.inputs.data, *func.function_type.outputs.data)):
        return to.inlined(name, op.operands)  # what the caller knows of its sizes holds for its ops
    return to.add(CallOp(name, op.operands, [tensor_type(*spec) for spec in op.results])).results


def _while(to: StablehloConverter, op: ForeignOp) -> Values:
    cond, body = op.body(0), op.body(1)
    if (scanned := as_scan(to, op, cond, body)) is not None:
        return scanned
    bound = to.captures(op.regions)
    count = len(op.operands)
    made = to.add(
        ptir.WhileOp(
            *op.operands,
            *(to.env[v] for v in bound),
            cond=to.landed_region(cond, op.operands, bound, lambda found, arguments: [*found, *arguments]),
            body=to.landed_region(body, op.operands, bound, lambda found, arguments: [*found, *arguments[count:]]),
        )
    )
    return made.results[:count]


def _if(to: StablehloConverter, op: ForeignOp) -> Values:
    return _branch(to, op, op.operands[0], op.body(0), op.body(1))


def _branch(to: StablehloConverter, op: ForeignOp, pred: SSAValue, true: Block, false: Block) -> Values:
    bound = to.captures([r for r in op.regions if r.block in (true, false)])
    regions = [to.landed_region(block, (), bound, lambda found, _: found) for block in (true, false)]
    values = [to.env[v] for v in bound]
    return to.add(ptir.CondOp(pred, *values, true=regions[0], false=regions[1])).results


def _case(to: StablehloConverter, op: ForeignOp) -> Values:
    count = len(op.regions)
    if not count:
        raise error("E8005", "case has no branch", region=0, expected="at least one branch", actual="none")
    index, last = op.operands[0], count - 1
    inside = to.logical(ptir.AndOp, to.compare("greater_equal", index, 0), to.compare("less", index, count))
    index = index if inside is None else to.select(inside, index, to.like(last, index))
    blocks = [op.body(i) for i in range(count)]
    return _choose(to, blocks, to.captures(op.regions), 0, index)


def _choose(to: StablehloConverter, blocks: Sequence[Block], bound: Sequence[SSAValue], first: int, index: SSAValue) -> Values:
    """One of the blocks, the first of which is number `first`: halved until one is left."""
    if len(blocks) == 1:
        return to.run_block(blocks[0])
    half = len(blocks) // 2
    values = [to.env[v] for v in bound]
    outer = to.env

    def part(blocks: Sequence[Block], first: int) -> Region:
        def body(arguments: Values) -> Values:
            to.env = {**outer, **dict(zip(bound, arguments[1:], strict=True))}
            return _choose(to, blocks, bound, first, arguments[0])

        return to.region([v.type for v in (index, *values)], body)

    pred = to.compare("less", index, first + half)
    try:
        low, high = part(blocks[:half], first), part(blocks[half:], first + half)
    finally:
        to.env = outer
    return to.add(ptir.CondOp(pred, index, *values, true=low, false=high)).results


def _map(to: StablehloConverter, op: ForeignOp) -> Values:
    return to.vectorized(op.body(), op.operands, op.shape, len(op.results))


CONTROL: dict[str, StablehloRow | Refused] = {
    "func.call": _call,
    "enzyme.autodiff": _derivative,
    "enzyme.fwddiff": _derivative,
    "stablehlo.case": _case,
    "stablehlo.composite": _composite,
    "stablehlo.if": _if,
    "stablehlo.map": _map,
    "stablehlo.while": _while,
}
