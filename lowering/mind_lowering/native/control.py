"""
Branches and loops, planned: regions as steps within steps, and where what goes into them and comes out of them lies.

Operands of a region are read where they are. A result of a branch is made in memory of its own by whichever part runs; `carries`
says where loops keep what goes from iteration to iteration. An op in a region that no native kernel runs puts the whole of it on
NumPy.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.ir import Block, SSAValue

from mind_dialect import ptir
from mind_dialect.ptir import PtirLiteralAttr, PtirOp
from mind_dialect.ptir.control import yielded
from mind_dialect.ptir.types import read_type

from .flow import Branch, Loop, Step, Window
from .loop_carried import Carry, IterationSteps, Settled, is_own, settle
from .memory import Access
from .outlining import NoKernel, random_ops
from .plan import Ahead, NativePlan
from .views import Buffer, Indices, Use, View, now, whole


@dataclass
class Part:
    """The steps of a region, and what they use."""

    steps: list[Step] = field(default_factory=list["Step"])
    access: list[Access] = field(default_factory=list[Access])


@contextmanager
def _within(planner: NativePlan, part: Part) -> Generator[None]:
    """Let what is planned be appended to `part`."""
    outer = planner.steps, planner.access
    planner.steps, planner.access = part.steps, part.access
    planner.depth += 1
    try:
        yield
    finally:
        planner.steps, planner.access = outer
        planner.depth -= 1


def _region(planner: NativePlan, part: Part, block: Block, arguments: Sequence[View]) -> list[View]:
    """Append a region to a part; where what it yields lies."""
    for argument, view in zip(block.args, arguments, strict=True):
        planner.views[argument] = view
    with _within(planner, part):
        for op in block.ops:
            if isinstance(op, PtirOp) and not isinstance(op, ptir.YieldOp):
                planner.step(op)
    return [planner.view(v) for v in yielded(block)]


def control(planner: NativePlan, op: Any) -> str | None:
    """Append a branch or a loop; the reason why not, if an op in it runs on NumPy."""
    if planner.depth:
        CONTROL[type(op)](planner, op)
        return None
    before = len(planner.steps), len(planner.access), len(planner.constants)
    others, mark = (planner.kept, planner.draws, planner.drawn), planner.once.mark()
    try:
        CONTROL[type(op)](planner, op)
    except NoKernel as reason:
        for found, count in zip((planner.steps, planner.access, planner.constants), before, strict=True):
            del found[count:]
        planner.kept, planner.draws, planner.drawn = others
        planner.once.back_to(mark)
        return str(reason)
    return None


def _in_memory(planner: NativePlan, value: SSAValue, view: View) -> View:
    return view if isinstance(view.base, Buffer) else planner.copied(value, view)


def _bases(views: Sequence[View]) -> list[Buffer]:
    return [v.base for v in views if isinstance(v.base, Buffer)]


def _title(op: PtirOp, iterations: str = "") -> str:
    hint = next((r.name_hint for r in op.results if r.name_hint), None)
    return f"{op.OPCODE}{'' if hint is None else f' %{hint}'}{iterations}"


# Branches


def _cond(planner: NativePlan, op: ptir.CondOp) -> None:
    pred = _in_memory(planner, op.pred, planner.view(op.pred))
    arguments = [planner.view(v) for v in op.args]
    parts, since = (Part(), Part()), now()
    blocks = [op.true_region.block, op.false_region.block]
    yields = [_region(planner, part, block, arguments) for part, block in zip(parts, blocks, strict=True)]
    results: list[Buffer] = []
    for i, result in enumerate(op.res):
        if yields[0][i] == yields[1][i]:
            planner.views[result] = yields[0][i]
            continue
        planner.views[result] = made = planner.new(Use.ARENA, result)
        results.append(planner.buffer_of(made))
        for part, block, views in zip(parts, blocks, yields, strict=True):
            if is_own(views[i], since, ()):
                planner.buffer_of(views[i]).into = results[-1]
            else:
                with _within(planner, part):
                    planner.copy(yielded(block)[i], views[i], made)
    inner = [*parts[0].access, *parts[1].access]
    old = _in_place_pairs(results, [IterationSteps([*part.access, Access(results)], since) for part in parts])
    begin = Access(_bases([pred]) + [x for _, x in old], results, old, len(inner))
    planner.append(Branch(_title(op), pred, (parts[0].steps, parts[1].steps)), [begin, *inner])


def _in_place_pairs(results: Sequence[Buffer], iterations: Sequence[IterationSteps]) -> list[tuple[Buffer, Buffer]]:
    """Return pairs of a branch's result and the operand that it may take over: both parts write it over that, place by place."""
    found: list[tuple[Buffer, Buffer]] = []
    for result in results:
        reached = [iteration.reach(result) for iteration in iterations]
        both = [old for old in reached[0] if old in reached[1]]
        found += [(result, old) for old in both[:1]]
        for paths in reached:
            for buffer in next(iter([paths[old] for old in both] or paths.values()), ()):
                buffer.into = result
    return found


