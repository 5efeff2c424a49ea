"""
Computation on weights alone, done once: `@f` becomes `@f_prepare`, run when weights are loaded, and `@f`, run every time.

`@f_prepare` takes the weights that it needs, under their names, and gives what `@f` then takes as its last inputs, named
`prepared0`, `prepared1` and on; `@f` says `ptir.prepare = @f_prepare`. Weights that `@f` itself no longer uses are no longer
its inputs; the other inputs keep their order. Running both gives what running the old `@f` gave.

Views (broadcast, reshape, slice) of weights stay where they are used: they cost nothing, a broadcast made in advance would only
fill memory, and patterns look for them. Random ops and dynamic dimensions stay too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.errors import error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import NAME_ATTRIBUTE, argument_attribute, functions, input_names, stated_attributes
from mind_dialect.ptir import BroadcastToOp, PtirOp, ReshapeOp, SliceOp, StopGradientOp
from mind_dialect.ptir.types import read_type

from ..callees import symbols_in
from .dead_ops import holders, replace_values

PARAMETER_ATTRIBUTE = "ptir.parameter"
"""Marks an input that is the same in every call: a weight."""
PREPARE_ATTRIBUTE = "ptir.prepare"
"""On a function, the name of the one that makes its last inputs."""

FREE = (BroadcastToOp, ReshapeOp, SliceOp, StopGradientOp)
"""Ops that are no work: they stay with those that use them."""


@dataclass
class _Split:
    """The two parts of a function; everything in the order of the text but `exports`, which is reversed."""

    exports: list[SSAValue] = field(default_factory=list[SSAValue])
    prepared: set[Operation] = field(default_factory=set[Operation])
    for_main: set[SSAValue] = field(default_factory=set[SSAValue])
    for_prepare: set[SSAValue] = field(default_factory=set[SSAValue])


def split_parameters(func: FuncOp, names: Iterable[str] = ()) -> FuncOp | None:
    """
    Move out of a verified function what depends on the weights of these names alone, or on the marked ones if there are none.

    Returns the new function, which stands before the old one, or None if there is nothing to compute. E7003 is a name that no
    input has.
    """
    block = func.body.block
    weights = _weights(func, names)
    plan = _plan(block, weights, holders(func))
    if not plan.exports:
        return None
    plan.exports.reverse()
    prepare = _prepare(func, plan, weights)
    _shorten(func, plan, weights, prepare)
    return prepare


def _weights(func: FuncOp, names: Iterable[str]) -> list[SSAValue]:
    arguments, wanted = func.body.block.args, tuple(names)
    if not wanted:
        return [v for i, v in enumerate(arguments) if argument_attribute(func, i, PARAMETER_ATTRIBUTE)]
    known = dict(zip(input_names(func), arguments, strict=True))
    for name in wanted:
        if name not in known:
            message = f"@{func.sym_name.data} has no input {name!r}, expected one of {list(known)}"
            raise error("E7003", message, name=name, known=list(known))
    return [v for name, v in known.items() if name in wanted]


def _plan(block: Block, weights: Sequence[SSAValue], kept: set[Operation]) -> _Split:
    """Forwards: what depends on weights, on constants; backwards: who needs it."""
    fixed, constant = set[SSAValue](weights), set[SSAValue]()
    for op in block.ops:
        if op in kept or not all(v in fixed or v in constant for v in op.operands):
            continue
        if not all(read_type(v.type).is_static for v in op.results):
            continue
        (fixed if any(v in fixed for v in op.operands) else constant).update(op.results)
    plan = _Split()
    for op in reversed(tuple(block.ops)):
        results = [v for v in op.results if v in plan.for_main]
        depends = any(v in fixed for v in op.results)
        if depends and results and not isinstance(op, FREE):
            plan.exports += reversed(results)
            plan.prepared.add(op)
        elif results or not op.results or not all(v in fixed or v in constant for v in op.results):
            plan.for_main.update(v for inner in walk(op) for v in inner.operands)
        if op in plan.prepared or any(v in plan.for_prepare for v in op.results):
            plan.prepared.add(op)
            plan.for_prepare.update(op.operands)
    return plan


def _prepare(func: FuncOp, plan: _Split, weights: Sequence[SSAValue]) -> FuncOp:
    """The function that computes the exports."""
    taken, inputs = [v for v in weights if v in plan.for_prepare], inputs_of(func)
    body = Block(arg_types=[v.type for v in taken])
    values: dict[SSAValue, SSAValue] = dict(zip(taken, body.args, strict=True))
    for old, new in zip(taken, body.args, strict=True):
        new.name_hint = old.name_hint
    for op in func.body.block.ops:
        if op in plan.prepared:
            body.add_op(op.clone(values))
    body.add_op(ReturnOp(*(values[v] for v in plan.exports)))
    types = FunctionType.from_lists([v.type for v in taken], [v.type for v in plan.exports])
    prepare = FuncOp(_free_name(func), types, Region(body), visibility=func.sym_visibility)
    prepare.location = func.location
    prepare.arg_attrs = stated_attributes(inputs[v] for v in taken)
    module = func.parent
    assert isinstance(module, Block)
    module.insert_op_before(prepare, func)
    return prepare


def _free_name(func: FuncOp) -> str:
    """The function's name and `_prepare`, with a number if that is taken."""
    module = func.parent_op()
    taken = {} if module is None else symbols_in(module)
    name, n = f"{func.sym_name.data}_prepare", 0
    while name in taken:
        name, n = f"{func.sym_name.data}_prepare{n}", n + 1
    return name


