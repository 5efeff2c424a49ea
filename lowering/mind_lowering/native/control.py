"""
Branches and loops as launches.

Operands of a region are read where they are. A result of a branch is written to memory of its own by whichever region runs. A
loop begins with copies of its carries, and yields each in memory of its own; `launch-loop-carried` leaves what is needed of that.
An op in a region that no native kernel runs puts the whole of it on NumPy.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Block, BlockArgument, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import I1, read_type

from ..launch.compute_ops import KernelOp
from ..launch.control_ops import AtOp, ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from ..launch.liveness import unviewed
from ..launch.memory_ops import AllocOp, ViewOp
from ..launch.ref import ref
from .outlining import NoKernel, random_ops
from .plan import ITERATION, TITLE, EnclosingLoop, NativePlan, drop, memory_type
from .views import Buffer, Indices, Use, View, viewed, whole


def _region(planner: NativePlan, into: Block, block: Block, arguments: Sequence[View]) -> list[View]:
    """Append the ops of a region to a block of launches; where what it yields lies."""
    for argument, view in zip(block.args, arguments, strict=True):
        planner.views[argument] = view
    with planner.filling(into):
        for op in block.ops:
            if isinstance(op, PtirOp) and not isinstance(op, ptir.YieldOp):
                planner.step(op)
    return [planner.view(v) for v in yielded(block)]


def control(planner: NativePlan, op: Any) -> str | None:
    """Append a branch or a loop; the reason why not, if an op in it runs on NumPy."""
    if planner.depth:
        CONTROL[type(op)](planner, op)
        return None
    last, constants = planner.block.last_op, len(planner.constants)
    others = planner.packed, planner.draws, planner.drawn, set(planner.calls.packings)
    try:
        CONTROL[type(op)](planner, op)
    except NoKernel as reason:
        drop(planner.block, last)
        del planner.constants[constants:]
        planner.packed, planner.draws, planner.drawn, planner.calls.packings = others
        return str(reason)
    return None


def _in_memory(planner: NativePlan, value: SSAValue, view: View) -> View:
    return view if isinstance(view.base, Buffer) else planner.copied(value, view)


def _title(op: PtirOp, iterations: str = "") -> StringAttr:
    hint = next((r.name_hint for r in op.results if r.name_hint), None)
    return StringAttr(f"{op.OPCODE}{'' if hint is None else f' %{hint}'}{iterations}")


def _is_own(planner: NativePlan, view: View, taken: Sequence[Buffer] = ()) -> bool:
    """Return whether a view is all of a temporary of the region that was planned last, which is nothing else's already."""
    buffer = view.base
    if not isinstance(buffer, Buffer) or not view.is_whole or buffer in taken or buffer.depth <= planner.depth:
        return False
    return isinstance(buffer.address.owner, AllocOp) and buffer.use is Use.ARENA


def _put(planner: NativePlan, block: Block, value: SSAValue, view: View, target: View) -> bool:
    """Put what a region yields into other memory: written there, or copied; whether it is not copied."""
    if not _is_own(planner, view):
        with planner.filling(block):
            planner.copy(value, view, target)
        return False
    buffer, other = planner.buffer_of(view), planner.buffer_of(target)
    old, new = buffer.address, planner.address(other)
    if isinstance(alloc := old.owner, AllocOp) and alloc.parent is not None:
        if old.type != new.type:
            alloc.parent.insert_op_before(seen := ViewOp(new, old.type), alloc)
            new = seen.res
        old.replace_all_uses_with(new)
        alloc.detach()
        alloc.erase()
    buffer.value, buffer.depth = new, other.depth
    return True


# Branches


def _cond(planner: NativePlan, op: ptir.CondOp) -> None:
    predicate = planner.seen(_in_memory(planner, op.pred, planner.view(op.pred)), ref(I1, ()))
    arguments = [planner.view(v) for v in op.args]
    regions, blocks = [op.true_region.block, op.false_region.block], [Block(), Block()]
    yields = [_region(planner, into, block, arguments) for into, block in zip(blocks, regions, strict=True)]
    for i, result in enumerate(op.res):
        if yields[0][i] == yields[1][i]:
            planner.views[result] = yields[0][i]
            continue
        made = planner.target(result)
        planner.address(planner.buffer_of(made))
        for into, block, views in zip(blocks, regions, yields, strict=True):
            _put(planner, into, yielded(block)[i], views[i], made)
    for block in blocks:
        block.add_op(YieldOp())
    planner.block.add_op(branch := IfOp(predicate, [], *blocks))
    branch.attributes[TITLE] = _title(op)


