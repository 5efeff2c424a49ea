"""
Calls put in place: every `func.call` becomes a copy of the ops of the function it calls, and of those that one calls.

A call in a region is replaced there, as the ops of a function see its arguments only. The copies keep locations and names; a
result takes the name that the call gave it. Names of dimensions that are the callee's own get others where they would mean
another size. The work is linear in the ops that come out. They are counted beforehand, as calls of calls can double at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.declared_dims import declarations_of, state_declarations, undeclarable
from mind_dialect.errors import brief, error
from mind_dialect.extents import substituted_texts
from mind_dialect.extents.dims import names_in
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile, profile_of
from mind_dialect.program import functions
from mind_dialect.ptir_shapes import Dim

from .callees import MAX_OPS, Callees, calls_in, refused
from .derivatives.custom import stated_on_calls
from .dim_names import Renaming, unify


@dataclass(frozen=True)
class Inlined:
    """A copy of a function without calls, which stands in no module."""

    func: FuncOp
    origins: dict[Operation, Operation]
    """For each op inside the copy the op that it is a copy of, in the function or in one that was called."""
    callees: list[FuncOp]
    """The functions that were called, each once."""
    values: dict[SSAValue, SSAValue]
    """The value in the copy for each value of the function."""


def inline_calls(func: FuncOp, *, keep_rules: bool = False) -> dict[SSAValue, SSAValue]:
    """
    Replace every call in `func`, in place, until none is left; gives what its values became, nothing where there was no call.

    With `keep_rules`, calls of functions with derivative rules of their own stay, and state the rules themselves.
    Raises E4016 for a callee that is not there or has other types, E4000 for one that is declared only, has several blocks or
    calls itself (the message names the cycle), E6003 for calls that come to more than `MAX_OPS` ops. `func` is then unchanged.
    """
    if not calls_in(func):
        return {}
    whole = inlined(func, keep_rules=keep_rules)
    _replace_body(func, whole.func)
    return whole.values


def inlined(func: FuncOp, *, keep_rules: bool = False) -> Inlined:
    """A copy of `func` with every call replaced, where it may stay as it is; options and errors as by `inline_calls`."""
    callees = Callees(keep_rules)
    callees.check(func)
    return _copy(func, callees)


def _copy(func: FuncOp, callees: Callees) -> Inlined:
    """A copy of a checked function."""
    copier = _Copier(callees, func)
    made = copier.function(func)
    state_declarations(made, copier.declared)
    for fault in undeclarable(made):
        raise fault.at(func, func.name)
    reached = callees.reached(func)
    if any(profile_of(f) is Profile.CORE_V1_1 for f in reached) and profile_of(func) is not Profile.CORE_V1_1:
        made.attributes[PROFILE_ATTRIBUTE] = StringAttr(Profile.CORE_V1_1)
    return Inlined(made, copier.origins, reached, copier.values)


def _replace_body(func: FuncOp, made: FuncOp) -> None:
    func.attributes.update(made.attributes)
    olds = list(func.body.blocks)
    for block in olds:
        func.body.detach_block(block)
    made.body.move_blocks(func.body)
    for block in olds:
        block.erase(safe_erase=False)


@dataclass
class _Instance:
    """A function on its way: what its values and blocks have become, and what its names of dimensions are called now."""

    renaming: Renaming
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    blocks: dict[Block, Block] = field(default_factory=dict[Block, Block])


@dataclass
class _CopyFrame:
    """The state of the walk in one block, and what the copies are added to; of a called function also its call."""

    ops: Iterator[Operation]
    instance: _Instance
    into: Block
    call: CallOp | None = None
    caller: _Instance | None = None


class _Copier:
    """One function being copied, what it calls in the place of calls."""

    def __init__(self, callees: Callees, root: FuncOp):
        self.callees = callees
        self.origins: dict[Operation, Operation] = {}
        self.values: dict[SSAValue, SSAValue] = {}
        self.taken = dict.fromkeys(callees.names(root))
        self.late: list[tuple[Operation, Operation, _Instance]] = []
        self.declared: list[str] = []
        """Declarations of sizes of called functions, in names of this one."""

    def function(self, func: FuncOp) -> FuncOp:
        """The copy of `func`."""
        instance = _Instance(Renaming({}), self.values)
        made, frames = self._copied(func, instance)
        self._run(frames)
        for old, new, inner in self.late:  # values that are defined further down, as blocks in any order allow
            new.operands = [inner.values.get(v, v) for v in old.operands]
        del self.origins[made]
        assert isinstance(made, FuncOp)
        return made

    def _run(self, stack: list[_CopyFrame]) -> None:
        while stack:
            frame = stack[-1]
            if (op := next(frame.ops, None)) is None:
                stack.pop()
            elif isinstance(op, CallOp) and not self.callees.stays(op):
                stack.append(self._begun(op, frame))
            elif isinstance(op, ReturnOp) and frame.call is not None and frame.caller is not None:
                _finish(frame.call, op, frame.instance, frame.caller)
            else:
                made, frames = self._copied(op, frame.instance)
                if isinstance(op, CallOp):
                    made.attributes.update(stated_on_calls(self.callees.of(op)))
                frame.into.add_op(made)
                stack += frames

    def _copied(self, op: Operation, instance: _Instance) -> tuple[Operation, list[_CopyFrame]]:
        """A copy of an op, its regions with empty blocks, and what is to be done to fill them, the first last."""
        values, blocks, renaming = instance.values, instance.blocks, instance.renaming
        regions: list[Region] = []
        frames: list[_CopyFrame] = []
        for region in op.regions:
            regions.append(made := Region())
            for block in region.blocks:
                blocks[block] = new = Block(arg_types=[renaming.type(t) for t in block.arg_types])
                _bind(block.args, new.args, values)
                made.add_block(new)
                frames.append(_CopyFrame(iter(block.ops), instance, new))
        copy = type(op).create(
            operands=[values.get(v, v) for v in op.operands],
            result_types=[renaming.type(t) for t in op.result_types],
            properties=renaming.properties(op),
            attributes=dict(op.attributes),
            successors=[blocks.get(b, b) for b in op.successors],
            regions=regions,
            location=op.location,
        )
        if any(v not in values for v in op.operands):
            self.late.append((op, copy, instance))
        _bind(op.results, copy.results, values)
        self.origins[copy] = op
        return copy, frames[::-1]

    def _begun(self, call: CallOp, frame: _CopyFrame) -> _CopyFrame:
        """The callee of a call, its arguments what the call passes."""
        callee, caller = self.callees.of(call), frame.instance
        if any(v not in caller.values for v in call.arguments):
            raise refused(
                call, "an operand stands further down", "blocks in another order", "definitions before uses in the text"
            )
        operands = [caller.values[v] for v in call.arguments]
        results = [caller.renaming.type(t) for t in call.result_types]
        block = callee.body.block
        names = self._names(call, callee, [v.type for v in operands], results)
        self.declared += [text for fact in declarations_of(callee) for text in substituted_texts(fact.text, names)]
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, operands, strict=True))
        return _CopyFrame(iter(block.ops), _Instance(Renaming(names), values), frame.into, call, caller)

    def _names(self, call: CallOp, callee: FuncOp, operands: Sequence[Attribute], results: Sequence[Attribute]) -> dict[str, Dim]:
        """Return a callee's names of dimensions here: those of operands and results, others under names of their own."""
        names: dict[str, Dim] = {}
        last = callee.body.block.last_op
        returned = () if last is None else last.operand_types
        for what, declared, given in (("operands", callee.body.block.arg_types, operands), ("results", returned, results)):
            for d, g in zip(declared, given, strict=False):
                unify(d, g, names)
            renaming = Renaming(names)
            if len(declared) != len(given) or any(renaming.type(d) != g for d, g in zip(declared, given, strict=True)):
                expected, actual = (brief(f"({', '.join(map(str, types))})") for types in (declared, given))
                issue = f"{what} {actual}, expected {expected}"
                raise error("E4016", f"func.call of {call.callee}: {issue}", operation=call, issue=issue)
        for name in self.callees.names(callee):
            if name not in names:
                names[name] = self._free(name)
        self.taken.update(dict.fromkeys(name for d in names.values() for name in names_in(d)))
        return names

    def _free(self, name: str) -> str:
        """`name`, or with a number behind it if it is taken."""
        found, n = name, self.taken.get(name)
        while found in self.taken:
            n = (n or 0) + 1
            found = f"{name}_{n}"
        if n is not None:
            self.taken[name] = n
        self.taken[found] = None
        return found


