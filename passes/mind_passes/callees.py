"""The functions that the calls of a function lead to: found, checked and counted before any call is replaced."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.names import SYMBOL_ATTRIBUTE

from .derivatives.custom import check_rules, has_rules
from .dim_names import names_used

MAX_OPS = 1 << 20
"""The most ops of a function after inlining; by the pass, of a module."""
MAX_DEPTH = 100
"""The deepest nesting of regions after inlining."""


def calls_in(func: FuncOp) -> list[CallOp]:
    """Return the calls in a function, in text order."""
    return [op for op in walk(func) if isinstance(op, CallOp)]


@dataclass(frozen=True)
class _Extent:
    """The size of a function without calls: so many ops, regions so deep."""

    ops: int
    depth: int


def refused(call: CallOp, issue: str, given: str, expected: str) -> MindError:
    """E4000 for a call that cannot be put in place."""
    message = f"func.call of {call.callee}: {issue}, expected {expected}"
    return error("E4000", message, operation=call, given=given, expected=expected)


def symbol_table_of(op: Operation) -> Operation | None:
    """Return the innermost op around `op` that holds symbols, among which the names in `op` are looked up."""
    outer = op.parent_op()
    while outer is not None and not outer.has_trait(SymbolTable, value_if_unregistered=False):
        outer = outer.parent_op()
    return outer


def symbols_in(outer: Operation) -> dict[str, Operation]:
    """Return the ops with names that an op holds, the first of each name."""
    table: dict[str, Operation] = {}
    for op in (op for region in outer.regions for block in region.blocks for op in block.ops):
        name = op.properties.get(SYMBOL_ATTRIBUTE, op.attributes.get(SYMBOL_ATTRIBUTE))
        if isinstance(name, StringAttr):
            table.setdefault(name.data, op)
    return table


class Callees:
    """The functions that calls lead to, and what they come to."""

    def __init__(self, keep_rules: bool = False) -> None:
        self.extents: dict[FuncOp, _Extent] = {}
        self._keep_rules = keep_rules
        self._tables: dict[Operation, dict[str, Operation]] = {}
        self._calls: dict[CallOp, FuncOp] = {}
        self._names: dict[FuncOp, list[str]] = {}

    def of(self, call: CallOp) -> FuncOp:
        """The function that a checked call leads to."""
        return self._calls[call]

    def stays(self, call: CallOp) -> bool:
        """Return whether a checked call stays a call."""
        return self._keep_rules and has_rules(self._calls[call])

    def replaced_in(self, func: FuncOp) -> list[CallOp]:
        """The checked calls in a function that do not stay."""
        return [call for call in calls_in(func) if not self.stays(call)]

    def names(self, func: FuncOp) -> list[str]:
        """The names of dimensions that a function uses."""
        if func not in self._names:
            self._names[func] = names_used(func)
        return self._names[func]

    def reached(self, root: FuncOp) -> list[FuncOp]:
        """The functions that a checked one calls, and those that they call, each once."""
        found: dict[FuncOp, None] = {}
        stack = [root]
        while stack:
            called = [self._calls[call] for call in self.replaced_in(stack.pop())]
            stack += [f for f in dict.fromkeys(called) if f not in found]
            found.update(dict.fromkeys(called))
        return list(found)

    def check(self, root: FuncOp) -> None:
        """Follow every call from `root`; raises unless all can be replaced."""
        open_: dict[FuncOp, None] = {}
        stack: list[tuple[FuncOp, CallOp | None, bool]] = [(root, None, False)]
        while stack:
            func, call, done = stack.pop()
            if done:
                del open_[func]
                self.extents[func] = self._extent(func)
            elif func in open_ and call is not None:
                raise _recursion(call, [*list(open_)[list(open_).index(func) :], func])
            elif func not in self.extents:
                open_[func] = None
                stack.append((func, call, True))
                for inner in calls_in(func):
                    self._find(inner)
                stack.extend((self._calls[inner], inner, False) for inner in reversed(self.replaced_in(func)))

    def _find(self, call: CallOp) -> None:
        name, table = call.callee.root_reference.data, self._table(call)
        found = table.get(name)
        if not isinstance(found, FuncOp):
            known = brief([f"@{n}" for n, op in table.items() if isinstance(op, FuncOp)])
            what = "is not in the module" if found is None else f"is {found.name}"
            issue = f"{call.callee} {what}, expected one of {known}"
            raise error("E4016", f"func.call: {issue}", operation=call, issue=issue)
        blocks = found.body.blocks
        if not blocks:
            raise refused(call, "it is declared only", "a declaration", "a function with a body")
        if len(blocks) != 1 or not isinstance(blocks[0].last_op, ReturnOp):
            last = blocks[0].last_op
            given = f"{len(blocks)} blocks" if len(blocks) != 1 else f"a block that ends in {last.name if last else 'nothing'}"
            raise refused(call, f"it has {given}", given, "one block that ends in func.return")
        if self._keep_rules:
            check_rules(found, table)
        self._calls[call] = found

    def _table(self, op: Operation) -> dict[str, Operation]:
        """The symbols that `op` sees, by name."""
        outer = symbol_table_of(op)
        if outer is None:
            return {}
        if outer not in self._tables:
            self._tables[outer] = symbols_in(outer)
        return self._tables[outer]

    def _extent(self, func: FuncOp) -> _Extent:
        depths: dict[Operation, int] = {func: 0}
        count = deepest = 0
        called: CallOp | None = None
        for op in walk(func):
            outer = op.parent_op()
            depth = 0 if op is func or outer is None else depths[outer]
            if isinstance(op, CallOp) and not self.stays(op):
                inner, called = self.extents[self._calls[op]], op
                count, depth = count + inner.ops, depth + inner.depth
            elif op is not func:
                count, depth = count + 1, depth + bool(op.regions)
                depths[op] = depth
            deepest = max(deepest, depth)
        if called is not None and (count > MAX_OPS or deepest > MAX_DEPTH):
            message = f"the calls in @{func.sym_name.data} come to {count} ops, regions {deepest} deep"
            limits = f"at most {MAX_OPS} ops and {MAX_DEPTH} regions are supported"
            raise error("E6003", f"{message}; {limits}", operation=called, backend="inlining")
        return _Extent(count, deepest)


def _recursion(call: CallOp, cycle: Sequence[FuncOp]) -> MindError:
    names = [f"@{f.sym_name.data}" for f in cycle]
    way = " -> ".join(names if len(names) < 12 else [*names[:6], "...", *names[-5:]])
    return refused(call, f"it calls itself, {way}", way, "calls that do not lead back; a loop is ptir.while or ptir.scan")
