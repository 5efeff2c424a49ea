"""
Control flow of PTIR as branches and loops of `xp`.

Something in a loop may write to what the loop carries. The loop then copies an initial value that others have too, once, before
it begins, and a yielded value that is not the loop's own; a cache that is updated step by step is so never copied in the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import TensorSpec, read_type
from mind_dialect.ptir_shapes import UNKNOWN

from .ownership import Grade, Held, Memory, OwnedCarry, fresh, shared
from .xp.functions import EMPTY
from .xp.regions import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from .xp_lowering import Control, Lowering


def _ending(block: Block) -> Operation:
    assert block.last_op is not None, "verified"
    return block.last_op


def _filled(ops: Sequence[Operation], args: Block | None = None) -> Block:
    block = Block() if args is None else args
    block.add_ops(ops)
    return block


def _lower_fusion(lowering: Lowering, op: ptir.FusionOp) -> None:
    """The ops of the body, one after the other."""
    block = op.body.block
    for argument, value in zip(block.args, lowering.take(op.operands), strict=True):
        lowering.bind(argument, value)
    for old, new in zip(op.results, lowering.block(block, _ending(block)), strict=True):
        lowering.bind(old, new)


def _lower_cond(lowering: Lowering, op: ptir.CondOp) -> None:
    """A branch on the values around it."""
    pred, *inputs = lowering.take(op.operands)
    branches: list[tuple[list[Operation], list[SSAValue]]] = []
    for region in (op.true_region, op.false_region):
        block = region.block
        for argument, value in zip(block.args, inputs, strict=True):
            lowering.bind(argument, value)
        ops, yielded = lowering.nested(block, _ending(block))
        ops.append(YieldOp.create(operands=yielded))
        branches.append((ops, yielded))
    made = IfOp(pred, op.result_types, *(_filled(ops) for ops, _ in branches))
    lowering.emit(made)
    where: list[Held] = []
    for i in range(len(made.results)):
        found = [lowering.held[yielded[i]] for _, yielded in branches]
        memory = Memory(writable=True)
        for held in found:
            memory.join(held.memory)
        where.append(Held(memory, min(h.grade for h in found)))
    _results(lowering, op.results, made.results, where)


class _Loop:
    """The carries of a loop: the initial values, and the memory of carried values, seen from inside and from outside."""

    def __init__(self, lowering: Lowering, initial: list[SSAValue], scanned: Sequence[SSAValue] = ()):
        self.lowering = lowering
        self.initial = initial
        self.carries = [OwnedCarry() for _ in initial]
        self.scanned = {OwnedCarry(): value for value in scanned}

    def arguments(self, block: Block) -> None:
        """Say where the arguments of the loop's block are: what it carries, then slices, which nothing writes to."""
        for argument, carry in zip(block.args, self.carries, strict=False):
            self.lowering.held[argument] = Held(Memory(writable=True, carries=[carry]), Grade.WHOLE)
        for argument, carry in zip(block.args[len(self.carries) :], self.scanned, strict=True):
            self.lowering.held[argument] = Held(Memory(writable=False, carries=[carry]), Grade.PLACES)

    def close(self, yielded: list[SSAValue]) -> list[SSAValue]:
        """The yielded values, with copies of those that must be the loop's own and are not; the copies are appended."""
        found = list(yielded)
        changed = True
        while changed:
            changed = False
            for i, carry in enumerate(self.carries):
                held = self.lowering.held[found[i]]
                if not carry.written:
                    continue
                if not held.ready or shared(held.memory, [self.lowering.held[v] for v in found]):
                    found[i] = self.lowering.copy(found[i])
                    changed = True
                for other in held.memory.carries if found[i] is yielded[i] else ():
                    changed |= not other.written
                    other.written = True
        return found

    def begin(self) -> list[SSAValue]:
        """The initial values, with copies of those that are written to and that something else has too."""
        lowering = self.lowering
        found = list(self.initial)
        for i, carry in enumerate(self.carries):
            held = lowering.held[found[i]]
            if not carry.written:
                continue
            present = [lowering.held[v] for v in (*found, *self.scanned.values())]
            if held.ready and held.memory.live == 0 and not shared(held.memory, present):
                held.memory.write()
            else:
                found[i] = lowering.copy(found[i])
        return found

    def end(self, initial: Sequence[SSAValue], yielded: Sequence[SSAValue], passed: Sequence[Held]) -> list[Held]:
        """Return the memory of the results: any of the initial values, and of what the body yielded."""
        outside = dict(zip(self.carries, (self.lowering.held[v] for v in initial), strict=True))
        outside |= {carry: self.lowering.held[v] for carry, v in self.scanned.items()}
        inside = [self.lowering.held[v] for v in yielded]
        for i, (carry, held) in enumerate(zip(self.carries, inside, strict=True)):
            self._join(outside[carry].memory, held.memory, outside)
            for k in range(i):
                if inside[k].memory.root() is held.memory.root():
                    outside[carry].memory.join(outside[self.carries[k]].memory)
        grades = {carry: held.grade for carry, held in outside.items()}
        for _ in self.carries:
            for carry, held in zip(self.carries, inside, strict=True):
                grades[carry] = min(grades[carry], held.grade, *(grades.get(c, Grade.WHOLE) for c in held.memory.carries))
        results: list[Held] = []
        for held in passed:
            memory = Memory(writable=True)
            self._join(memory, held.memory, outside)
            results.append(Held(memory, min([held.grade, *(grades.get(c, Grade.WHOLE) for c in held.memory.carries)])))
        for i, held in enumerate(passed):
            for k in range(i):
                if passed[k].memory.root() is held.memory.root():
                    results[i].memory.join(results[k].memory)
        return results

    @staticmethod
    def _join(memory: Memory, inner: Memory, outside: dict[OwnedCarry, Held]) -> None:
        """Let `memory` be what `inner` is, seen from outside."""
        for carry in inner.carries:
            if carry in outside:
                memory.join(outside[carry].memory)
        if not inner.writable:
            memory.freeze()