def _bind(olds: Sequence[SSAValue], news: Sequence[SSAValue], values: dict[SSAValue, SSAValue]) -> None:
    for old, new in zip(olds, news, strict=True):
        values[old] = new
        new.name_hint = old.name_hint


def _finish(call: CallOp, ending: ReturnOp, callee: _Instance, caller: _Instance) -> None:
    """Let the results of a call be what the callee returns, by the names of the call where the callee made them."""
    for old, returned in reversed(tuple(zip(call.results, ending.operands, strict=True))):
        value = caller.values[old] = callee.values[returned]
        if isinstance(returned.owner, Operation) and old.name_hint is not None and not isinstance(returned.owner, CallOp):
            value.name_hint = old.name_hint


@dataclass(frozen=True)
class MindInlinePass(ModulePass):
    """Inline calls: replace each by the ops of the called function, which remains in the module."""

    name = "mind-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        inline_module(op)


def inline_module(module: ModuleOp, wanted: Callable[[FuncOp], bool] | None = None) -> None:
    """Replace every call in the functions of a module that are `wanted`; errors as by `inline_calls`, before anything changes."""
    callees = Callees()
    found = [f for f in functions(module) if calls_in(f) and (wanted is None or wanted(f))]
    total = 0
    for func in found:
        callees.check(func)
        total += callees.extents[func].ops
    if total > MAX_OPS:
        message = f"the functions with calls come to {total} ops, at most {MAX_OPS} are supported"
        raise error("E6003", message, operation=found[-1], backend="inlining")
    made = [(func, _copy(func, callees)) for func in found]
    for func, copy in made:
        _replace_body(func, copy.func)
