"""Loops: `while_loop`, `scan`, `fori_loop`. Their functions become regions of one op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute

from mind_dialect.errors import MindError
from mind_dialect.ptir import ScanOp, WhileOp
from mind_dialect.ptir.types import TensorSpec
from mind_passes.loop_options import CHECKPOINT, MAX_ITERATIONS, check_checkpoint

from .. import tree
from ..array import Array
from ..checks import check_function, flag, whole
from ..dtypes import bool_, check_fits, int64, kind_of
from ..faults import fault, translated
from ..operands import array_of, cast, static_size
from ..places import function_place
from ..rows.creation import iota
from ..rows.manipulation import flip
from ..rows.sequences import arange
from ..staging import concretely, result_array
from ..trace import ACTIVE, Trace, TracedArray
from .regions import RegionBody, differ, joint_captures, may_follow, region_body


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any, /, *, max_iterations: int | None = None
) -> Any:
    """
    Return the carry after `body_fun` as long as `cond_fun` of the carry, an array of bool of rank 0, holds.

    The body returns a carry of the same container, dtypes and shapes. `max_iterations` bounds the loop for reverse mode, which
    else needs a counter that the compiler can read.
    """
    check_function(cond_fun, "while_loop")
    check_function(body_fun, "while_loop")
    attributes: dict[str, Attribute] = {}
    if max_iterations is not None:
        bound = whole(max_iterations, "while_loop", "max_iterations", 0)
        check_fits(bound, int64)
        attributes[MAX_ITERATIONS] = IntegerAttr(bound, i64)
    trace = ACTIVE.get()
    if trace is None:
        return concretely(lambda: while_loop(cond_fun, body_fun, init, max_iterations=max_iterations))
    arrays, structure, paths = _carry(init, "while_loop")

    def bodies() -> list[RegionBody]:
        specs = [(x.spec, x.weak) for x in arrays]
        return [region_body(f, specs, structure, trace, spread=False) for f in (cond_fun, body_fun)]

    made = bodies()
    if _settle(arrays, made[1], len(arrays), "while_loop", structure, paths):
        made = bodies()
        _settle(arrays, made[1], len(arrays), "while_loop", structure, paths)
    test, body = made
    if len(test.outputs) != 1 or test.outputs[0].dtype != bool_ or test.outputs[0].shape:
        actual = ", ".join(f"{x.dtype}{list(x.shape)}" for x in test.outputs)
        message = f"while_loop: the condition ({test.place}) returns {actual}, expected bool of rank 0"
        raise fault("E2001", message, expected="bool[]", actual=actual)
    captured = joint_captures(made)
    values = [*(trace.lift(x) for x in arrays), *captured]
    own = list(test.trace.block.args)
    constant_of = list(body.trace.block.args[len(arrays) :])
    regions = [test.close([*test.values, *own]), body.close([*body.values, *constant_of])]
    results = _emitted(trace, lambda: WhileOp(*values, cond=regions[0], body=regions[1]), attributes)
    return tree.unflatten(structure, results[: len(arrays)])


def _emitted(trace: Trace, op: Callable[[], WhileOp | ScanOp], attributes: Mapping[str, Attribute]) -> list[Any]:
    """Return the results of a loop; a refusal names the user's line."""
    try:
        loop = op()
    except MindError as e:
        raise translated(e) from None
    loop.attributes.update(attributes)
    return trace.results(loop, [loop.result_spec(i) for i in range(len(loop.results))])


def _carry(init: Any, what: str) -> tuple[list[Array], Any, list[str]]:
    leaves, structure = tree.flatten(init)
    paths = tree.paths(init, root="carry")
    return [result_array(x, what, p) for x, p in zip(leaves, paths, strict=True)], structure, paths


