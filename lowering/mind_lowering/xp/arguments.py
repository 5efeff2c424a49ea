"""Keyword arguments of `xp.call`: Python values, the attributes that store them, the Python text they print as."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from keyword import iskeyword
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr, i1, i64
from xdsl.ir import Attribute

from mind_dialect.codecs import BOOLEAN, INTEGERS, is_array
from mind_dialect.errors import brief, error
from mind_dialect.extents import Extent
from mind_dialect.extents.dims import extent_of, names_in
from mind_dialect.extents.operations import Algebra, fold
from mind_dialect.extents.solutions import SIZE, Solution
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import CF64, DTYPE_OF_TYPE, F64, PtirDType, is_dim

ARRAY_NAMES: dict[str, str] = {
    "i1": "bool_",
    **{f"{sign}i{bits}": f"{'u' * (sign == 'u')}int{bits}" for sign in "su" for bits in (8, 16, 32, 64)},
    **{"f32": "float32", "f64": "float64", "cf32": "complex64", "cf64": "complex128"},
}
"""Names in the array namespace of the dtypes that it computes in itself."""


class Seed:
    """The seed of the run, which a call is given where random numbers are drawn."""


class Iterations:
    """The induction variables of the loops around a call, the outermost first."""


@dataclass(frozen=True)
class SizeArgument:
    """The size of a dimension that a call is given by itself, not in a list; a name or an expression."""

    dim: str


SEED, ITERATIONS = Seed(), Iterations()
_SIZE = "size"
_SEED_ATTRIBUTE, _ITERATIONS_ATTRIBUTE = SymbolRefAttr("seed"), SymbolRefAttr("iterations")

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def stored(value: Any) -> Attribute:
    """The attribute of a number, truth, word, dtype, literal, seed, iterations, or a sequence or map of them."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return BOOLEAN.attribute(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float | complex):
        return PtirLiteralAttr.from_values(F64 if isinstance(value, float) else CF64, (), (value,))
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, PtirDType):
        return value.type
    if isinstance(value, Seed):
        return _SEED_ATTRIBUTE
    if isinstance(value, Iterations):
        return _ITERATIONS_ATTRIBUTE
    if isinstance(value, SizeArgument):
        return SymbolRefAttr(_SIZE, [value.dim])
    if isinstance(value, Mapping):
        return DictionaryAttr({name: stored(v) for name, v in cast(Mapping[str, Any], value).items()})
    items = list(cast(Sequence[Any], value))
    if all(isinstance(v, int) and not isinstance(v, bool) for v in items):
        return INTEGERS.attribute(items)
    return ArrayAttr([stored(v) for v in items])


def argument(attribute: Attribute) -> Any:
    """The Python value of a stored argument; E4000 for an attribute of another kind. Literals stay literals."""
    if is_array(attribute):
        return INTEGERS.value(attribute)
    if isinstance(attribute, PtirLiteralAttr):
        return attribute
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, IntegerAttr):
        number = cast("IntegerAttr[Any]", attribute)
        return BOOLEAN.value(number) if number.type == i1 else number.value.data
    if (dtype := DTYPE_OF_TYPE.get(attribute)) is not None:
        return dtype
    if attribute == _SEED_ATTRIBUTE:
        return SEED
    if attribute == _ITERATIONS_ATTRIBUTE:
        return ITERATIONS
    if isinstance(attribute, SymbolRefAttr) and attribute.root_reference.data == _SIZE and len(attribute.nested_references) == 1:
        (nested,) = attribute.nested_references
        if is_dim(nested.data):
            return SizeArgument(nested.data)
    if isinstance(attribute, ArrayAttr):
        return tuple(argument(a) for a in cast("ArrayAttr[Attribute]", attribute).data)
    if isinstance(attribute, DictionaryAttr):
        return {name: argument(a) for name, a in attribute.data.items()}
    expected = "numbers, booleans, strings, an element type, a literal, or lists and maps of them"
    raise error("E4000", f"argument {brief(attribute)}, expected {expected}", given=brief(attribute), expected=expected)


def keywords(stored: Attribute | None) -> dict[str, Any]:
    """The keyword arguments of a call as Python values; E4000 for what no Python call can say."""
    if stored is None:
        return {}
    if not isinstance(stored, DictionaryAttr):
        given = str(stored)
        raise error("E4000", f"arguments {given}, expected a dictionary", given=given, expected="a dictionary")
    found: dict[str, Any] = {}
    for name, attribute in stored.data.items():
        if not plain_name(name) or iskeyword(name):
            expected = "a lower-case identifier"
            raise error("E4000", f"argument name {name!r}, expected {expected}", given=name, expected=expected)
        found[name] = argument(attribute)
    return found


