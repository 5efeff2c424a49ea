"""
`jit`: a function traced once per signature, compiled, and called.

A call goes through three tiers: generated code for the structure of the last call, whose program checks dtypes and shapes; a
table from signatures to programs; tracing and compilation. A signature is the containers, the dtype and dimensions of each leaf,
and the values of static arguments.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UnitAttr

from mind_dialect.errors import MindError, brief
from mind_dialect.ptir.types import TensorSpec, is_dim_name

from .. import tree
from ..array import Array, wrap
from ..checks import check_function, checked_names
from ..dtypes import DEFAULTS, in_native_order
from ..faults import fault
from ..kinds import is_dict, is_sequence, is_tuple
from ..places import function_place
from ..signature import MISSES, caller
from ..staging import Function, Spec, at_op, leaf_names, leaf_spec, stage, symbol
from ..trace import ACTIVE
from .donation import give_away
from .lowered import Lowered, Passes

MOST_SIGNATURES = 128
"""So many compiled signatures of a function are kept, the last ones used."""
WARN_RETRACES = 8

_tracing: ContextVar[tuple[Any, ...]] = ContextVar("mind_array_jit", default=())
"""Signatures of jitted functions that are being traced."""


@dataclass
class _Entry:
    """A signature: what was made of it, and how it is called."""

    lowered: Lowered
    structure: Any
    """The container of the result."""
    count: int
    """Number of leaves of the result."""
    hidden: list[Array]
    """Arrays that the function uses other than its arguments."""
    donated: list[int]
    """Leaves of the arguments whose memory a call takes over."""

    @cached_property
    def program(self) -> Any:
        """The compiled program; for a function without results, which no target compiles, one that gives none."""
        return self.lowered.compile() if self.count else _nothing


class Jitted:
    """A function that compiles itself for each signature it is called with; `lower` shows the stages of one."""

    def __init__(
        self,
        function: Function,
        target: str,
        donate: Collection[str],
        static: Collection[str],
        sizes: Mapping[str, Any],
        passes: Passes,
        options: Mapping[str, Any],
    ):
        self.__wrapped__ = function
        self.__name__ = symbol(function)
        self.__doc__ = function.__doc__
        self.target, self.passes, self.options = target, passes, dict(options)
        self.donate, self.static, self.sizes = tuple(donate), tuple(static), dict(sizes)
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._call: Callable[..., Any] | None = None
        self._lock = threading.RLock()
        self._retraces = 0
        self._parameters = _parameters(function, (*self.donate, *self.static, *self.sizes))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function; the errors are those of tracing, compilation and the run."""
        call = self._call
        if call is not None:
            try:
                return call(args, kwargs)
            except MISSES:
                pass
            except MindError as e:
                if e.code not in ("E2001", "E2007") or e.op is not None:
                    raise at_op(e) from None
        return self._slowly(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return partial(self.__call__, instance)

    def _slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key, leaves, static = self._key(args, kwargs)
        if ACTIVE.get() is not None:
            with self._entered(key):
                return self.__wrapped__(*args, **kwargs)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._trace(key, args, kwargs, static)
            else:
                self._entries.move_to_end(key)
        arrays = [*(to_numpy(x) for x in leaves), *(x.ndarray for x in entry.hidden)]
        if entry.donated:
            arrays = give_away(entry.donated, leaves, arrays)
        try:
            found = entry.program(*arrays)
        except MindError as e:
            raise at_op(e) from None
        made = tree.unflatten(entry.structure, as_arrays(found))
        with self._lock:
            self._call = caller(entry.program, args, kwargs, static, entry.hidden, made, entry.count, entry.donated)
        return made

    # Signatures

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[int | str, Any]]:
        """The arguments with None in the place of static ones, and these; E1105 for one that cannot be hashed."""
        static: dict[int | str, Any] = {}
        if not self.static:
            return args, kwargs, static
        given, named = list(args), dict(kwargs)
        for name in self.static:
            place: int | str
            if name in named:
                place, value = name, named.pop(name)
            elif name in self._parameters and self._parameters.index(name) < len(given):
                place = self._parameters.index(name)
                value, given[place] = given[place], None
            else:
                continue
            try:
                hash(value)
            except TypeError:
                actual = type(value).__name__
                message = f"static argument {name} of {self.__name__} is a {actual}, expected a hashable value"
                raise fault("E1105", message, path=name, actual=actual) from None
            static[place] = value
        return tuple(given), named, static

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any], dict[int | str, Any]]:
        given, named, static = self._split(args, kwargs)
        leaves, structure = tree.flatten((given, named))
        specs = self._specs(given, named, leaves)
        values: tuple[Any, ...] = tuple([(place, type(value), value) for place, value in static.items()])
        return (structure, tuple(specs), values), leaves, static

    def _specs(self, given: tuple[Any, ...], named: dict[str, Any], leaves: Sequence[Any]) -> list[tuple[TensorSpec, bool]]:
        """The types of the leaves, with the names of dimensions that `sizes` gives."""
        labels: list[str] | None = None
        specs: list[tuple[TensorSpec, bool]] = []
        for i, leaf in enumerate(leaves):
            if type(leaf) is Array:
                specs.append((leaf.spec, False))
                continue
            labels = labels or leaf_names(self.__wrapped__, given, named)
            specs.append(leaf_spec(leaf, labels[i]))
        if self.sizes:
            labels = leaf_names(self.__wrapped__, given, named)
            specs = [(self._with_names(spec, label), weak) for (spec, weak), label in zip(specs, labels, strict=True)]
        return specs

    def _with_names(self, spec: TensorSpec, label: str) -> TensorSpec:
        """A type with the names that `sizes` states for the leaf or for its parameter."""
        dims = self.sizes.get(label, self.sizes.get(label.partition("[")[0]))
        if dims is None:
            return spec
        if len(dims) != len(spec.shape):
            message = f"sizes of {label}: {tuple(dims)} for an array of rank {len(spec.shape)}"
            raise fault("E3002", message, expected=len(dims), actual=len(spec.shape))
        shape: list[Any] = []
        for i, (name, n) in enumerate(zip(dims, spec.shape, strict=True)):
            if isinstance(name, str) and not is_dim_name(name):
                raise fault("E7001", f"sizes of {label}: {name!r} is not a name of a dimension", option="sizes")
            if isinstance(name, int) and n != name:
                message = f"{label} has extent {n} at axis {i}, sizes= states {name}"
                raise fault("E3003", message, dimension=i, extents=(n, name))
            shape.append(f"{symbol_of(label)}_{i}" if name is None else name)
        return TensorSpec(spec.dtype, tuple(shape))

    # Tracing

    def _trace(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], static: Mapping[int | str, Any]) -> _Entry:
        self._warn_retraces(key)
        with self._entered(key):
            entry = self._lowered(args, kwargs, key[1], static)
        _ = entry.program  # what cannot be compiled is not kept
        self._entries[key] = entry
        if len(self._entries) > MOST_SIGNATURES:
            self._entries.popitem(last=False)
        return entry

    @contextmanager
    def _entered(self, key: Any) -> Generator[None]:
        """Note that a signature is being traced; E1106 for one that is so already: the function calls itself without an end."""
        if (id(self), key) in _tracing.get():
            where = function_place(self.__wrapped__)
            issue = f"{self.__name__} ({where}) calls itself with the signature that it is being traced for"
            raise fault("E1106", f"{issue}; use ma.while_loop or ma.scan, or a static argument that changes", issue=issue)
        token = _tracing.set((*_tracing.get(), (id(self), key)))
        try:
            yield
        finally:
            _tracing.reset(token)

    def _lowered(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        specs: Sequence[tuple[TensorSpec, bool]],
        static: Mapping[int | str, Any],
    ) -> _Entry:
        given, named, _ = self._split(args, kwargs)
        function = _bound_static(self.__wrapped__, static) if static else self.__wrapped__
        staged = stage(function, given, named, name=self.__name__, specs=specs)
        hidden = staged.captures
        labels = leaf_names(self.__wrapped__, given, named)
        donated = [i for i, label in enumerate(labels) if label.partition("[")[0] in self.donate]
        names = _unique([*labels, *(f"captured_{i}" for i in range(len(hidden)))])
        staged.names = names[: len(labels)]
        attributes: list[dict[str, Any]] = [
            {"ptir.parameter": UnitAttr()} if label.partition("[")[0] in ("params", "weights") else {} for label in labels
        ]
        module = staged.module(attributes if "split" in self.options else ())
        options = {**self.options, "donate": [names[i] for i in donated]}
        structure = tree.structure((given, named))
        lowered = Lowered(module, self.__name__, self.passes, self.target, options, (structure, staged.structure))
        return _Entry(lowered, staged.structure, len(staged.outputs), hidden, donated)

    def _warn_retraces(self, key: Any) -> None:
        self._retraces += bool(self._entries)
        if self._retraces == WARN_RETRACES:
            last = next(reversed(self._entries))
            parts = ("containers", "dtypes or shapes", "static arguments")
            differs = [what for what, a, b in zip(parts, last, key, strict=True) if a != b]
            message = f"{self.__name__} was traced {WARN_RETRACES + 1} times; last for other {' and '.join(differs)}"
            warnings.warn(f"{message}. sizes= gives a name to a dimension that varies", UserWarning, stacklevel=4)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the stages of this function for arguments, or specs of them, without running it."""
        key, _, static = self._key(args, kwargs)
        return self._lowered(args, kwargs, key[1], static).lowered

    def clear(self) -> None:
        """Forget every compiled signature."""
        with self._lock:
            self._entries.clear()
            self._call = None
            self._retraces = 0

    def __repr__(self) -> str:
        return f"<jit {self.__name__} for {self.target}, {len(self._entries)} signatures>"


def _nothing(*arrays: Any) -> tuple[()]:
    return ()


def _parameters(function: Function, names: Collection[str]) -> list[str]:
    """The positional parameters of a function; E7003 for an option that names none of its parameters."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    known = [p.name for p in parameters]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for name in names:
            if name.partition("[")[0] not in known:
                raise fault(
                    "E7003",
                    f"jit: {name!r} is not a parameter of {symbol(function)}, expected one of {known}",
                    name=name,
                    known=known,
                )
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _bound_static(function: Function, static: Mapping[int | str, Any]) -> Function:
    """The function with the values of static arguments put back."""

    def bound(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for place, value in static.items():
            if isinstance(place, int):
                given[place] = value
            else:
                kwargs[place] = value
        return function(*given, **kwargs)

    bound.__name__ = symbol(function)
    bound.__wrapped__ = function  # pyright: ignore
    return bound


def _unique(names: Sequence[str]) -> list[str]:
    taken: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        found.append(name if taken[name] == 1 else f"{name}_{taken[name]}")
    return found


def symbol_of(label: str) -> str:
    """A word for a path."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in label).strip("_") or "dim"


def to_numpy(x: Any) -> Any:
    """Return a leaf of the arguments as the NumPy array that a program takes."""
    if isinstance(x, Array):
        return x.concrete("a call of a compiled function", "call it outside")
    if type(x) in DEFAULTS:
        return np.asarray(x, DEFAULTS[type(x)])
    if isinstance(x, Spec):
        raise fault("E1105", "a call needs arrays, found a spec; lower() takes specs", path="argument", actual="Spec")
    return in_native_order(np.asarray(x))


def as_arrays(found: Any) -> list[Array]:
    """Return the results of a program: one array, or a tuple of them."""
    return [wrap(x) for x in (found if is_tuple(found) else (found,))]


def jit(
    function: Function | None = None,
    *,
    target: str = "numpy",
    donate: str | Collection[str] = (),
    static: str | Collection[str] = (),
    sizes: Mapping[str, Any] | None = None,
    passes: Passes = None,
    threads: int | None = None,
    memory_limit: int | None = None,
) -> Any:
    """
    Return a function that is traced and compiled for each signature it is called with; also a decorator, with or without options.

    `target` is `numpy`, `native` or `cupy`. `donate` names parameters whose arrays the call may overwrite and uses up. `static`
    names parameters that are Python values, part of the signature. `sizes` gives dimensions names, by parameter, so that one
    compilation serves every size: `{"x": ("B", 784)}`, None for an extent of its own. `passes` replaces the optimiser: names of
    passes, or passes. `threads` and `memory_limit` are those of `mind_runtime.compile`.
    """
    if function is None:
        options: dict[str, Any] = {"target": target, "donate": donate, "static": static, "sizes": sizes, "passes": passes}
        return partial(jit, **options, threads=threads, memory_limit=memory_limit)
    check_function(function, "jit")
    donated, fixed = checked_names(donate, "jit", "donate"), checked_names(static, "jit", "static")
    limits = {"threads": threads, "memory_limit": memory_limit}
    return Jitted(function, target, donated, fixed, _checked_sizes(sizes), passes, limits)


def _checked_sizes(given: object) -> dict[str, tuple[Any, ...]]:
    """The dimensions by parameter; E7001 unless they are a dict from names to tuples of names, integers and None."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, dims in given.items() if is_dict(given) else () if given is None else [(given, None)]:
        if not (isinstance(name, str) and is_sequence(dims) and all(d is None or isinstance(d, str | int) for d in dims)):
            message = f"jit: sizes={brief(given)}, expected dimensions by parameter, as in sizes={{'x': ('B', 784)}}"
            raise fault("E7001", message, option="sizes")
        found[name] = tuple(dims)
    return found