# Loops


def _arguments(planner: NativePlan, block: Block, initial: Sequence[View], fixed: Sequence[bool]) -> list[View]:
    """
    Return the view of each carry in an iteration: a buffer of its own, or that from before the loop if no iteration changes it.
    """
    pairs = zip(block.args, initial, fixed, strict=False)
    return [view if same else planner.new(Use.ARENA, argument) for argument, view, same in pairs]


@contextmanager
def _looping(planner: NativePlan, iterations: int | None) -> Generator[None]:
    """Plan a loop: what all iterations find as it is may be worked on before it, unless there is but one."""
    planner.loops.append(Ahead(-1 if iterations == 1 else now()))
    try:
        yield
    finally:
        planner.loops.pop()


def _while(planner: NativePlan, op: ptir.WhileOp) -> None:
    with _looping(planner, None):
        _while_iterations(planner, op)


def _while_iterations(planner: NativePlan, op: ptir.WhileOp) -> None:
    initial = [planner.view(v) for v in op.args]
    test, body = op.cond_region.block, op.body_region.block
    (go_on, *passed), following = yielded(test), yielded(body)
    fixed = [passed[i] is test.args[i] and following[i] is body.args[i] for i in range(len(initial))]
    arguments = _arguments(planner, test, initial, fixed)
    head, rest, since = Part(), Part(), now()
    pred, *views = _region(planner, head, test, arguments)
    with _within(planner, head):
        pred = _in_memory(planner, go_on, pred)
    head.access.append(Access(_bases([pred, *views])))
    yields = _region(planner, rest, body, views)
    made = [(i, following[i]) for i, same in enumerate(fixed) if not same]
    carries = _carries(planner, rest, made, initial, arguments, yields, since, {})
    settled = _settled(planner, carries, IterationSteps([*head.access, *rest.access, _ending(carries)], since), {})
    loop = Loop(_title(op), None, head.steps, rest.steps, pred, settled.carried())
    _append(planner, loop, [*head.access, *rest.access, _ending(carries)], settled, since, [])
    moving = {c.buffer for c in loop.carried}
    for result, view in zip(op.res, views, strict=True):
        base = view.base.root if isinstance(view.base, Buffer) else view.base
        planner.views[result] = view = replace(view, base=base)
        if base in moving and result.uses:
            planner.views[result] = planner.copied(result, view)


def _scan(planner: NativePlan, op: ptir.ScanOp) -> None:
    count = op.num_carries
    views = [planner.view(v) for v in op.args]
    iterations = views[-1].shape[0]
    if iterations == 0:
        return _no_iterations(planner, op, views[:count])
    with _looping(planner, iterations):
        _scan_iterations(planner, op, views, iterations)


def _scan_iterations(planner: NativePlan, op: ptir.ScanOp, views: Sequence[View], iterations: int) -> None:
    count = op.num_carries
    block = op.body_region.block
    following = yielded(block)
    fixed = [following[i] is block.args[i] for i in range(count)]
    arguments = _arguments(planner, block, views[:count], fixed)
    windows: dict[Buffer, Window] = {}
    for value, view in zip(op.args[count:], views[count:], strict=True):
        arguments.append(_slice(planner, value, view, windows))
    stacks = [planner.target(result) for result in op.res[count:]]
    body, since = Part(), now()
    yields = _region(planner, body, block, arguments)
    for i, stack in enumerate(stacks):
        _stacked(planner, body, following[count + i], yields[count + i], _slot_of(planner, stack, windows), since)
    made = [(i, following[i]) for i in range(count) if not fixed[i]]
    carries = _carries(planner, body, made, views, arguments, yields, since, windows)
    access = [*body.access, _ending(carries)]
    settled = _settled(planner, carries, IterationSteps(access, since), windows)
    loop = Loop(
        _title(op, f", {iterations} iterations"), iterations, [], body.steps, None, settled.carried(), list(windows.values())
    )
    _append(planner, loop, access, settled, since, [planner.buffer_of(stack) for stack in stacks])
    for i, result in enumerate(op.res[:count]):
        planner.views[result] = views[i]
    for (i, _), carry in zip(made, carries, strict=True):
        planner.views[op.res[i]] = settled.after(carry, iterations)


def _no_iterations(planner: NativePlan, op: ptir.ScanOp, initial: Sequence[View]) -> None:
    planner.draws += random_ops(op)
    for result, view in zip(op.res, initial, strict=False):
        planner.views[result] = view
    for result in op.res[len(initial) :]:
        literal = PtirLiteralAttr.from_bytes(read_type(result.type).dtype, planner.shape(result), b"")
        planner.views[result] = whole(planner.constant(literal, result), planner.shape(result))


