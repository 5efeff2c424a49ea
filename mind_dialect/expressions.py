"""
Expressions: tensors to be, from which `build` makes programs.

An expression is an op class, operands, properties and the type that the op's own rules infer; no op of the IR exists yet. What
Python would decide by an expression's value, its truth or its equality with another, is an error: there is no value before a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from xdsl.ir import Attribute

from .array_like import ArrayLike
from .core import AddOp, ConstantOp, CoreOp, DivOp, MatMulOp, MulOp, NegOp, SliceOp, SubOp
from .core.elementwise import no_division
from .errors import MindError, brief, error
from .literals import LiteralAttr
from .profiles import Profile
from .types import DType, Shape, read_type


class Expression(ArrayLike):
    """
    A tensor to be: immutable, typed, free of IR. `None` for the op class means a variable, which has a name.

    `profile` is the lowest profile that has everything used so far, or the one that its variables state; then `stated` is true.
    """

    __slots__ = ("name", "op", "operands", "profile", "properties", "stated", "type")
    __array_ufunc__ = None
    """Keeps NumPy arrays from taking an expression for a scalar."""

    def __init__(
        self,
        op: type[CoreOp] | None,
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
        return apply(AddOp, self, other)

    def __radd__(self, other: Operand) -> Expression:
        return apply(AddOp, other, self)

    def __sub__(self, other: Operand) -> Expression:
        return apply(SubOp, self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return apply(SubOp, other, self)

    def __mul__(self, other: Operand) -> Expression:
        return apply(MulOp, self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return apply(MulOp, other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return apply(DivOp, self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return apply(DivOp, other, self)

    def __matmul__(self, other: Operand) -> Expression:
        return apply(MatMulOp, self, other)

    def __rmatmul__(self, other: Operand) -> Expression:
        return apply(MatMulOp, other, self)

    def __neg__(self) -> Expression:
        return apply(NegOp, self)

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


def apply(cls: type[CoreOp], *operands: Operand, **properties: Any) -> Expression:
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


def _readings(cls: type[CoreOp], profile: Profile, stated: bool) -> list[Profile]:
    """
    The profiles under which an op may be read, in the order in which they are tried.

    What variables state holds. Unless stated, a slice is read under core-v1: that core-v1.1 clamps a negative bound to 0 is not
    what somebody means who counts from the end.
    """
    if stated:
        return [profile]
    known = list(Profile)
    return known[:1] if cls is SliceOp else known[known.index(profile) :]


def _infer(
    cls: type[CoreOp], values: Sequence[Expression], stored: Mapping[str, Attribute], profiles: Sequence[Profile]
) -> tuple[Attribute, Profile]:
    """The result type under the first profile that accepts the op; the error of the last one if none does."""
    failure: MindError | None = None
    for profile in profiles:
        try:
            if cls is DivOp and profile is Profile.CORE_V1:
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
            found.append(apply(ConstantOp, value=LiteralAttr.from_values(typed.dtype, (), [v])))
    return tuple(found)
