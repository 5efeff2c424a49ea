"""
Dimensions that have names and no sizes while a function is traced, and arithmetic on them.

Values are expressions of the engine of `mind_dialect.extents`, so they stand wherever a dimension may. Python asks some questions
that need an answer at once: a comparison, a number, a truth. They are answered where all sizes of the names, 0 among them, agree,
and refused otherwise.
"""

from __future__ import annotations

from typing import Any, NoReturn

from mind_dialect.errors import MindError
from mind_dialect.extents import dims

from .faults import fault


class Dim(str):
    """
    A dimension that has a name and no size yet: the extent of an axis whose size each call gives, or an expression of such.

    It stands in shapes of `zeros`, `arange`, `reshape` and `broadcast_to`, and bounds slices. `+`, `-`, `*`, `//` and `%` with
    whole numbers and other dimensions give expressions such as `P+T`; `Dim.max` and `Dim.min` do, of numbers too. `==` asks for
    equal expressions; `<` and other comparisons are E1109 if they depend on sizes.

    >>> t = Dim("T")
    >>> t * 2 + 1, (t * 4) // 2, 4 - t % 2, t - t, Dim.max(t, 4), Dim.max(2, 4)
    ('2*T+1', '2*T', '-(T mod 2)+4', 0, 'max(4,T)', 4)
    >>> t + 1 > t, t < 0
    (True, False)
    """

    __slots__ = ()

    @staticmethod
    def max(a: int | Dim, b: int | Dim) -> Any:
        """Return the greater of two sizes, each a number or a dimension."""
        return _sized("max", dims.max_dims, a, b)

    @staticmethod
    def min(a: int | Dim, b: int | Dim) -> Any:
        """Return the lesser of two sizes, each a number or a dimension."""
        return _sized("min", dims.min_dims, a, b)

    def __add__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _sized("+", dims.add_dims, self, other)

    def __radd__(self, other: Any) -> Any:
        return _sized("+", dims.add_dims, other, self)

    def __sub__(self, other: Any) -> Any:
        return _sized("-", dims.sub_dims, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _sized("-", dims.sub_dims, other, self)

    def __mul__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _sized("*", dims.mul_dims, self, other)

    def __rmul__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _sized("*", dims.mul_dims, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _sized("//", _quotient, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _sized("//", _quotient, other, self)

    def __mod__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _sized("%", _remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _sized("%", _remainder, other, self)

    def __neg__(self) -> Any:
        return _sized("-", dims.sub_dims, 0, self)

    def __pos__(self) -> Dim:
        return self

    def __lt__(self, other: Any) -> bool:
        return _decided(self, "<", other)

    def __le__(self, other: Any) -> bool:
        return _decided(self, "<=", other)

    def __gt__(self, other: Any) -> bool:
        return _decided(self, ">", other)

    def __ge__(self, other: Any) -> bool:
        return _decided(self, ">=", other)

    def __bool__(self) -> bool:
        return _decided(self, "!=", 0)

    def _fraction(self, other: Any) -> Any:
        return NotImplemented if hasattr(other, "shape") else self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        message = f"dimension {str(self)!r} has no size while the function is traced; pass sizes that Python needs as static"
        raise fault("E1109", f"{message} arguments, or leave the dimension out of sizes=", name=str(self))

    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _fraction
    __divmod__ = __rdivmod__ = __int__ = __index__ = __float__ = _refuse


def _sized(operation: str, of: Any, a: Any, b: Any) -> Any:
    """A number, or the dimension that two sizes give; NotImplemented of others, E1109 for what no expression holds."""
    if (m := _size(a)) is None or (n := _size(b)) is None:
        return NotImplemented
    found = of(m, n) if dims.UNKNOWN not in (m, n) else dims.UNKNOWN
    if found == dims.UNKNOWN:
        raise _no_expression(operation, a, b)
    return Dim(found) if isinstance(found, str) else found


def _no_expression(operation: str, a: Any, b: Any) -> MindError:
    shown = f"{operation}({a}, {b})" if operation.isalpha() else f"{a} {operation} {b}"
    message = f"{shown}: expected sizes with names, quotients by numbers that are not 0, and an expression within the limits"
    return fault("E1109", message, name=str(a if isinstance(a, str) else b))


def _size(value: Any) -> int | str | None:
    """A size as expressions have it; None for what is no whole number and no dimension."""
    if isinstance(value, Dim):
        return str(value)
    if isinstance(value, str) or not hasattr(value, "__index__") or hasattr(value, "shape"):
        return None
    return int(value.__index__())


def _quotient(a: int | str, b: int | str) -> int | str:
    """The quotient rounded down; unknown of a divisor with names, which may be 0."""
    return dims.UNKNOWN if isinstance(b, str) else dims.floordiv_dims(a, b)


def _remainder(a: int | str, b: int | str) -> int | str:
    return dims.sub_dims(a, dims.mul_dims(_quotient(a, b), b))


def _decided(a: Dim, relation: str, b: Any) -> Any:
    """The answer to a comparison that all sizes share; E1109 if it depends on them."""
    n = _size(b)
    if n is None:
        if isinstance(b, str):  # which Python would compare as text
            raise fault("E2001", f"{a!r} {relation} {b!r}, expected a size", expected="a size", actual=type(b).__name__)
        return NotImplemented
    found = dims.are_related(str(a), relation, n)
    if found is None:
        message = f"{a} {relation} {b}: that depends on sizes, which the function has none of while it is traced"
        raise fault("E1109", f"{message}; use Dim.max or Dim.min, or pass the size as a static argument", name=str(a))
    return found
