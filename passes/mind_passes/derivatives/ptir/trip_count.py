"""The trip count of a `ptir.while` whose counter starts, steps and ends at constants."""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from mind_dialect.ptir import AddOp, CompareOp, SubOp, WhileOp
from mind_dialect.ptir.types import Kind, PtirDType, read_type

from ...ptir.building import uniform

_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def trip_count(op: WhileOp) -> int | None:
    """The number of iterations of a loop such as `while (i < 10) { ...; i = i + 1 }` from a constant; None if it is not seen."""
    asked = op.cond_region.block
    end = asked.last_op
    if end is None or list(end.operands[1:]) != list(asked.args) or not isinstance(test := end.operands[0].owner, CompareOp):
        return None
    kind: str = test.values()["kind"]
    counter, limit = test.lhs, test.rhs
    if _start(op, counter) is None or _step(op, counter) in (None, 0):
        counter, limit, kind = limit, counter, _MIRRORED.get(kind, kind)
    start, step = _start(op, counter), _step(op, counter)
    stop = _start(op, limit) if isinstance(limit, BlockArgument) and _step(op, limit) == 0 else _constant(limit)
    dtype = read_type(counter.type).dtype
    if start is None or stop is None or not step or dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
        return None
    iterations = _iterations(start, stop, step, kind)
    return iterations if iterations is not None and _fits(start + iterations * step, dtype) else None


def _fits(number: int, dtype: PtirDType) -> bool:
    """Return whether a counter reaches `number` rather than wraps around before it."""
    low = 0 if dtype.kind is Kind.UNSIGNED else -1 << (dtype.bits - 1)
    return low <= number < low + (1 << dtype.bits)


def _iterations(start: int, stop: int, step: int, kind: str) -> int | None:
    """
    Iterations of a counter that does not wrap around until `counter kind stop` fails; None if it never does.

    >>> _iterations(0, 10, 3, "less"), _iterations(0, 9, 3, "less_equal"), _iterations(5, 0, -1, "greater")
    (4, 4, 5)
    >>> _iterations(5, 0, 1, "less"), _iterations(0, 9, 3, "not_equal"), _iterations(0, 10, 3, "not_equal")
    (0, 3, None)
    >>> _iterations(0, 10, -1, "less") is None
    True
    """
    if kind == "not_equal":
        exact = (stop - start) % step == 0 and (stop - start) // step >= 0
        return (stop - start) // step if exact else None
    if kind == "equal":
        return int(start == stop)
    up = kind.startswith("less")
    distance = (stop - start if up else start - stop) + ("equal" in kind)
    if distance <= 0:
        return 0
    size = step if up else -step
    return -(-distance // size) if size > 0 else None


def _start(op: WhileOp, x: SSAValue) -> int | None:
    """The constant with which a carried value starts."""
    return _constant(op.operands[x.index]) if isinstance(x, BlockArgument) else None


def _step(op: WhileOp, x: SSAValue) -> int | None:
    """Return the constant that each iteration adds to a carried value."""
    if not isinstance(x, BlockArgument):
        return None
    body = op.body_region.block
    end = body.last_op
    assert end is not None
    return _added(end.operands[x.index], body, x.index)


def _added(y: SSAValue, body: Block, index: int) -> int | None:
    argument = body.args[index]
    if y is argument:
        return 0
    made = y.owner
    if not isinstance(made, AddOp | SubOp):
        return None
    if made.lhs is argument and (step := _constant(made.rhs)) is not None:
        return step if isinstance(made, AddOp) else -step
    return _constant(made.lhs) if made.rhs is argument and isinstance(made, AddOp) else None


def _constant(x: SSAValue) -> int | None:
    if not isinstance(x.owner, Operation) or read_type(x.type).shape:
        return None
    found = uniform(x)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