# Loops


@contextmanager
def _looping(planner: NativePlan, iterations: int | None, first: Block) -> Generator[None]:
    """Plan a loop, whose iterations begin with `first`."""
    planner.loops.append(loop := EnclosingLoop(planner.depth + 1, iterations != 1))
    try:
        yield
    finally:
        planner.loops.pop()
    if loop.iteration is not None:
        memory = planner.buffer_of(loop.iteration).address
        kernel = KernelOp("iteration", [], [memory], schedule=StringAttr(ITERATION))
        alloc, begin = memory.owner, first.first_op
        assert isinstance(alloc, AllocOp)
        assert begin is not None
        alloc.detach()
        first.insert_ops_before([alloc, kernel], begin)


def _begun(planner: NativePlan, value: SSAValue, argument: SSAValue, source: View) -> SSAValue:
    """Return memory with a copy of what a carry begins with; the copy says that it is one."""
    return planner.buffer_of(_copied(planner, value, source, argument)).address


def _copied(planner: NativePlan, value: SSAValue, source: View, like: SSAValue | None = None) -> View:
    """Return new memory with a copy of a value; where it is of elements that lie side by side, the body of the copy says so."""
    target = planner.new(Use.ARENA, value if like is None else like)
    if is_dense := isinstance(source.base, Buffer) and source.is_dense and not source.lookups:
        address, buffer = planner.seen(source, memory_type(value)), planner.buffer_of(source)
        if address is not buffer.address:
            part = Buffer(buffer.use, buffer.index, source.dtype, source.count, buffer.name, address, buffer.depth)
            source = whole(part, source.shape)
    op = planner.copy(value, source, target)
    if is_dense:
        block = Block(arg_types=[value.type])
        block.add_op(YieldOp(block.args))
        op.body.add_block(block)
    return target


def _carries(planner: NativePlan, args: Sequence[SSAValue], block: Block) -> list[View]:
    """Return the views of carries in a block of a loop."""
    views: list[View] = []
    for old, new in zip(args, block.args[len(block.args) - len(args) :], strict=True):
        new.name_hint = old.name_hint
        dtype, shape = read_type(old.type).dtype, planner.shape(old)
        count = whole(Buffer(Use.ARENA, 0, dtype, 0), shape).count
        views.append(whole(Buffer(Use.ARENA, 0, dtype, count, old.name_hint or "", new, planner.depth + 1), shape))
    return views


def _following(
    planner: NativePlan, block: Block, values: Sequence[SSAValue], yields: Sequence[View], arguments: Sequence[View]
) -> list[SSAValue]:
    """Return the addresses that an iteration yields, each of memory that no other is yielded in; what has none is copied."""
    own = [planner.buffer_of(v) for v in arguments]
    taken = [own[i] for i, view in enumerate(yields) if view == arguments[i]]
    found: list[SSAValue] = []
    for i, (value, view) in enumerate(zip(values, yields, strict=True)):
        buffer = view.base if isinstance(view.base, Buffer) and view.is_whole else None
        stays = buffer is not None and buffer not in own and (buffer.depth <= planner.depth or _is_slice(buffer))
        if view != arguments[i] and not stays:
            if not _is_own(planner, view, taken) and (buffer not in own or buffer in taken):
                with planner.filling(block):
                    view = _copied(planner, value, view)
            taken.append(planner.buffer_of(view))
        with planner.filling(block):
            found.append(planner.seen(view, memory_type(value)))
    return found


def _is_slice(buffer: Buffer) -> bool:
    return isinstance(unviewed(buffer.address).owner, AtOp)