def plain_name(name: str) -> bool:
    """Return whether a keyword argument may have this name."""
    return _NAME.fullmatch(name) is not None


def text(value: Any, iterations: Sequence[str] = (), sizes: Collection[str] | None = None) -> str:
    """
    A keyword argument as Python; a name in a list stands for the size of that dimension.

    `iterations` are the variables that count the iterations of the loops around it. E8001 for a name that is not one of `sizes`:
    it gets its size later, or had it in another region.
    """
    if isinstance(value, Iterations):
        return tuple_text(iterations)
    if isinstance(value, SizeArgument):
        if sizes is not None:
            check_known(value.dim, sizes)
        return dim_text(value.dim)
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        for v in items:
            if isinstance(v, str) and sizes is not None:
                check_known(v, sizes)
        return tuple_text([dim_text(v) if isinstance(v, str) else text(v) for v in items])
    return _plain(value)


def check_known(dim: str, sizes: Collection[str]) -> None:
    """E8001 for a name in a dimension that is not one of `sizes`: it gets its size later, or had it in another region."""
    for name in names_in(dim):
        if name not in sizes:
            message = f"the size of dimension {name} is not known here, expected that of an input or of an earlier value"
            raise error("E8001", f"{message}, in no other region", name=name, extents=())


def _plain(value: Any) -> str:
    """A value as Python, words quoted."""
    if isinstance(value, PtirDType):
        return dtype_text(value)
    if isinstance(value, PtirLiteralAttr):
        return number_text(value.item())
    if isinstance(value, Seed):
        return "seed"
    if isinstance(value, Iterations):
        raise error(
            "E4000", "iterations in a list or map, expected an argument of its own", given="iterations", expected="an argument"
        )
    if isinstance(value, tuple):
        return tuple_text([_plain(v) for v in cast("tuple[Any, ...]", value)])
    if isinstance(value, dict):
        return "{" + ", ".join(f"{n!a}: {_plain(v)}" for n, v in cast("dict[str, Any]", value).items()) + "}"
    return ascii(value)


def tuple_text(texts: Sequence[str]) -> str:
    """Texts as a Python tuple."""
    return "()" if not texts else f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def dim_name(name: str) -> str:
    """The local variable that holds the size of a named dimension."""
    return f"d_{name}"


def dim_text(dim: str) -> str:
    """
    The size of a dimension as Python.

    >>> dim_text("B"), dim_text("2*P+T-1"), dim_text("max(B,T)")
    ('d_B', '2 * d_P + d_T - 1', 'd_B + k.larger(d_T - d_B, 0)')
    """
    return python_text(dim, dim_name, "k.larger({}, {})")


def python_text(dim: str, name: Callable[[str], str], larger: str = "max({}, {})") -> str:
    """
    A dimension as Python, with other texts for names.

    >>> python_text("(B+1)*2*T", str.lower), python_text("(P+T) floordiv 4+1", str.lower), python_text("max(B,T)", str.lower)
    ('2 * b * t + 2 * t', '(p + t) // 4 + 1', 'b + max(t - b, 0)')
    """

    return expression_text(extent_of(dim), name, larger)


def expression_text(e: Extent, name: Callable[[str], str], larger: str = "max({}, {})") -> str:
    """As `python_text`, of an expression."""

    def operand(text: str) -> str:
        return text if text.isalnum() or text.isidentifier() else f"({text})"

    def times(a: str, b: str) -> str:
        return f"{a} * {operand(b)}"

    def quotient(a: str, b: str) -> str:
        return f"{operand(a)} // {operand(b)}"

    return fold(e, Algebra(str, name, "{} + {}".format, "{} - {}".format, times, quotient, larger.format))


def solution_text(found: Solution, n: str) -> str:
    """The size of a name that is solved for, as Python; `n` is the size of the dimension."""
    return expression_text(found.size, lambda name: n if name == SIZE else dim_name(name), "k.larger({}, {})")


def dtype_text(dtype: PtirDType) -> str:
    """A dtype as Python: the array namespace's own, or one that a kernel finds."""
    name = ARRAY_NAMES.get(dtype.name)
    return f"k.dtype({dtype.name!r})" if name is None else f"xp.{name}"


def number_text(value: Any) -> str:
    """
    A number as Python, without any name but `xp`.

    >>> number_text(-0.0), number_text(float("-inf")), number_text(complex(1, float("nan")))
    ('-0.0', '-xp.inf', 'k.complex(1.0, xp.nan)')
    """
    if isinstance(value, complex):
        return f"k.complex({number_text(value.real)}, {number_text(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return "xp.nan" if value != value else "xp.inf" if value > 0 else "-xp.inf"
    return repr(value)
