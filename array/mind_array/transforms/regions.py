"""
Functions as regions of ops of control flow. What they use from outside is captured automatically.

Captures become further arguments of the op: of a loop, carries that its body yields unchanged, by which derivatives and optimiser
know that they do not vary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Region, SSAValue

from mind_dialect.errors import MindError
from mind_dialect.ptir import YieldOp
from mind_dialect.ptir.types import TensorSpec

from .. import tree
from ..array import Array
from ..dtypes import kind_of
from ..faults import fault
from ..operands import cast
from ..places import function_place
from ..staging import result_array
from ..trace import ACTIVE, Trace, TracedArray, arrange, recording


class RegionBody:
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


def region_body(
    function: Callable[..., Any], specs: Sequence[tuple[TensorSpec, bool]], structure: Any, parent: Trace, *, spread: bool
) -> RegionBody:
    """A function on arguments of these types, in a container; with `spread` the container is a tuple of arguments."""
    trace = Trace(function_place(function), parent)
    arguments = [trace.argument(spec, weak=weak) for spec, weak in specs]
    container = tree.unflatten(structure, arguments)
    return RegionBody(function, arguments, trace, tuple(container) if spread else (container,))


def joint_captures(bodies: Sequence[RegionBody], place: int | None = None) -> list[SSAValue]:
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
        move_arguments(body, ordered, first)
    return list(wanted)


def move_arguments(body: RegionBody, ordered: Sequence[Any], first: int) -> None:
    """Put arguments of a block in another order: `ordered` from index `first` on."""
    block = body.trace.block
    own = set(ordered)
    rest = [a for a in block.args if a not in own]
    arrange(block, [*rest[:first], *ordered, *rest[first:]])


def differ(what: str, path: str, left: Array, right: Array, words: tuple[str, str], where: str) -> MindError:
    """Return E1104 for two values of other types; `words` say where each of them is."""
    shown = [f"{x.dtype}[{', '.join(map(str, x.shape))}]" for x in (left, right)]
    message = f"{what}: {path or 'the value'}: {shown[0]} {words[0]}, {shown[1]} {words[1]}"
    return fault("E1104", message, place=where, path=path, expected=shown[0], actual=shown[1])


def may_follow(weak: Array, strong: Array) -> bool:
    """Return whether a weak number may take the dtype of another value."""
    return "biufc".index(kind_of(weak.dtype)) <= "biufc".index(kind_of(strong.dtype)) and kind_of(weak.dtype) != "b"