def _while(planner: NativePlan, op: ptir.WhileOp) -> None:
    initial = [planner.view(v) for v in op.args]
    test, body = op.cond_region.block, op.body_region.block
    (go_on, *passed), following = yielded(test), yielded(body)
    carried = [i for i in range(len(initial)) if passed[i] is not test.args[i] or following[i] is not body.args[i]]
    args = [test.args[i] for i in carried]
    blocks = [Block(arg_types=[memory_type(v) for v in args]) for _ in range(2)]
    heads, rests = (_carries(planner, args, block) for block in blocks)
    given = list(initial)
    for i, view in zip(carried, heads, strict=True):
        given[i] = view
    twins = dict(zip(map(planner.buffer_of, heads), map(planner.buffer_of, rests), strict=True))
    with _looping(planner, None, blocks[0]):
        pred, *views = _region(planner, blocks[0], test, given)
        with planner.filling(blocks[0]):
            views = [_passed(planner, v, view, twins) for v, view in zip(passed, views, strict=True)]
            predicate = planner.seen(_in_memory(planner, go_on, pred), ref(I1, ()))
        yields = _region(planner, blocks[1], body, [_moved(view, twins) for view in views])
        values = [following[i] for i in carried]
        nexts = _following(planner, blocks[1], values, [yields[i] for i in carried], rests)
        blocks[0].add_op(ConditionOp(predicate, blocks[0].args))
        blocks[1].add_op(YieldOp(nexts))
    for view in views:
        buffer = view.base
        alloc = buffer.address.owner if isinstance(buffer, Buffer) else None
        if isinstance(buffer, Buffer) and isinstance(alloc, AllocOp) and alloc.parent is blocks[0]:
            alloc.detach()
            planner.block.add_op(alloc)
            buffer.use, buffer.depth = Use.MOVING, planner.depth  # it may change places with a carry
    inits = [_begun(planner, following[i], test.args[i], initial[i]) for i in carried]
    planner.block.add_op(loop := WhileOp(inits, *blocks))
    loop.attributes[TITLE] = _title(op)
    ends = {b: _elsewhere(b, r, planner.depth) for b, r in zip(map(planner.buffer_of, heads), loop.res, strict=True)}
    for result, view in zip(op.res, views, strict=True):
        planner.views[result] = _moved(view, ends)


def _passed(planner: NativePlan, value: SSAValue, view: View, carries: dict[Buffer, Buffer]) -> View:
    """Return the view that a test passes on: of a carry, of memory from before the loop or of the test's own, else of a copy."""
    buffer = view.base
    if not isinstance(buffer, Buffer) or buffer in carries or buffer.depth < planner.depth:
        return view
    return view if isinstance(buffer.address.owner, AllocOp) else planner.copied(value, view)


def _moved(view: View, others: dict[Buffer, Buffer]) -> View:
    """Return a view of a carry as one of the same carry elsewhere."""
    return replace(view, base=others[view.base]) if isinstance(view.base, Buffer) and view.base in others else view


def _elsewhere(buffer: Buffer, value: SSAValue, depth: int) -> Buffer:
    """Return a buffer like another at another address."""
    return Buffer(buffer.use, buffer.index, buffer.dtype, buffer.count, buffer.name, value, depth)


def _scan(planner: NativePlan, op: ptir.ScanOp) -> None:
    count = op.num_carries
    views = [planner.view(v) for v in op.args]
    iterations = views[-1].shape[0]
    if iterations == 0:
        return _no_iterations(planner, op, views[:count])
    block = op.body_region.block
    following = yielded(block)
    carried = [i for i in range(count) if following[i] is not block.args[i]]
    into = Block(arg_types=[IndexType(), *(memory_type(block.args[i]) for i in carried)])
    arguments = _carries(planner, [block.args[i] for i in carried], into)
    given = views[:count]
    for i, view in zip(carried, arguments, strict=True):
        given[i] = view
    given += [_slice(planner, into, v, view) for v, view in zip(op.args[count:], views[count:], strict=True)]
    stacks = [_stacked(planner, result) for result in op.res[count:]]
    parts = [_part_of(planner, into, stack) for stack in stacks]
    with _looping(planner, iterations, into):
        yields = _region(planner, into, block, given)
        for value, view, part in zip(following[count:], yields[count:], parts, strict=True):
            _stack(planner, into, value, view, part)
        values, found = [following[i] for i in carried], [yields[i] for i in carried]
        into.add_op(YieldOp(_following(planner, into, values, found, arguments)))
    inits = [_begun(planner, following[i], block.args[i], views[i]) for i in carried]
    planner.block.add_op(loop := ForOp(iterations, inits, into))
    loop.attributes[TITLE] = _title(op, f", {iterations} iterations")
    planner.views.update(zip(op.res[:count], views[:count], strict=True))
    for i, view, result in zip(carried, arguments, loop.res, strict=True):
        planner.views[op.res[i]] = replace(view, base=_elsewhere(planner.buffer_of(view), result, planner.depth))


