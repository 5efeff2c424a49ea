"""
Control flow: `cond`, `while_loop`, `scan`, `fori_loop`. What the functions use from outside is captured automatically.

Each function becomes a region of the op. Captures become further arguments of the op: of a loop, carries that its body yields
unchanged, by which derivatives and optimiser know that they do not vary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Region, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.ptir import CondOp, ScanOp, WhileOp, YieldOp
from mind_dialect.ptir.types import TensorSpec

from .. import tree
from ..array import Array
from ..checks import check_function, whole
from ..dtypes import bool_, int64, kind_of
from ..faults import fault, translated
from ..operands import array_of, cast, static_size
from ..places import function_place
from ..staging import concretely, result_array
from ..trace import ACTIVE, Trace, TracedArray, arrange, recording


class _Body:
    """A region under construction: a trace, and the results of a function in it."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[TracedArray], trace: Trace, given: tuple[Any, ...]):
        self.function, self.trace, self.arguments = function, trace, arguments
        with recording(trace):
            self._run(given)
        trace.open = True  # values are lifted and cast until the region is closed

    def _run(self, given: tuple[Any, ...]) -> None:
        result = self.function(*given)
        leaves, self.structure = tree.flatten(result)
        self.paths = tree.paths(result)
        self.outputs = [result_array(x, self.function, f"result{p}") for x, p in zip(leaves, self.paths, strict=True)]
        self.values = [self.trace.lift(x) for x in self.outputs]

    def cast(self, i: int, dtype: Any) -> None:
        """Let output `i` have another dtype."""
        token = ACTIVE.set(self.trace)
        try:
            self.outputs[i] = cast(self.outputs[i], dtype)
            self.values[i] = self.trace.lift(self.outputs[i])
        finally:
            ACTIVE.reset(token)

    def close(self, values: Sequence[SSAValue]) -> Region:
        """The region, which yields these values."""
        self.trace.open = False
        self.trace.block.add_op(YieldOp.create(operands=values))
        return Region(self.trace.block)

    @property
    def place(self) -> str:
        """Return the place of the function."""
        return function_place(self.function)


def _body(
    function: Callable[..., Any], specs: Sequence[tuple[TensorSpec, bool]], structure: Any, parent: Trace, *, spread: bool
) -> _Body:
    """A function on arguments of these types, in a container; with `spread` the container is a tuple of arguments."""
    trace = Trace(function_place(function), parent)
    arguments = [trace.argument(spec, weak=weak) for spec, weak in specs]
    container = tree.unflatten(structure, arguments)
    return _Body(function, arguments, trace, tuple(container) if spread else (container,))


def _joint_captures(bodies: Sequence[_Body], place: int | None = None) -> list[SSAValue]:
    """
    Let all regions have the same captures in the same order, and return what is captured.

    `place` is the index of the arguments before which they stand; else they are last.
    """
    wanted: dict[SSAValue, None] = {}
    for body in bodies:
        wanted.update(dict.fromkeys(body.trace.captured))
    for body in bodies:
        trace, block = body.trace, body.trace.block
        own = len(body.arguments)
        ordered: list[Any] = []
        for value in wanted:
            found = trace.captured.get(value)
            if found is None:
                found = trace.captured[value] = block.insert_arg(value.type, len(block.args))
                found.name_hint = value.name_hint
            ordered.append(found)
        first = own if place is None else place
        _move_arguments(body, ordered, first)
    return list(wanted)


def _move_arguments(body: _Body, ordered: Sequence[Any], first: int) -> None:
    """Put arguments of a block in another order: `ordered` from index `first` on."""
    block = body.trace.block
    own = set(ordered)
    rest = [a for a in block.args if a not in own]
    arrange(block, [*rest[:first], *ordered, *rest[first:]])


def _differ(what: str, path: str, left: Array, right: Array, words: tuple[str, str], where: str) -> MindError:
    shown = [f"{x.dtype}[{', '.join(map(str, x.shape))}]" for x in (left, right)]
    message = f"{what}: {path or 'the value'}: {shown[0]} {words[0]}, {shown[1]} {words[1]}"
    return fault("E1104", message, place=where, path=path, expected=shown[0], actual=shown[1])