def _settle(arrays: list[Array], body: RegionBody, count: int, what: str, structure: Any, paths: Sequence[str]) -> bool:
    """
    Check what a body returns as its carry; return whether an initial value took another dtype, so that the body is traced again.

    A weak number of the initial carry takes the dtype that the body returns, a weak result that of the carry.
    """
    given = _carried_structure(body, count)
    if (given is not None and given != structure) or len(body.outputs) < count:
        expected, actual = tree.shown(structure), tree.shown(body.structure if given is None else given)
        message = f"{what}: the carry is {expected}, the body ({body.place}) returns {actual}"
        raise fault("E1104", message, path="carry", expected=expected, actual=actual)
    changed = False
    for i, x in enumerate(arrays):
        y = body.outputs[i]
        if x.dtype != y.dtype:
            if y.weak and may_follow(y, x):
                body.cast(i, x.dtype)
                continue
            if x.weak and may_follow(x, y) and x.shape == y.shape:
                arrays[i] = cast(x, y.dtype)
                arrays[i].weak = False  # pyright: ignore
                changed = True
                continue
        if x.spec != y.spec:
            raise differ(what, paths[i], x, y, ("enters", "leaves"), body.place)
    return changed


def _carried_structure(body: RegionBody, count: int) -> Any:
    """The structure of the carry that a body returns: of a scan the first of the pair."""
    if isinstance(body, _ScanBody):
        return body.carry_structure
    return body.structure


# scan


class _ScanBody(RegionBody):
    """The body of a scan: it returns a pair, the carry and what is stacked."""

    carry_structure: Any
    stacked_structure: Any

    def _run(self, given: tuple[Any, ...]) -> None:
        result = self.function(*given)
        if not isinstance(result, tuple) or len(result) != 2:  # pyright: ignore[reportUnknownArgumentType]
            actual = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__  # pyright: ignore
            message = f"scan: the body ({self.place}) returns {actual}, expected a pair (carry, output); None for no output"
            raise fault("E1104", message, path="result", expected="(carry, output)", actual=actual)
        parts: list[Any] = [*result]  # pyright: ignore
        carried, self.carry_structure = tree.flatten(parts[0])
        stacked, self.stacked_structure = tree.flatten(parts[1])
        self.structure = tree.structure(result)
        self.paths = [*tree.paths(parts[0], root="carry"), *tree.paths(parts[1], root="output")]
        self.outputs = [result_array(x, self.function, p) for x, p in zip([*carried, *stacked], self.paths, strict=True)]
        self.values = [self.trace.lift(x) for x in self.outputs]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoint: str | None = None,
) -> tuple[Any, Any]:
    """
    Return the last carry and the stacked outputs of `carry, y = f(carry, x)` for each x along axis 0 of the arrays of `xs`.

    Without `xs` the function gets None, `length` times. `reverse` goes from the last to the first. `checkpoint`, `every-N` or
    `sqrt`, lets reverse mode keep the carry only every so many steps and compute between them again.
    """
    check_function(f, "scan")
    if length is not None and not isinstance(length, str):
        length = whole(length, "scan", "length", 0)
    return _scan("scan", f, init, xs, length, reverse=flag(reverse, "scan", "reverse"), checkpoint=checkpoint)


def _scan(
    what: str,
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: Any = None,
    *,
    reverse: bool = False,
    checkpoint: Any = None,
) -> tuple[Any, Any]:
    """Record a scan, which errors call as the user's function is called."""
    attributes = _checkpoints(checkpoint)
    trace = ACTIVE.get()
    if trace is None:
        return concretely(lambda: _scan(what, f, init, xs, length, reverse=reverse, checkpoint=checkpoint))
    arrays, structure, paths = _carry(init, what)
    scanned, form = _scanned_inputs(xs, length, reverse)

    def build() -> _ScanBody:
        region = Trace(function_place(f), trace)
        carried = [region.argument(x.spec, weak=x.weak) for x in arrays]
        slices = [region.argument(TensorSpec(x.spec.dtype, x.spec.shape[1:])) for x in scanned]
        x = None if form is None else tree.unflatten(form, slices)
        return _ScanBody(f, [*carried, *slices], region, (tree.unflatten(structure, carried), x))

    body = build()
    if _settle(arrays, body, len(arrays), what, structure, paths):
        body = build()
        _settle(arrays, body, len(arrays), what, structure, paths)
    carry, stacked = _scanned(trace, body, arrays, scanned, attributes)
    if reverse:
        stacked = [flip(y, axis=0) for y in stacked]
    return tree.unflatten(structure, carry), tree.unflatten(body.stacked_structure, stacked)