def _no_iterations(planner: NativePlan, op: ptir.ScanOp, initial: Sequence[View]) -> None:
    planner.draws += random_ops(op)
    for result, view in zip(op.res, initial, strict=False):
        planner.views[result] = view
    for result in op.res[len(initial) :]:
        literal = PtirLiteralAttr.from_bytes(read_type(result.type).dtype, planner.shape(result), b"")
        planner.views[result] = whole(planner.constant(literal, result), planner.shape(result))


def _slice(planner: NativePlan, block: Block, value: SSAValue, view: View) -> View:
    """A scanned input as an iteration finds it: a part that moves through the input, no longer than what the iteration sees."""
    stride = view.strides[0]
    if isinstance(view.base, Indices) and stride:
        view = planner.copied(value, view)
        stride = view.strides[0]
    inner = replace(view, shape=view.shape[1:], strides=view.strides[1:])
    if not isinstance(view.base, Buffer) or not stride:
        return inner
    ends = [(n - 1) * s for n, s in zip(inner.shape, inner.strides, strict=True)]
    low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    count = high - low + 1 if inner.count else 0
    rows = View(view.base, view.dtype, (view.shape[0], count), (stride, 1), view.offset + low if count else 0)
    return replace(inner, base=_at(planner, block, rows, value.name_hint or ""), offset=-low if count else 0)


def _stacked(planner: NativePlan, result: SSAValue) -> View:
    """Return memory for a stacked result: where reversals of the iterations alone read it, that of the reversed array."""
    users = [use.operation for use in result.uses]
    flipped = next((u for u in users if isinstance(u, ptir.ReverseOp)), None)
    if flipped is None or not all(isinstance(u, ptir.ReverseOp) and u.values()["axes"] == (0,) for u in users):
        return planner.target(result)
    found = viewed(planner.new(Use.ARENA, flipped.results[0]), flipped)
    assert found is not None, "a stride can be negative"
    planner.views[result] = found
    return found


def _part_of(planner: NativePlan, block: Block, stack: View) -> View:
    """Return the view in which an iteration puts a result that is stacked."""
    inner = replace(stack, shape=stack.shape[1:], strides=stack.strides[1:], offset=0)
    rows = replace(stack, shape=(stack.shape[0], inner.count), strides=(stack.strides[0], 1))
    return replace(inner, base=_at(planner, block, rows, planner.buffer_of(stack).name))


def _at(planner: NativePlan, block: Block, rows: View, name: str) -> Buffer:
    """Append the slice of rows that an iteration works on to its beginning."""
    block.add_op(at := AtOp(planner.seen(rows), block.args[0]))
    at.res.name_hint = name or None
    return Buffer(Use.MOVING, 0, rows.dtype, rows.shape[1], name, at.res, planner.depth + 1)


def _stack(planner: NativePlan, block: Block, value: SSAValue, view: View, target: View) -> None:
    """Put a result into its part of a stack: written there, or copied, at once if it is there when the iteration begins."""
    first = next((op for op in block.ops if not isinstance(op, AtOp)), None)
    written = _put(planner, block, value, view, target)
    if not written and first is not None and _is_there(planner, view) and (copy := block.last_op) is not None:
        copy.detach()
        block.insert_op_before(copy, first)


def _is_there(planner: NativePlan, view: View) -> bool:
    """Return whether what a view is of is there when an iteration begins."""
    buffer = view.base
    if not isinstance(buffer, Buffer) or buffer.depth <= planner.depth:
        return True
    return (buffer.use is Use.MOVING and _is_slice(buffer)) or isinstance(buffer.address, BlockArgument)


CONTROL: dict[type[PtirOp], Any] = {ptir.CondOp: _cond, ptir.WhileOp: _while, ptir.ScanOp: _scan}