# cond


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], /, *operands: Any) -> Any:
    """
    Return `true_fun(*operands)` if the array of rank 0 `pred` holds, else `false_fun(*operands)`.

    Both must return the same container of the same dtypes and shapes; E1104 names the first place where they differ. A Python
    bool decides at once.
    """
    if isinstance(pred, bool):
        return true_fun(*operands) if pred else false_fun(*operands)
    check_function(true_fun, "cond")
    check_function(false_fun, "cond")
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
    bodies = [_body(f, specs, structure, trace, spread=True) for f in (true_fun, false_fun)]
    _agree(*bodies)
    captured = _joint_captures(bodies)
    values = [trace.lift(condition), *(trace.lift(x) for x in arrays), *captured]
    regions = [b.close(b.values) for b in bodies]
    try:
        op = CondOp(*values, true=regions[0], false=regions[1])
    except MindError as e:
        raise translated(e) from None
    results = trace.results(op, [op.result_spec(i) for i in range(len(op.results))])
    return tree.unflatten(bodies[0].structure, results)


def _agree(left: _Body, right: _Body) -> None:
    """E1104 unless two branches return the same; weak numbers take the dtype of the other branch."""
    if left.structure != right.structure:
        expected, actual = tree.shown(left.structure), tree.shown(right.structure)
        message = f"cond: the branches return {expected} ({left.place}) and {actual} ({right.place}), expected one container"
        raise fault("E1104", message, path="result", expected=expected, actual=actual)
    for i, path in enumerate(left.paths):
        a, b = left.outputs[i], right.outputs[i]
        if a.dtype != b.dtype and a.weak != b.weak and _may_follow(a if a.weak else b, b if a.weak else a):
            (left if a.weak else right).cast(i, (b if a.weak else a).dtype)
            a, b = left.outputs[i], right.outputs[i]
        if a.spec != b.spec:
            words = ("if true", "if false")
            raise _differ("cond", f"result{path}", a, b, words, f"{left.place}, {right.place}")


def _may_follow(weak: Array, strong: Array) -> bool:
    """Return whether a weak number may take the dtype of another value."""
    return "biufc".index(kind_of(weak.dtype)) <= "biufc".index(kind_of(strong.dtype)) and kind_of(weak.dtype) != "b"


# while_loop


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
    bound = None if max_iterations is None else whole(max_iterations, "while_loop", "max_iterations", 0)
    trace = ACTIVE.get()
    if trace is None:
        return concretely(lambda: while_loop(cond_fun, body_fun, init, max_iterations=max_iterations))
    arrays, structure, paths = _carry(init, "while_loop")

    def bodies() -> list[_Body]:
        specs = [(x.spec, x.weak) for x in arrays]
        return [_body(f, specs, structure, trace, spread=False) for f in (cond_fun, body_fun)]

    made = bodies()
    if _settle(arrays, made[1], len(arrays), "while_loop", structure, paths):
        made = bodies()
        _settle(arrays, made[1], len(arrays), "while_loop", structure, paths)
    test, body = made
    if len(test.outputs) != 1 or test.outputs[0].dtype != bool_ or test.outputs[0].shape:
        actual = ", ".join(f"{x.dtype}{list(x.shape)}" for x in test.outputs)
        message = f"while_loop: the condition ({test.place}) returns {actual}, expected bool of rank 0"
        raise fault("E2001", message, expected="bool[]", actual=actual)
    captured = _joint_captures(made)
    values = [*(trace.lift(x) for x in arrays), *captured]
    own = list(test.trace.block.args)
    constant_of = list(body.trace.block.args[len(arrays) :])
    regions = [test.close([*test.values, *own]), body.close([*body.values, *constant_of])]
    try:
        op = WhileOp(*values, cond=regions[0], body=regions[1])
    except MindError as e:
        raise translated(e) from None
    if bound is not None:
        from xdsl.dialects.builtin import IntegerAttr, i64

        from mind_passes.loop_options import MAX_ITERATIONS

        op.attributes[MAX_ITERATIONS] = IntegerAttr(bound, i64)
    results = trace.results(op, [op.result_spec(i) for i in range(len(op.results))])
    return tree.unflatten(structure, results[: len(arrays)])


def _carry(init: Any, what: str) -> tuple[list[Array], Any, list[str]]:
    leaves, structure = tree.flatten(init)
    paths = tree.paths(init, root="carry")
    return [result_array(x, what, p) for x, p in zip(leaves, paths, strict=True)], structure, paths


