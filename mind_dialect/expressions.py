"""
Expressions: tensors to be, from which `build` makes programs.

An expression is an op class, operands, properties and the type that the op's own rules infer; no op of the IR exists yet. What
Python would decide by an expression's value, its truth or its equality with another, is an error: there is no value before a run.
Operators and methods are those of NumPy's arrays that Core IR has ops for: `x ** 2`, `x[0, 1:]`, `x.T`, `x.sum(axis=1)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from xdsl.ir import Attribute

from . import core
from .core.elementwise import no_division
from .errors import MindError, brief, error
from .indices import Axis, axes_of, index_entries
from .literals import LiteralAttr
from .profiles import Profile
from .types import DType, Shape, read_type

MOST_POWERS = 64
"""The greatest exponent that becomes products."""


class Expression:
    """
    A tensor to be: immutable, typed, free of IR. `None` for the op class means a variable, which has a name.

    `profile` is the lowest profile that has everything used so far, or the one that its variables state; then `stated` is true.
    """

    __slots__ = ("name", "op", "operands", "profile", "properties", "stated", "type")
    __array_ufunc__ = None
    """Keeps NumPy arrays from taking an expression for a scalar."""

    def __init__(
        self,
        op: type[core.CoreOp] | None,
        operands: tuple[Expression, ...],
        properties: Mapping[str, Attribute],
        type: Attribute,
        profile: Profile,
        name: str = "",
        stated: bool = False,
    ):
        self.op, self.operands, self.properties = op, operands, properties
        self.type, self.profile, self.name, self.stated = type, profile, name, stated

    @property
    def dtype(self) -> DType:
        """The dtype of the tensor."""
        return read_type(self.type)[0]

    @property
    def shape(self) -> Shape:
        """The shape of the tensor."""
        return read_type(self.type)[1]

    def __repr__(self) -> str:
        what = f"variable {self.name!r}" if self.op is None else self.op.OPCODE
        return f"<{what}: {self.dtype}{list(self.shape)}>"

    def __add__(self, other: Operand) -> Expression:
        return apply(core.AddOp, self, other)

    def __radd__(self, other: Operand) -> Expression:
        return apply(core.AddOp, other, self)

    def __sub__(self, other: Operand) -> Expression:
        return apply(core.SubOp, self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return apply(core.SubOp, other, self)

    def __mul__(self, other: Operand) -> Expression:
        return apply(core.MulOp, self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return apply(core.MulOp, other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return apply(core.DivOp, self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return apply(core.DivOp, other, self)

    def __matmul__(self, other: Operand) -> Expression:
        return apply(core.MatMulOp, self, other)

    def __rmatmul__(self, other: Operand) -> Expression:
        return apply(core.MatMulOp, other, self)

    def __neg__(self) -> Expression:
        return apply(core.NegOp, self)

    def __pow__(self, exponent: int) -> Expression:
        """Return the product of so many, by squaring; a negative exponent divides 1 by it. E4000 for what is no integer."""
        x = self
        if not isinstance(exponent, int) or isinstance(exponent, bool) or not 0 < abs(exponent) <= MOST_POWERS:  # pyright: ignore
            given = brief(repr(exponent))
            expected = (
                f"an integer from 1 to {MOST_POWERS}, or from -{MOST_POWERS} to -1; exp(y * log(x)) is x ** y of positive x"
            )
            raise error("E4000", f"x ** {given}: Core IR has no power op; expected {expected}", given=given, expected=expected)
        found: Expression | None = None
        n = abs(exponent)
        while n:
            if n & 1:
                found = x if found is None else apply(core.MulOp, found, x)
            n >>= 1
            x = apply(core.MulOp, x, x) if n else x
        assert found is not None
        return found if exponent > 0 else apply(core.DivOp, 1, found)

    def __getitem__(self, key: Any) -> Expression:
        """Return an element, or a window: integers, slices of positive steps, `...`. E4012 for an index out of range."""
        entries = index_entries(key, self.shape)
        places = [k for k in entries if isinstance(k, int)]
        if places and len(places) == len(entries):
            return apply(core.IndexOp, self, indices=places)
        windows = [(k, k + 1, 1) if isinstance(k, int) else k for k in entries]
        x = self
        if any(window != (0, n, 1) for window, n in zip(windows, x.shape, strict=True)):
            starts, ends, steps = (list(part) for part in zip(*windows, strict=True))
            x = apply(core.SliceOp, x, starts=starts, ends=ends, steps=steps)
        return apply(core.SqueezeOp, x, axes=[i for i, k in enumerate(entries) if isinstance(k, int)]) if places else x

    def __iter__(self) -> Iterator[Expression]:
        """Return the slices along the first axis, one after the other; E3002 for rank 0."""
        if not self.shape:
            raise error("E3002", f"{self!r} has rank 0, expected an axis to iterate over", expected="at least 1", actual=0)
        return iter([self[i] for i in range(self.shape[0])])

    @property
    def T(self) -> Expression:
        """The axes in reverse order."""
        return self.transpose()

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the sum over the axes, over all for None."""
        return apply(core.SumOp, self, axes=axes_of(len(self.shape), axis), keepdims=keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Expression:
        """Return the mean over the axes, over all for None."""
        return apply(core.MeanOp, self, axes=axes_of(len(self.shape), axis), keepdims=keepdims)

    def reshape(self, *shape: Any) -> Expression:
        """Return the same elements under another shape, of which one extent may be -1: `x.reshape(3, -1)`."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return apply(core.ReshapeOp, self, new_shape=given)

    def transpose(self, *axes: Any) -> Expression:
        """Return the axes in another order, in reverse without any."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return apply(core.TransposeOp, self, permutation=tuple(given) or tuple(reversed(range(len(self.shape)))))

    def squeeze(self, axis: Axis = None) -> Expression:
        """Return the expression without axes of extent 1: those given, or all."""
        found = tuple(i for i, n in enumerate(self.shape) if n == 1) if axis is None else axes_of(len(self.shape), axis)
        return apply(core.SqueezeOp, self, axes=found)

    def __bool__(self) -> NoReturn:
        """Raise E2001: an expression has no value to be true or false."""
        hint = "choose between programs by an ordinary Python value, or run the program and look at its result"
        message = f"{self!r} is neither true nor false before the program runs; {hint}"
        raise error("E2001", message, expected="bool", actual="Expression")

    def __eq__(self, other: object) -> NoReturn:
        """Raise E4000, as each comparison does."""
        hint = "compare Python objects with `is`, and values by running the program"
        message = f"Core IR has no op that compares {self!r} with {brief(repr(other))}; {hint}"
        raise error("E4000", message, given="a comparison", expected="an op of Core IR")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = object.__hash__
    """Of the object; no two live ones share it, so that a dict never compares two."""


Operand = Expression | int | float
"""An expression, or a number: a rank-0 constant of the other operand's dtype."""


def apply(cls: type[core.CoreOp], *operands: Operand, **properties: Any) -> Expression:
    """Return the expression of an op; whatever its rules object to is raised here."""
    try:
        values = _expressions(operands)
        profile, stated = common_profile(values)
        stored = {k: cls.CODECS[k].attribute(v) for k, v in properties.items()}
        cls.check_arity(len(values), 1)
        type, read = _infer(cls, values, stored, _readings(cls, profile, stated))
    except MindError as e:
        raise MindError(e.code, f"{cls.OPCODE}: {e.message}", {"op": cls.OPCODE, **e.context}) from None
    return Expression(cls, values, stored, type, max(profile, read, key=list(Profile).index), stated=stated)


def common_profile(values: Sequence[Expression]) -> tuple[Profile, bool]:
    """
    Return the profile of expressions that use `values`, and whether variables state it: the highest stated, else used.

    Raises E6003 for a value that uses what the stated profile lacks.
    """
    order = list(Profile).index
    stated = [v.profile for v in values if v.stated]
    profile = max(stated or (v.profile for v in values), default=Profile.CORE_V1, key=order)
    newer = next((v for v in values if order(v.profile) > order(profile)), None)
    if newer is not None:
        hint = f"state profile={str(newer.profile)!r}, or none"
        message = f"{newer!r} uses what {newer.profile} has and {profile}, stated by another variable, lacks; {hint}"
        raise error("E6003", message, backend=str(profile))
    return profile, bool(stated)


def _readings(cls: type[core.CoreOp], profile: Profile, stated: bool) -> list[Profile]:
    """
    The profiles under which an op may be read, in the order in which they are tried.

    What variables state holds. Unless stated, a slice is read under core-v1: that core-v1.1 clamps a negative bound to 0 is not
    what somebody means who counts from the end.
    """
    if stated:
        return [profile]
    known = list(Profile)
    return known[:1] if cls is core.SliceOp else known[known.index(profile) :]


def _infer(
    cls: type[core.CoreOp], values: Sequence[Expression], stored: Mapping[str, Attribute], profiles: Sequence[Profile]
) -> tuple[Attribute, Profile]:
    """The result type under the first profile that accepts the op; the error of the last one if none does."""
    failure: MindError | None = None
    for profile in profiles:
        try:
            if cls is core.DivOp and profile is Profile.CORE_V1:
                raise no_division("state profile='core-v1.1' for its variables, or no profile")
            return cls.infer([v.type for v in values], cls.read_properties(stored), profile), profile
        except MindError as e:
            failure = e
    assert failure is not None
    raise failure


def _expressions(operands: Sequence[Operand]) -> tuple[Expression, ...]:
    """Operands with numbers made constants; E2001 for anything else, E2003 for numbers alone."""
    typed = next((v for v in operands if isinstance(v, Expression)), None)
    found: list[Expression] = []
    for v in operands:
        if isinstance(v, Expression):
            found.append(v)
        elif not isinstance(v, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
            actual = type(v).__name__
            raise error(
                "E2001",
                f"operand {brief(v)} is a {actual}, expected an expression or a number; write literal(array, dtype)",
                expected="expression",
                actual=actual,
            )
        elif typed is None:
            raise error("E2003", f"no operand gives {v} a dtype; write literal({v}, dtype)", name=str(v))
        else:
            found.append(apply(core.ConstantOp, value=LiteralAttr.from_values(typed.dtype, (), [v])))
    return tuple(found)
