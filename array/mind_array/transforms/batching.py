"""`vmap`: a function of one example as a function of a batch of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mind_dialect.errors import MindError
from mind_dialect.ptir.types import TensorSpec
from mind_passes.vectorize import VectorizeOptions, vectorize

from .. import tree
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
        specs, places = list[tuple[TensorSpec, bool]](), list[int | None]()
        for x, axis, label in zip(leaves, axes, labels, strict=True):
            spec = x.spec
            if axis is None:
                specs.append((spec, x.weak))
                places.append(None)
                continue
            place = axis_of(axis, x.ndim, f"{what}: {label}")
            n: Any = spec.shape[place]
            if extent is not None and n != extent:
                message = f"{what}: {label} has extent {n} along its mapped axis, others have {extent}"
                raise fault("E3003", message, dimension=label, extents=(n, extent))
            extent = n
            specs.append((TensorSpec(spec.dtype, (*spec.shape[:place], *spec.shape[place + 1 :])), x.weak))
            places.append(place)
        if extent is None:
            raise fault("E7001", f"{what}: no argument is mapped, so size= must say how many examples there are", option="size")
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


def _plain(extent: Any) -> Any:
    return str(extent) if isinstance(extent, str) else extent