def _slice(planner: NativePlan, value: SSAValue, view: View, windows: dict[Buffer, Window]) -> View:
    """A scanned input as an iteration finds it: a buffer that moves through the input, no longer than what the iteration sees."""
    stride = view.strides[0]
    if isinstance(view.base, Indices) and stride:
        view = planner.copied(value, view)
        stride = view.strides[0]
    inner = replace(view, shape=view.shape[1:], strides=view.strides[1:])
    if not isinstance(view.base, Buffer) or not stride:
        return inner
    ends = [(n - 1) * s for n, s in zip(inner.shape, inner.strides, strict=True)]
    low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    buffer = planner.buffer(Use.MOVING, view.dtype, high - low + 1 if inner.count else 0, value.name_hint or "")
    buffer.behind = (view.base,)
    windows[buffer] = Window(buffer, View(view.base, view.dtype, (), (), view.offset + low if inner.count else 0), stride)
    return replace(inner, base=buffer, offset=-low if inner.count else 0)


def _slot_of(planner: NativePlan, stack: View, windows: dict[Buffer, Window]) -> View:
    """Return the view in which an iteration puts a result that is stacked."""
    base = planner.buffer_of(stack)
    inner = replace(stack, shape=stack.shape[1:], strides=stack.strides[1:])
    buffer = planner.buffer(Use.MOVING, stack.dtype, inner.count, base.name)
    buffer.behind = (base,)
    windows[buffer] = Window(buffer, View(base, stack.dtype, (), ()), inner.count)
    return replace(inner, base=buffer)


def _stacked(planner: NativePlan, body: Part, value: SSAValue, view: View, target: View, since: int) -> None:
    """Have a result put into its place: made there, or copied, at once if it is there when the iteration begins."""
    if is_own(view, since, ()):
        planner.buffer_of(view).into = planner.buffer_of(target)
        return
    part = Part()
    with _within(planner, part):
        planner.copy(value, view, target)
    is_there = not isinstance(view.base, Buffer) or view.base.number < since
    first, second = (part, body) if is_there else (body, part)
    body.steps[:] = [*first.steps, *second.steps]
    body.access[:] = [*first.access, *second.access]


def _carries(
    planner: NativePlan,
    body: Part,
    made: Sequence[tuple[int, SSAValue]],
    initial: Sequence[View],
    arguments: Sequence[View],
    yields: Sequence[View],
    since: int,
    windows: dict[Buffer, Window],
) -> list[Carry]:
    """The loop-carried values, each yielded in a buffer that no other is yielded in; what is not is copied into one."""
    own = {i: planner.buffer_of(arguments[i]) for i, _ in made}
    buffers = set(own.values())
    taken = {own[i] for i, _ in made if yields[i] == arguments[i]}
    found: list[Carry] = []
    for i, value in made:
        view = yields[i]
        base = view.base if isinstance(view.base, Buffer) and view.is_whole else None
        stays = view == arguments[i]
        still = base is not None and (base.root in windows or (base.number < since and base not in buffers))
        if not stays and not still:
            if not is_own(view, since, taken) and (base not in buffers or base in taken):
                with _within(planner, body):
                    view = planner.copied(value, view)
            taken.add(planner.buffer_of(view))
        found.append(Carry(value, own[i], initial[i], view))
    return found


def _ending(carries: Sequence[Carry]) -> Access:
    return Access([carry.following for carry in carries])


def _settled(planner: NativePlan, carries: Sequence[Carry], iteration: IterationSteps, windows: dict[Buffer, Window]) -> Settled:
    """Find places for carried values, and put them there before the loop."""

    def slot(buffer: Buffer) -> Buffer:
        return planner.buffer(Use.ARENA, buffer.dtype, buffer.count, buffer.name)

    settled = settle(carries, iteration, windows, slot)
    for carry in carries:
        if carry.buffer not in settled.fixed:
            place = settled.slots.get(carry.buffer, carry.buffer)
            planner.copy(carry.value, carry.first, whole(place, carry.first.shape))
        elif not (isinstance(carry.first.base, Buffer) and carry.first.is_dense):
            carry.first = planner.copied(carry.value, carry.first)
    return settled


def _append(
    planner: NativePlan, loop: Loop, access: list[Access], settled: Settled, since: int, stacks: Sequence[Buffer]
) -> None:
    """Append a loop: what it uses and did not make is there until it ends."""
    ahead = planner.loops[-1]
    loop.iteration = ahead.iteration
    planner.steps += ahead.steps
    planner.access += ahead.access
    own = [*settled.slots.values(), *stacks, *ahead.made]
    first = _bases([carry.first for carry in settled.fixed.values()])
    outer = IterationSteps(access, since).outer
    planner.append(loop, [Access([], own), *access, Access([*outer, *own, *first])])


CONTROL: dict[type[PtirOp], Any] = {ptir.CondOp: _cond, ptir.WhileOp: _while, ptir.ScanOp: _scan}
