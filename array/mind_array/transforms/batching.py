"""`vmap`: a function of one example as a function of a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import TensorSpec
from mind_passes.vectorize import VectorizeOptions, vectorize

from .. import tree
from ..array import Array
from ..checks import check_function, whole
from ..faults import fault
from ..kinds import is_sequence
from ..operands import array_of, axis_of
from ..staging import Function, apply, at_op, leaf_names, named, outputs_of, stage, symbol


def vmap(
    function: Function, in_axes: Any = 0, out_axes: Any = 0, *, size: int | None = None, randomness: str = "different"
) -> Callable[..., Any]:
    """
    Return a function that maps `function` over an axis of its arguments and stacks the results.

    `in_axes` is an axis for all arguments, or a container that begins as the arguments do, with None for what all examples share;
    `out_axes` likewise for the result. `size` is needed only where no argument is mapped. E3003 for axes of different extents.
    """
    check_function(function, "vmap")
    what = f"vmap of {symbol(function)}"

    def mapped(*arguments: Any, **keywords: Any) -> Any:
        axes = _axes(arguments, keywords, what)
        labels = leaf_names(function, arguments, keywords)
        leaves = [array_of(x, what) for x in tree.leaves((arguments, keywords))]
        extent: Any = size if size is None or isinstance(size, str) else whole(size, what, "size", 0)
        mapped_axes = zip(leaves, axes, labels, strict=True)
        places = [a if a is None else axis_of(a, x.ndim, f"{what}: {label}") for x, a, label in mapped_axes]
        extent = _common_extent(leaves, places, labels, extent, what)
        specs = [(_of_one(x, place), x.weak) for x, place in zip(leaves, places, strict=True)]
        staged = stage(function, arguments, keywords, specs=specs)
        operands = [*leaves, *staged.captures]
        given = outputs_of(staged, staged.outputs)
        outs = tree.broadcast_prefix(out_axes, given, "out_axes")
        options = VectorizeOptions((*places, *[None] * len(staged.captures)), tuple(outs), _plain(extent), randomness)
        try:
            made = vectorize(staged.module(), staged.name, options)
        except MindError as e:
            raise at_op(e) from None
        return outputs_of(staged, apply(made.function, operands))

    def _axes(arguments: tuple[Any, ...], keywords: dict[str, Any], what: str) -> list[Any]:
        given: Any = tuple(in_axes) if is_sequence(in_axes) else in_axes
        return [*tree.broadcast_prefix(given, arguments, "in_axes"), *[0] * len(tree.leaves(keywords))]

    return named(mapped, "vmap", function)


def _common_extent(leaves: Sequence[Array], places: Sequence[int | None], labels: Sequence[str], size: Any, what: str) -> Any:
    """Return the number of examples, which all mapped axes and `size` state alike; E3003 and E7001 where they do not, or none."""
    extent = size
    for x, place, label in zip(leaves, places, labels, strict=True):
        if place is None:
            continue
        n: Any = x.spec.shape[place]
        if extent is not None and n != extent:
            message = f"{what}: {label} has extent {n} along its mapped axis, others have {extent}"
            raise fault("E3003", message, dimension=label, extents=(n, extent))
        extent = n
    if extent is None:
        raise fault("E7001", f"{what}: no argument is mapped, so size= must say how many examples there are", option="size")
    return extent


def _of_one(x: Array, place: int | None) -> TensorSpec:
    """Return the spec of an argument for one example, without its mapped axis."""
    spec = x.spec
    return spec if place is None else TensorSpec(spec.dtype, (*spec.shape[:place], *spec.shape[place + 1 :]))


def _plain(extent: Any) -> Any:
    return str(extent) if isinstance(extent, str) else extent
