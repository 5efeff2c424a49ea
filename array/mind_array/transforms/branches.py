"""Branches: `cond`, and `switch`, which is `cond` of `cond`: as many decisions as the bits of the number of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mind_dialect.errors import MindError
from mind_dialect.ptir import CondOp

from .. import tree
from ..array import Array
from ..checks import check_function
from ..dtypes import bool_, int64, kind_of, uint64
from ..faults import fault, translated
from ..kinds import is_sequence
from ..operands import array_of, cast
from ..rows import elementwise as e
from ..staging import concretely, result_array
from ..trace import ACTIVE
from .regions import RegionBody, differ, joint_captures, may_follow, region_body


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], /, *operands: Any) -> Any:
    """
    Return `true_fun(*operands)` if the array of rank 0 `pred` holds, else `false_fun(*operands)`.

    Both must return the same container of the same dtypes and shapes; E1104 names the first place where they differ. A Python
    bool decides at once.
    """
    check_function(true_fun, "cond")
    check_function(false_fun, "cond")
    if isinstance(pred, bool):
        return true_fun(*operands) if pred else false_fun(*operands)
    trace = ACTIVE.get()
    if trace is None:
        return concretely(lambda: cond(array_of(pred, "cond"), true_fun, false_fun, *operands))
    condition = array_of(pred, "cond", "pred")
    if condition.dtype != bool_ or condition.shape:
        actual = f"{condition.dtype}{list(condition.shape)}"
        raise fault(
            "E2001",
            f"cond: pred is {actual}, expected bool of rank 0; compare it, or use ma.any",
            expected="bool[]",
            actual=actual,
        )
    leaves, structure = tree.flatten(operands)
    arrays = [result_array(x, cond, "operand") for x in leaves]
    specs = [(x.spec, x.weak) for x in arrays]
    bodies = [region_body(f, specs, structure, trace, spread=True) for f in (true_fun, false_fun)]
    _agree(*bodies)
    captured = joint_captures(bodies)
    values = [trace.lift(condition), *(trace.lift(x) for x in arrays), *captured]
    regions = [b.close(b.values) for b in bodies]
    try:
        op = CondOp(*values, true=regions[0], false=regions[1])
    except MindError as e:
        raise translated(e) from None
    results = trace.results(op, [op.result_spec(i) for i in range(len(op.results))])
    return tree.unflatten(bodies[0].structure, results)


def _agree(left: RegionBody, right: RegionBody) -> None:
    """E1104 unless two branches return the same; weak numbers take the dtype of the other branch."""
    if left.structure != right.structure:
        expected, actual = tree.shown(left.structure), tree.shown(right.structure)
        message = f"cond: the branches return {expected} ({left.place}) and {actual} ({right.place}), expected one container"
        raise fault("E1104", message, path="result", expected=expected, actual=actual)
    for i, path in enumerate(left.paths):
        a, b = left.outputs[i], right.outputs[i]
        if a.dtype != b.dtype and a.weak != b.weak and may_follow(a if a.weak else b, b if a.weak else a):
            (left if a.weak else right).cast(i, (b if a.weak else a).dtype)
            a, b = left.outputs[i], right.outputs[i]
        if a.spec != b.spec:
            words = ("if true", "if false")
            raise differ("cond", f"result{path}", a, b, words, f"{left.place}, {right.place}")


def switch(index: Any, branches: Sequence[Callable[..., Any]], /, *operands: Any) -> Any:
    """
    Return `branches[index](*operands)`; an index beyond the ends is that of the first or last function.

    `index` is an integer array of rank 0 (E2001 else); a Python integer decides at once. All functions must return the same
    container of the same dtypes and shapes; E1104 names the first place where they differ. Without functions it is E1110.
    """
    if not is_sequence(branches):
        actual = type(branches).__name__
        message = f"switch: branches are of type {actual}, expected a list of functions"
        raise fault("E1105", message, path="branches", actual=actual)
    functions = [*branches]
    if not functions:
        raise fault("E1110", "switch: no branches, expected at least one function", argument="branches", value="[]")
    for function in functions:
        check_function(function, "switch")
    if type(index) is int:
        return functions[max(0, min(index, len(functions) - 1))](*operands)
    place = array_of(index, "switch", "index")
    if kind_of(place.dtype) not in "iu" or place.shape:
        actual = f"{place.dtype}{list(place.shape)}"
        raise fault("E2001", f"switch: index is {actual}, expected an integer of rank 0", expected="int64[]", actual=actual)
    if place.dtype == uint64:  # in which a number beyond the last one does not fit int64
        place = e.minimum(place, len(functions) - 1)
    return _between(cast(place, int64), functions, 0)(*operands)


def _between(index: Array, functions: Sequence[Callable[..., Any]], first: int) -> Callable[..., Any]:
    """The function that calls one of `functions`, whose indices begin at `first`."""
    if len(functions) == 1:
        return functions[0]
    half = len(functions) // 2
    low, high = (_between(index, part, first + start) for part, start in ((functions[:half], 0), (functions[half:], half)))

    def chosen(*operands: Any) -> Any:
        return cond(e.less(index, first + half), low, high, *operands)

    return chosen