def _scanned_inputs(xs: Any, length: Any, reverse: bool) -> tuple[list[Array], Any]:
    """Return the arrays that `scan` takes slices of and their structure; without arrays a counter and None."""
    leaves, form = tree.flatten(xs)
    scanned = [result_array(x, "scan", p) for x, p in zip(leaves, tree.paths(xs, root="xs"), strict=True)]
    count = _length(scanned, length)
    if not scanned:
        scanned, form = [iota((static_size(count, "scan"),), 0, int64)], None
    return [flip(x, axis=0) for x in scanned] if reverse else scanned, form


def _checkpoints(checkpoint: str | None) -> dict[str, Attribute]:
    """Return what the op says of checkpoints; E7001 for what is none of their forms."""
    if checkpoint is None:
        return {}
    try:
        check_checkpoint(str(checkpoint))
    except MindError as e:
        raise translated(e) from None
    return {CHECKPOINT: StringAttr(checkpoint)}


def _scanned(
    trace: Trace, body: _ScanBody, arrays: Sequence[Array], scanned: Sequence[Array], attributes: Mapping[str, Attribute]
) -> tuple[list[Any], list[Any]]:
    """Emit a scan; return its last carries without captures, and what it stacks."""
    own = len(arrays)
    captured = joint_captures([body], own)
    values = [trace.lift(x) for x in arrays]
    every = own + len(captured)
    kept = list(body.trace.block.args[own:every])
    region = body.close([*body.values[:own], *kept, *body.values[own:]])
    operands = [*values, *captured, *(trace.lift(x) for x in scanned)]
    outputs = len(body.values) - own
    results = _emitted(trace, lambda: ScanOp(*operands, carry_count=every, scan_output_count=outputs, body=region), attributes)
    return results[:own], results[every:]


def _length(scanned: Sequence[Array], length: int | None) -> Any:
    extents = [x.shape[0] for x in scanned if x.ndim] + ([] if length is None else [length])
    if len(extents) < len(scanned) or not extents:
        message = "scan: xs holds an array of rank 0, expected an axis to scan" if scanned else "scan: pass xs or length="
        raise fault("E1110", message, argument="xs", value=len(scanned))
    if any(n != extents[0] for n in extents):
        raise fault("E3003", f"scan: lengths {extents} along axis 0, expected one", dimension="axis 0", extents=tuple(extents))
    return extents[0]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init: Any) -> Any:
    """
    Return the carry after `carry = body_fun(i, carry)` for i from `lower` up to, not including, `upper`.

    With Python numbers as bounds it is a scan, which reverse mode differentiates; else a `while_loop`.
    """
    check_function(body_fun, "fori_loop")
    if not isinstance(lower, Array) and not isinstance(upper, Array):
        lower, upper = whole(lower, "fori_loop", "lower"), whole(upper, "fori_loop", "upper")
        check_fits(lower, int64)
        check_fits(upper, int64)
        count = max(0, upper - lower)

        @wraps(body_fun)
        def step(carry: Any, i: TracedArray) -> tuple[Any, None]:
            i.weak = True  # as the Python numbers of a range
            return body_fun(i, carry), None

        return _scan("fori_loop", step, init, arange(lower, lower + count))[0]
    low, high = array_of(lower, "fori_loop", "lower"), array_of(upper, "fori_loop", "upper")
    for name, x in (("lower", low), ("upper", high)):
        if kind_of(x.dtype) not in "iu" or x.shape:
            actual = f"{x.dtype}{list(x.shape)}"
            raise fault("E2001", f"fori_loop: {name} is {actual}, expected an integer", expected="an integer", actual=actual)
    first, last = cast(low, int64), cast(high, int64)
    _, found = while_loop(lambda c: c[0] < last, lambda c: (c[0] + 1, body_fun(c[0], c[1])), (first, init))
    return found