def inputs_of(func: FuncOp) -> dict[SSAValue, DictionaryAttr]:
    """Return the inputs of a function with their attributes, their names among them."""
    found: dict[SSAValue, DictionaryAttr] = {}
    for i, (value, name) in enumerate(zip(func.body.block.args, input_names(func), strict=True)):
        given: dict[str, Attribute] = {} if func.arg_attrs is None else dict(func.arg_attrs.data[i].data)
        found[value] = DictionaryAttr({NAME_ATTRIBUTE: StringAttr(name), **given})
    return found


def _shorten(func: FuncOp, plan: _Split, weights: Sequence[SSAValue], prepare: FuncOp) -> None:
    """Let the function take what is prepared, and no more the weights that only that needed."""
    block, inputs, names = func.body.block, inputs_of(func), input_names(func)
    became: dict[SSAValue, SSAValue] = {}
    for i, value in enumerate(plan.exports):
        argument = became[value] = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        name = _unused(f"prepared{i}", names)
        inputs[argument] = DictionaryAttr({NAME_ATTRIBUTE: StringAttr(name), PARAMETER_ATTRIBUTE: UnitAttr()})
    replace_values(func, became)
    gone = {v for v in weights if v.first_use is None and v in plan.for_prepare}
    for argument in reversed(block.args):
        if argument in gone:
            block.erase_arg(argument)
    func.update_function_type()
    func.arg_attrs = stated_attributes(attributes for value, attributes in inputs.items() if value not in gone)
    func.attributes[PREPARE_ATTRIBUTE] = SymbolRefAttr(prepare.sym_name.data)


def _unused(name: str, names: list[str]) -> str:
    """`name`, with underscores if an input has it; added to `names`."""
    while name in names:
        name += "_"
    names.append(name)
    return name


@dataclass(frozen=True)
class PtirSplitParametersPass(ModulePass):
    """
    Move what depends on weights alone into `@f_prepare`; `@f` takes its results as last inputs.

    `parameters=w,b` names the weights; without it they are the inputs marked `ptir.parameter`. `function=f` splits only that one.
    """

    name = "mind-ptir-split-parameters"

    function: str | None = None
    parameters: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        found = [f for f in functions(op) if self.function in (None, f.sym_name.data)]
        if self.function is not None and not found:
            known = [f.sym_name.data for f in functions(op)]
            raise error("E7003", f"no function @{self.function}, expected one of {known}", name=self.function, known=known)
        for func in found:
            if len(func.body.blocks) == 1 and any(isinstance(inner, PtirOp) for inner in walk(func)):
                split_parameters(func, self.parameters)
