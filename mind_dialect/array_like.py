"""
Operators and methods that expressions share with NumPy's arrays: `x ** 2`, `x[0, 1:]`, `x.T`, `x.sum(axis=1)`, in ops of Core IR.

Axes may be negative: the rank is known, so they are counted from the front before the op is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from .core import DivOp, IndexOp, MeanOp, MulOp, ReshapeOp, SliceOp, SqueezeOp, SumOp, TransposeOp
from .errors import brief, error

if TYPE_CHECKING:
    from .expressions import Expression

Axis = int | Sequence[int] | None
MOST_POWERS = 64
"""The greatest exponent that becomes products."""


class ArrayLike:
    """The operators, properties and methods that `Expression` gets from NumPy."""

    __slots__ = ()

    def __pow__(self, exponent: int) -> Expression:
        """Return the product of so many, by squaring; a negative exponent divides 1 by it. E4000 for what is no integer."""
        x = _expression(self)
        if not isinstance(exponent, int) or isinstance(exponent, bool) or not 0 < abs(exponent) <= MOST_POWERS:  # pyright: ignore
            given = brief(repr(exponent))
            expected = (
                f"an integer from 1 to {MOST_POWERS}, or from -{MOST_POWERS} to -1; exp(y * log(x)) is x ** y of positive x"
            )
            raise error("E4000", f"x ** {given}: Core IR has no power op; expected {expected}", given=given, expected=expected)
        from .expressions import apply

        found: Expression | None = None
        n = abs(exponent)
        while n:
            if n & 1:
                found = x if found is None else apply(MulOp, found, x)
            n >>= 1
            x = apply(MulOp, x, x) if n else x
        assert found is not None
        return found if exponent > 0 else apply(DivOp, 1, found)

    def __getitem__(self, key: Any) -> Expression:
        """Return an element, or a window: integers, slices of positive steps, `...`. E4012 for an index out of range."""
        keys: Any = (key,)
        if isinstance(key, tuple):
            keys = key  # pyright: ignore[reportUnknownVariableType]
        return _indexed(_expression(self), keys)

    def __iter__(self) -> Iterator[Expression]:
        """Return the slices along the first axis, one after the other; E3002 for rank 0."""
        x = _expression(self)
        if not x.shape:
            raise error("E3002", f"{x!r} has rank 0, expected an axis to iterate over", expected="at least 1", actual=0)
        return iter([self[i] for i in range(x.shape[0])])

    @property
    def T(self) -> Expression:
        """The axes in reverse order."""
        return _expression(self).transpose()

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the sum over the axes, over all for None."""
        from .expressions import apply

        x = _expression(self)
        return apply(SumOp, x, axes=axes_of(x, axis), keepdims=keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the mean over the axes, over all for None."""
        from .expressions import apply

        x = _expression(self)
        return apply(MeanOp, x, axes=axes_of(x, axis), keepdims=keepdims)

    def reshape(self, *shape: Any) -> Expression:
        """Return the same elements under another shape, of which one extent may be -1: `x.reshape(3, -1)`."""
        from .expressions import apply

        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return apply(ReshapeOp, _expression(self), new_shape=given)

    def transpose(self, *axes: Any) -> Expression:
        """Return the axes in another order, in reverse without any."""
        from .expressions import apply

        x = _expression(self)
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return apply(TransposeOp, x, permutation=tuple(given) or tuple(reversed(range(len(x.shape)))))

    def squeeze(self, axis: Axis = None) -> Expression:
        """Return the expression without axes of extent 1: those given, or all."""
        from .expressions import apply

        x = _expression(self)
        found = tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axes_of(x, axis)
        return apply(SqueezeOp, x, axes=found)


def _expression(x: ArrayLike) -> Expression:
    from .expressions import Expression

    assert isinstance(x, Expression)
    return x


def axes_of(x: Expression, axis: Axis) -> tuple[int, ...]:
    """
    Return axes counted from the front; none stands for all. E3004 for one that is out of range.

    >>> from .build import variable
    >>> axes_of(variable("x", "f32", (2, 3)), -1), axes_of(variable("x", "f32", (2, 3)), None)
    ((1,), ())
    """
    if axis is None:
        return ()
    rank = len(x.shape)
    found: list[int] = []
    for a in (axis,) if isinstance(axis, int) else tuple(axis):
        if not isinstance(a, int) or isinstance(a, bool) or not -rank <= a < rank:  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"axis {brief(repr(a))} is out of range for rank {rank}, expected {-rank} to {rank - 1}"
            raise error("E3004", message, axis=a, rank=rank)
        found.append(a % rank)
    if not found:
        raise error("E3004", "axis is empty, expected an axis, several, or None for all", axis=(), rank=rank)
    return tuple(found)


def _indexed(x: Expression, key: tuple[Any, ...]) -> Expression:
    from .expressions import apply

    entries = _entries(x, key)
    if entries and all(isinstance(k, int) for k in entries):
        return apply(IndexOp, x, indices=[_place(x, i, k) for i, k in enumerate(entries)])
    windows: list[tuple[int, int, int]] = []
    for i, (k, n) in enumerate(zip(entries, x.shape, strict=True)):
        if isinstance(k, int):
            place = _place(x, i, k)
            windows.append((place, place + 1, 1))
            continue
        start, stop, step = k.indices(n)
        if step < 1:
            raise error("E4008", f"step {step} at axis {i}, expected positive", dimension=i, step=step)
        windows.append((start, max(start, stop), step))
    if any((start, stop, step) != (0, n, 1) for (start, stop, step), n in zip(windows, x.shape, strict=True)):
        starts, ends, steps = (list(part) for part in zip(*windows, strict=True))
        x = apply(SliceOp, x, starts=starts, ends=ends, steps=steps)
    dropped = [i for i, k in enumerate(entries) if isinstance(k, int)]
    return apply(SqueezeOp, x, axes=dropped) if dropped else x


def _entries(x: Expression, key: tuple[Any, ...]) -> list[Any]:
    """An integer or a slice for each axis."""
    entries: list[Any] = []
    for k in key:
        if not isinstance(k, int | slice | EllipsisType) or isinstance(k, bool):
            given = brief(repr(k))
            expected = "integers, slices and ...; gather takes rows by an integer tensor"
            raise error("E4000", f"index {given}: expected {expected}", given=given, expected=expected)
        entries.append(k)
    gaps = entries.count(Ellipsis)
    used = len(entries) - gaps
    if gaps > 1 or used > len(x.shape):
        message = f"{used} indices for rank {len(x.shape)}" if gaps < 2 else "`...` is given twice"
        raise error("E4006", f"index: {message}", rank=len(x.shape), length=used)
    if not gaps:
        entries.append(Ellipsis)
    place = entries.index(Ellipsis)
    entries[place : place + 1] = [slice(None)] * (len(x.shape) - used)
    return entries


def _place(x: Expression, axis: int, index: int) -> int:
    n = x.shape[axis]
    if not -n <= index < n:
        message = f"index {index} at axis {axis} of extent {n}, expected {-n} to {n - 1}"
        raise error("E4012", message, dimension=axis, bounds=(index, index + 1), extent=n)
    return index % n