def _lower_while(lowering: Lowering, op: ptir.WhileOp) -> None:
    """`cond`, and `body` on what it passes, until it says no."""
    loop = _Loop(lowering, lowering.take(op.operands))
    cond, body = Block(arg_types=op.operand_types), Block(arg_types=op.operand_types)
    loop.arguments(cond)
    old_cond, old_body = op.cond_region.block, op.body_region.block
    for old, new in zip(old_cond.args, cond.args, strict=True):
        lowering.bind(old, new)
        new.name_hint = old.name_hint
    tests, (go_on, *passed) = lowering.repeated(old_cond, _ending(old_cond))
    at_end = [lowering.held[v] for v in passed]
    for old, new, held in zip(old_body.args, body.args, at_end, strict=True):
        lowering.bind(old, new, held)
        new.name_hint = old.name_hint
    ops, yielded = lowering.repeated(old_body, _ending(old_body))
    ops, yielded = _closed(lowering, loop, ops, yielded)
    initial = loop.begin()
    _filled([*tests, ConditionOp(go_on, passed)], cond)
    _filled([*ops, YieldOp.create(operands=yielded)], body)
    made = WhileOp(initial, op.result_types, cond, body)
    lowering.emit(made)
    _results(lowering, op.results, made.results, loop.end(initial, yielded, at_end))


def _closed(
    lowering: Lowering, loop: _Loop, ops: list[Operation], yielded: list[SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    outer, lowering.ops = lowering.ops, ops
    count = len(loop.carries)
    closed = [*loop.close(yielded[:count]), *yielded[count:]]
    lowering.ops = outer
    return ops, closed


def _results(lowering: Lowering, olds: Sequence[SSAValue], news: Sequence[SSAValue], held: Sequence[Held]) -> None:
    for old, new, where in zip(olds, news, held, strict=True):
        lowering.bind(old, new, where)
        new.name_hint = old.name_hint
        lowering.expect_result(new)


def _lower_scan(lowering: Lowering, op: ptir.ScanOp) -> None:
    """A loop over slices, its outputs put into arrays made before it begins."""
    inputs = lowering.take(op.operands)
    count = op.values()["carry_count"]
    scanned = inputs[count:]
    loop = _Loop(lowering, inputs[:count], scanned)
    old = op.body_region.block
    body = Block(arg_types=old.arg_types)
    loop.arguments(body)
    for before, after in zip(old.args, body.args, strict=True):
        lowering.bind(before, after)
        after.name_hint = before.name_hint
    ops, yielded = lowering.repeated(old, _ending(old))
    ops, yielded = _closed(lowering, loop, ops, yielded)
    initial = loop.begin()
    elements = [read_type(v.type) for v in yielded[count:]]
    stacks = [_stack(lowering, scanned, v.type, e) for v, e in zip(op.results[count:], elements, strict=True)]
    _filled([*ops, YieldOp.create(operands=yielded)], body)
    made = ForOp(initial, scanned, stacks, body)
    lowering.emit(made)
    _results(lowering, op.results[:count], made.results, loop.end(initial, yielded[:count], _from_carries(loop)))
    for result, stack in zip(op.results[count:], stacks, strict=True):
        lowering.bind(result, stack)
        lowering.expect_result(stack)
        stack.name_hint = result.name_hint


def _from_carries(loop: _Loop) -> list[Held]:
    """The results of a scan are its carried values as the next step would find them."""
    return [Held(Memory(writable=True, carries=[carry]), Grade.WHOLE) for carry in loop.carries]


def _stack(lowering: Lowering, scanned: Sequence[SSAValue], type: Attribute, element: TensorSpec) -> SSAValue:
    """An array for as many elements as the scan has steps; E6003 if their size is unknown."""
    if UNKNOWN in element.shape:
        message = f"a scan that stacks values of unknown shape {list(element.shape)} is not supported on numpy"
        help = 'their array is made before the loop; name the dimension where an input has it, as in tensor<4x?xf32, "*,N">'
        raise error("E6003", f"{message}: {help}", backend="numpy")
    arguments = {"shape": tuple(element.shape), "dtype": element.dtype}
    (made,) = lowering.call(EMPTY, [scanned[0]], [type], arguments)
    lowering.held[made] = fresh()
    return made


CONTROL: Control = {
    ptir.FusionOp: _lower_fusion,
    ptir.CondOp: _lower_cond,
    ptir.WhileOp: _lower_while,
    ptir.ScanOp: _lower_scan,
}
"""What lowers each op with regions."""
