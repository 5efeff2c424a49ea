# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Operators, methods and conversions of arrays, from the functions of the namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arguments import checked
from .array import Array, check_device, wrap
from .dim import Dim
from .dtypes import kind_of
from .faults import fault
from .indexing import concrete_item, getitem
from .kinds import is_sequence
from .operands import is_number
from .rows import (
    contraction,
    creation,
    data_dependent,
    dtype_functions,
    elementwise,
    indexing,
    manipulation,
    mathematics,
    parts,
    reductions,
)
from .rows.numpy_mathematics import divmod_
from .table import TABLE
from .trace import TracedArray
from .updates import At, setitem

_BINARY: dict[str, Callable[[Any, Any], Array]] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "floordiv": mathematics.floor_divide,
    "mod": mathematics.remainder,
    "pow": mathematics.pow_,
    "matmul": contraction.matmul,
    "and": elementwise.bitwise_and,
    "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor,
    "lshift": elementwise.bitwise_left_shift,
    "rshift": elementwise.bitwise_right_shift,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Array]] = {
    "lt": elementwise.less,
    "le": elementwise.less_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
}
_UNARY: dict[str, Callable[[Any], Array]] = {
    "neg": elementwise.negative,
    "pos": parts.positive,
    "abs": parts.abs_,
    "invert": elementwise.bitwise_invert,
}
_ACCEPTED = (Array, Dim, np.ndarray, np.generic)


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any, /) -> Any:
        if type(other) is Array or is_number(other) or isinstance(other, _ACCEPTED):
            return function(self, other)
        return NotImplemented

    return operator


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any, /) -> Any:
        if is_number(other) or isinstance(other, _ACCEPTED):
            return function(other, self)
        return NotImplemented

    return operator


def _in_place(function: Callable[[Any, Any], Array], name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Array, other: Any, /) -> Any:
        if not (is_number(other) or isinstance(other, _ACCEPTED)):
            return NotImplemented
        found = function(self, other)
        if found.dtype != self.dtype or found.shape != self.shape:
            message = f"{name}: the result would be {found.dtype}{list(found.shape)}, the array is {self.dtype}{list(self.shape)}"
            raise fault("E1107", f"{message}; write x = x ... instead", dtypes=[str(self.dtype), str(found.dtype)])
        if type(self) is not Array or type(found) is not Array:
            return found
        self.ndarray, self.shared = found.ndarray, getattr(found, "shared", False)
        return self

    return operator


def _repr(self: Array) -> str:
    if type(self) is TracedArray:
        return f"<traced {self.dtype}[{', '.join(map(str, self.shape))}]>"
    array = self.ndarray
    text = np.array2string(array, separator=", ", prefix="Array(", threshold=100)
    return f"Array({text}, dtype={array.dtype})"


def _str(self: Array) -> str:
    return _repr(self) if type(self) is TracedArray else str(self.ndarray)


def _truth(self: Array) -> bool:
    array = self.concrete(
        "the truth value", "use ma.where(c, x, y) for elements, ma.cond(c, f, g) for branches, or a static argument"
    )
    if array.size != 1:
        message = f"the truth value of an array of shape {list(array.shape)} is ambiguous; use ma.any(x) or ma.all(x)"
        raise fault("E1110", message, argument="x", value=str(array.shape))
    return bool(array)


def _scalar(kind: type, kinds: str, advice: str) -> Callable[[Array], Any]:
    def convert(self: Array) -> Any:
        array = self.concrete(f"{kind.__name__}()", advice)
        if array.size != 1 or kind_of(array.dtype) not in kinds:
            message = f"{kind.__name__}() of {array.dtype}{list(array.shape)}, expected one element"
            raise fault("E2001", message, expected="one element", actual=f"{array.dtype}{list(array.shape)}")
        return kind(array.reshape(())[()])

    return convert


def _index(self: Array) -> int:
    array = self.concrete("an integer index", "use x.at, ma.take or ma.dynamic_slice, or make it a static argument")
    if array.ndim or array.dtype.kind not in "iu":
        message = f"an index is one integer, found {array.dtype}{list(array.shape)}"
        raise fault("E2001", message, expected="an integer", actual=f"{array.dtype}{list(array.shape)}")
    return int(array)


def _iter(self: Array) -> Any:
    if not self.shape:
        raise fault("E3002", "an array of rank 0 has nothing to iterate over", kind=_TypeError, expected="at least 1", actual=0)
    if isinstance(self.shape[0], str):
        advice = f"dimension {self.shape[0]!r} has no size while the function is traced; use ma.scan"
        raise fault("E1109", advice, name=str(self.shape[0]))
    return iter([self[i] for i in range(self.shape[0])])


_IN_PLACE_OF_NUMPY = (
    "call functions of mind_array, ma.asarray([...]) for a list of traced elements, ma.asarray(x)[i] for a traced index into an "
    "array of NumPy, or return the array"
)
"""The hint where NumPy would need the elements."""