def _settle(arrays: list[Array], body: _Body, count: int, what: str, structure: Any, paths: Sequence[str]) -> bool:
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
            if y.weak and _may_follow(y, x):
                body.cast(i, x.dtype)
                continue
            if x.weak and _may_follow(x, y) and x.shape == y.shape:
                arrays[i] = cast(x, y.dtype)
                arrays[i].weak = False  # pyright: ignore
                changed = True
                continue
        if x.spec != y.spec:
            raise _differ(what, paths[i], x, y, ("enters", "leaves"), body.place)
    return changed


def _carried_structure(body: _Body, count: int) -> Any:
    """The structure of the carry that a body returns: of a scan the first of the pair."""
    if isinstance(body, _ScanBody):
        return body.carry_structure
    return body.structure


# scan


class _ScanBody(_Body):
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
    if checkpoint is not None:
        from mind_passes.loop_options import check_checkpoint

        try:
            check_checkpoint(str(checkpoint))
        except MindError as e:
            raise translated(e) from None
    trace = ACTIVE.get()
    if trace is None:
        return concretely(lambda: scan(f, init, xs, length, reverse=reverse, checkpoint=checkpoint))
    from ..rows.creation import iota
    from ..rows.manipulation import flip

    arrays, structure, paths = _carry(init, "scan")
    leaves, form = tree.flatten(xs)
    scanned = [result_array(x, "scan", p) for x, p in zip(leaves, tree.paths(xs, root="xs"), strict=True)]
    count = _length(scanned, length)
    plain = not scanned
    if plain:
        scanned = [iota((static_size(count, "scan"),), 0, int64)]
    if reverse:
        scanned = [flip(x, axis=0) for x in scanned]

    def build() -> _ScanBody:
        region = Trace(function_place(f), trace)
        carried = [region.argument(x.spec, weak=x.weak) for x in arrays]
        slices = [region.argument(TensorSpec(x.spec.dtype, x.spec.shape[1:])) for x in scanned]
        x = None if plain else tree.unflatten(form, slices)
        return _ScanBody(f, [*carried, *slices], region, (tree.unflatten(structure, carried), x))

    body = build()
    if _settle(arrays, body, len(arrays), "scan", structure, paths):
        body = build()
        _settle(arrays, body, len(arrays), "scan", structure, paths)
    captured = _joint_captures([body], len(arrays))
    own, values = len(arrays), [trace.lift(x) for x in arrays]
    kept = list(body.trace.block.args[own : own + len(captured)])
    region = body.close([*body.values[:own], *kept, *body.values[own:]])
    outputs = len(body.values) - own
    operands = [*values, *captured, *(trace.lift(x) for x in scanned)]
    try:
        op = ScanOp(*operands, carry_count=own + len(captured), scan_output_count=outputs, body=region)
    except MindError as e:
        raise translated(e) from None
    if checkpoint is not None:
        from xdsl.dialects.builtin import StringAttr

        from mind_passes.loop_options import CHECKPOINT

        op.attributes[CHECKPOINT] = StringAttr(checkpoint)
    results = trace.results(op, [op.result_spec(i) for i in range(len(op.results))])
    stacked: list[Any] = results[own + len(captured) :]
    if reverse:
        stacked = [flip(y, axis=0) for y in stacked]
    return tree.unflatten(structure, results[:own]), tree.unflatten(body.stacked_structure, stacked)


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
        count = max(0, upper - lower)
        from ..rows.creation import arange

        def step(carry: Any, i: TracedArray) -> tuple[Any, None]:
            i.weak = True  # as the Python numbers of a range
            return body_fun(i, carry), None

        return scan(step, init, arange(lower, lower + count))[0]
    low, high = array_of(lower, "fori_loop", "lower"), array_of(upper, "fori_loop", "upper")
    for name, x in (("lower", low), ("upper", high)):
        if kind_of(x.dtype) not in "iu" or x.shape:
            actual = f"{x.dtype}{list(x.shape)}"
            raise fault("E2001", f"fori_loop: {name} is {actual}, expected an integer", expected="an integer", actual=actual)
    first, last = cast(low, int64), cast(high, int64)
    _, found = while_loop(lambda c: c[0] < last, lambda c: (c[0] + 1, body_fun(c[0], c[1])), (first, init))
    return found
