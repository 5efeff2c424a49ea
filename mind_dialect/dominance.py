"""
Definition before use, in time linear in the ops for structured code and without recursion.

xDSL checks no dominance, its `DominanceInfo` is quadratic in the blocks, and its `walk` recurses. A value is visible to a use
if it is defined earlier in the same block, or in a block that strictly dominates, or so for an op that encloses the use; never
across an op that is isolated from above. As in MLIR, code that nothing reaches sees every value of its region.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from .lazy_dataclass import dataclass


def walk(root: Operation) -> Iterator[Operation]:
    """`root` and every op inside it, in text order."""
    stack: list[Iterator[Operation]] = [iter((root,))]
    while stack:
        for op in stack[-1]:
            yield op
            if op.regions:
                stack.append(op for region in op.regions for block in region.blocks for op in block.ops)
                break
        else:
            stack.pop()


def values_of(op: Operation) -> Iterator[SSAValue]:
    """The values that an op defines: its results, and the arguments of the blocks of its regions."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


class Dominators:
    """The dominator tree of a region, after Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"."""

    def __init__(self, region: Region):
        order = _postorder(region)
        self._number = {block: i for i, block in enumerate(order)}
        predecessors: list[list[int]] = [[] for _ in order]
        for i, block in enumerate(order):
            for successor in _successors(block, region):
                predecessors[self._number[successor]].append(i)
        entry = len(order) - 1
        self._parent = [-1] * entry + [entry]
        changed = True
        while changed:
            changed = False
            for i in range(entry - 1, -1, -1):
                found = self._nearest_common(predecessors[i])
                if found != self._parent[i]:
                    self._parent[i], changed = found, True
        self._span = self._spans()

    def _nearest_common(self, blocks: list[int]) -> int:
        parent, found = self._parent, -1
        for i in blocks:
            if parent[i] < 0:
                continue
            a, b = (i, i) if found < 0 else (found, i)
            while a != b:
                if a < b:
                    a = parent[a]
                else:
                    b = parent[b]
            found = a
        return found

    def _spans(self) -> list[tuple[int, int]]:
        """Entry and exit numbers of a depth-first walk of the tree: ancestors enclose descendants."""
        children: list[list[int]] = [[] for _ in self._parent]
        entry = len(self._parent) - 1
        for i in range(entry):
            children[self._parent[i]].append(i)
        first, last, clock = [0] * len(children), [0] * len(children), 0
        stack = [(entry, False)]
        while stack:
            i, done = stack.pop()
            clock += 1
            if done:
                last[i] = clock
                continue
            first[i] = clock
            stack.append((i, True))
            stack.extend((child, False) for child in children[i])
        return list(zip(first, last, strict=True))

    def strictly_dominates(self, a: Block, b: Block) -> bool:
        """Return whether every path from the entry to `b`, another block, passes `a`; true if there is no path to `b`."""
        if (j := self._number.get(b)) is None:
            return True
        if (i := self._number.get(a)) is None:
            return False
        return self._span[i][0] < self._span[j][0] and self._span[j][1] < self._span[i][1]


def _successors(block: Block, region: Region) -> list[Block]:
    last = block.last_op
    return [] if last is None else [s for s in last.successors if s.parent is region]


def _postorder(region: Region) -> list[Block]:
    """The blocks that control reaches, the entry last."""
    entry = region.blocks[0]
    order, seen = list[Block](), {entry}
    stack = [(entry, iter(_successors(entry, region)))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(_successors(successor, region))))
                break
        else:
            order.append(block)
            stack.pop()
    return order


@dataclass
class _Scope:
    """A region being walked: how deep it lies, the depth below which it sees nothing, where the walk stands."""

    region: Region
    depth: int
    floor: int
    block: Block | None = None
    dominators: Dominators | None = None


class _Walk:
    def __init__(self) -> None:
        self.open: dict[Region, _Scope] = {}
        self.defined: set[SSAValue] = set()
        self.scope: _Scope | None = None

    def ops(self, scope: _Scope) -> Iterator[Operation]:
        """The ops of a region; the results of one count as defined once the next is asked for."""
        blocks = scope.region.blocks
        self.open[scope.region] = scope
        if scope.region.first_block is not scope.region.last_block:
            scope.dominators = Dominators(scope.region)
        for block in blocks:
            scope.block = block
            self.defined.update(block.args)
            for op in block.ops:
                self.scope = scope
                yield op
                self.defined.update(op.results)
        del self.open[scope.region]

    def sees(self, scope: _Scope, value: SSAValue) -> bool:
        owner = value.owner
        block = owner.parent if isinstance(owner, Operation) else owner
        if block is None or block.parent is None:
            return False
        if (home := self.open.get(block.parent)) is None or home.depth < scope.floor:
            return False
        if block is home.block:
            return value in self.defined
        return home.dominators is not None and home.block is not None and home.dominators.strictly_dominates(block, home.block)


def undominated(root: Operation) -> Iterator[tuple[Operation, int]]:
    """Every op inside `root` that uses a value before its definition, with the number of the operand, in text order."""
    walk = _Walk()
    stack = [walk.ops(_Scope(region, 0, 0)) for region in reversed(root.regions)]
    while stack:
        for op in stack[-1]:
            scope = walk.scope
            assert scope is not None, "ops come from a region"
            for i, value in enumerate(op.operands):
                if not walk.sees(scope, value):
                    yield op, i
            if op.regions:
                depth = scope.depth + 1
                floor = depth if op.has_trait(IsolatedFromAbove, value_if_unregistered=False) else scope.floor
                stack.extend(walk.ops(_Scope(region, depth, floor)) for region in reversed(op.regions))
                break
        else:
            stack.pop()