def _array(self: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    array = self.concrete("a NumPy array", _IN_PLACE_OF_NUMPY)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            raise fault(
                "E2001", "copy=False, and this needs a copy", kind=_ValueError, expected=str(array.dtype), actual=str(dtype)
            )
        return array.astype(dtype)
    return array.copy() if copy else array


from .faults import ArrayTypeError as _TypeError  # noqa: E402
from .faults import ArrayValueError as _ValueError  # noqa: E402


def _dlpack(
    self: Array, /, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    array = self.concrete("DLPack", "call it outside of the traced function")
    if not array.flags.writeable and not copy and max_version is None:
        array = array.copy()
    return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _dlpack_device(self: Array, /) -> Any:
    return self.concrete("DLPack", "call it outside of the traced function").__dlpack_device__()


VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def _namespace(self: Array, /, *, api_version: str | None = None) -> Any:
    import mind_array

    if api_version is not None and api_version not in VERSIONS:
        message = f"api_version {api_version!r}, expected one of {list(VERSIONS)}"
        raise fault("E1110", message, argument="api_version", value=api_version)
    return mind_array


def _to_device(self: Array, device: Any, /, *, stream: Any = None) -> Array:
    check_device(device)
    if stream is not None:
        raise fault("E1110", f"to_device: stream {stream!r}, expected None", argument="stream", value=str(stream))
    return self


def _item(self: Array, *index: Any) -> Any:
    array = self.concrete("item()", "return the array, and call item on the result")
    if index:
        given = index[0] if len(index) == 1 and is_sequence(index[0]) else index
        array = concrete_item(self if len(given) > 1 else manipulation.ravel(self), tuple(given)).ndarray
    if array.size != 1:
        raise fault("E1110", f"item() of shape {list(array.shape)}, expected one element", argument="x", value=str(array.shape))
    return array.item()


def _format(self: Array, spec: str) -> str:
    if type(self) is TracedArray:
        return format(_repr(self), "") if not spec else str(self.concrete(f"a number in the format {spec!r}", _ON_RESULT))
    return format(self.ndarray[()] if not self.ndim else str(self.ndarray), spec)


_ON_RESULT = "return the array, and format the result"


def _rounded(self: Array, digits: int | None = None) -> Any:
    array = self.concrete("round()", "use ma.round(x)")
    if array.size != 1:
        raise fault("E1110", f"round() of shape {list(array.shape)}; use ma.round(x)", argument="x", value=str(array.shape))
    return round(array.item(), digits)


def _reduce(self: Array) -> Any:
    """An array that is pickled or copied: its elements, in memory of their own."""
    array = self.concrete("pickle", "return the array, and pickle the result")
    return _restored, (np.array(array),)


def _restored(array: Any) -> Array:
    return wrap(array)


def _copied(self: Array, memo: Any = None) -> Array:
    return self if type(self) is TracedArray else wrap(self.ndarray.copy())


def _tolist(self: Array) -> Any:
    return self.concrete("tolist()", "return the array, and call tolist on the result").tolist()


def _reduction(reduce: Any) -> Any:
    function = checked(reduce)

    def method(self: Array, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Array:
        if axis is None and keepdims is False and not options:
            return reduce(self)  # no argument to check
        return function(self, axis=axis, keepdims=keepdims, **options)

    method.__doc__ = function.__doc__
    return method


def _cumulative(function: Any) -> Any:
    def method(self: Array, axis: int | None = None, *, dtype: Any = None) -> Array:
        array = manipulation.reshape(self, (-1,)) if axis is None else self
        return function(array, axis=0 if axis is None else axis, dtype=dtype)

    return method


def _reshape(self: Array, *shape: Any) -> Array:
    return manipulation.reshape(self, shape[0] if len(shape) == 1 and is_sequence(shape[0]) else shape)


def _transpose(self: Array, *axes: Any) -> Array:
    given = axes[0] if len(axes) == 1 and is_sequence(axes[0]) else axes
    return manipulation.permute_dims(self, given or None)


def _T(self: Array) -> Array:
    if self.ndim != 2:
        message = f"x.T of rank {self.ndim}, expected a matrix; write x.mT, or ma.permute_dims(x, axes)"
        raise fault("E3002", message, expected=2, actual=self.ndim)
    return manipulation.matrix_transpose(self)


def _copy(self: Array) -> Array:
    return creation.asarray(self, copy=True)


def _nonzero(self: Array) -> Any:
    return data_dependent.nonzero(self)


_METHODS: dict[str, Any] = {
    "astype": lambda self, dtype, /, *, copy=True: dtype_functions.astype(self, dtype, copy=copy),
    "clip": lambda self, min=None, max=None: mathematics.clip(self, min, max),
    "conj": parts.conj,
    "copy": _copy,
    "cumsum": _cumulative(reductions.cumulative_sum),
    "cumprod": _cumulative(reductions.cumulative_prod),
    "dot": lambda self, other: contraction.matmul(self, other),
    "flatten": manipulation.ravel,
    "item": _item,
    "nonzero": _nonzero,
    "ravel": manipulation.ravel,
    "repeat": lambda self, repeats, axis=None: indexing.repeat(self, repeats, axis=axis),
    "reshape": _reshape,
    "round": parts.round_,
    "squeeze": lambda self, axis=None: manipulation.squeeze(self, axis),
    "swapaxes": manipulation.swapaxes,
    "take": lambda self, indices, axis=None: _take(self, indices, axis),
    "to_device": _to_device,
    "tolist": _tolist,
    "transpose": _transpose,
    "sort": lambda self, axis=-1: reductions.sort(self, axis=axis),
    "argsort": lambda self, axis=-1: reductions.argsort(self, axis=axis),
    "searchsorted": lambda self, v, side="left", sorter=None: reductions.searchsorted(self, _plain(v), side=side, sorter=sorter),
}


_REDUCTIONS: dict[str, Any] = {
    **{n: _reduction(getattr(reductions, f"{n}_")) for n in ("sum", "max", "min", "all", "any")},
    **{n: _reduction(getattr(reductions, n)) for n in ("prod", "mean", "var", "std", "argmax", "argmin")},
}
"""Methods whose function checks the arguments."""


def _plain(x: Any) -> Any:
    """An argument of a method of NumPy's: lists are arrays there."""
    return creation.asarray(x) if is_sequence(x) else x


def _take(self: Array, indices: Any, axis: Any) -> Array:
    array, place = manipulation.along(self, axis, "take")
    return indexing.take(array, _plain(indices), axis=place)


def _contains(self: Array, value: Any) -> bool:
    return bool(reductions.any_(elementwise.equal(self, value)))


def _missing(self: Array, name: str) -> Any:
    """Raise the error for an attribute that arrays lack; memory that was never said to be shared is not."""
    if name == "shared":
        return False
    advice = f"; write ma.{name}(x)" if name in TABLE else _ADVICE.get(name, "")
    raise AttributeError(f"an array has no attribute {name!r}{advice}", name=name, obj=self)


_VALUES = "; arrays are values, so write"
_ADVICE = {
    "fill": f"{_VALUES} ma.full_like(x, value)",
    "put": f"{_VALUES} x.at[indices].set(values)",
    "partition": f"{_VALUES} ma.sort(x)",
    "resize": f"{_VALUES} ma.reshape(x, shape)",
    "flat": "; write ma.ravel(x)",
    "compress": "; write x[condition]",
    **dict.fromkeys(("view", "strides", "base", "flags", "data", "tobytes", "ctypes"), "; write np.asarray(x) for the memory"),
}
"""Advice about attributes of NumPy's arrays that arrays lack, by name."""


def attach() -> None:
    """Give `Array` its operators and methods."""
    members: dict[str, Any] = {}
    for name, function in _BINARY.items():
        members[f"__{name}__"] = _operator(function)
        members[f"__r{name}__"] = _reflected(function)
        members[f"__i{name}__"] = _in_place(function, f"{name} in place")
    members |= {f"__{name}__": _operator(function) for name, function in _COMPARISONS.items()}
    members |= {f"__{name}__": (lambda self, function=function: function(self)) for name, function in _UNARY.items()}
    members |= {
        **{"__divmod__": _operator(divmod_), "__rdivmod__": _reflected(divmod_)},
        **{"__getitem__": getitem, "__setitem__": setitem, "__repr__": _repr, "__str__": _str, "__bool__": _truth},
        "__int__": _scalar(int, "biuf", "use ma.astype(x, ma.int64), or make it a static argument"),
        "__float__": _scalar(float, "biuf", "use ma.astype(x, ma.float64), or make it a static argument"),
        "__complex__": _scalar(complex, "biufc", "use ma.astype(x, ma.complex128), or make it a static argument"),
        **{"__index__": _index, "__iter__": _iter, "__array__": _array, "__array_namespace__": _namespace, "__hash__": None},
        **{"__contains__": _contains, "__getattr__": _missing},
        **{"__format__": _format, "__round__": _rounded, "__reduce__": _reduce},
        **{"__copy__": _copied, "__deepcopy__": _copied},
        **{"__dlpack__": _dlpack, "__dlpack_device__": _dlpack_device, "__array_priority__": 1000},
        "T": property(_T, doc="The matrix with rows and columns exchanged."),
        "mT": property(lambda self: manipulation.matrix_transpose(self), doc="The last two axes exchanged."),
        "at": property(At, doc="Updates of elements that return a new array: `x.at[k].set(v)`."),
        "real": property(lambda self: parts.real(self), doc="The real part."),
        "imag": property(lambda self: parts.imag(self), doc="The imaginary part."),
        **{name: checked(method, name) for name, method in _METHODS.items()},
        **_REDUCTIONS,
    }
    for name, member in members.items():
        setattr(Array, name, member)


attach()
