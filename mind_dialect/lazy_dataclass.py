"""
Data classes whose methods are generated when they are needed, so that the import of a module does not wait for them.

    @dataclass(frozen=True)
    class Place: ...

means the same as with the decorator of the standard library, which takes about 0.3 ms for a class: as long as all else of a
small module, and most programs have instances of few classes. The methods are there from the first instance on, or from the first
look at the fields, as by `dataclasses.fields` or for a subclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_FIELDS = "__dataclass_fields__"
"""The attribute of a data class that holds its fields: a mapping or, before it has methods, a descriptor."""
_OWN = frozenset(("__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"))
"""Methods that are generated unless a class has its own: then by the standard library, which knows what else that means."""
_lock = RLock()


@overload
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(*, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(cls: Any = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
    """Return a class with the methods that `dataclasses.dataclass` generates, which it does when they are needed."""

    def deferred(cls: Any) -> Any:
        if "__init__" in cls.__dict__:
            return dataclasses.dataclass(frozen=frozen, eq=eq)(cls)
        pending = _Pending(cls, frozen, eq)

        def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
            pending.complete()
            cls.__init__(self, *args, **kwargs)

        setattr(cls, _FIELDS, pending)
        cls.__init__ = __init__
        return cls

    return deferred if cls is None else deferred(cls)


class _Pending:
    """The fields of a class whose methods are not generated yet."""

    def __init__(self, cls: type, frozen: bool, eq: bool):
        self._class, self._frozen, self._eq = cls, frozen, eq

    def __get__(self, instance: object, owner: type) -> Mapping[str, Field[Any]]:
        self.complete()
        return self._class.__dict__[_FIELDS]

    def complete(self) -> None:
        """
        Generate the methods, unless they are there.

        `__init__` comes last, in place of the one that waits for the others: another thread may make an instance meanwhile.
        """
        cls = self._class
        with _lock:
            if cls.__dict__[_FIELDS] is self:
                if _OWN.isdisjoint(cls.__dict__) and not any(hasattr(base, _FIELDS) for base in cls.__bases__):
                    _generate(cls, frozen=self._frozen, eq=self._eq)
                else:
                    dataclasses.dataclass(init=False, frozen=self._frozen, eq=self._eq)(cls)
                cls.__init__ = _initializer(cls, frozen=self._frozen)


def _generate(cls: Any, *, frozen: bool, eq: bool) -> None:
    """
    Add the methods of a data class but `__init__` to a class without bases that are some.

    They do what those of the standard library do, which compiles the text of each: four fifths of its time.
    """
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    every = dataclasses.fields(cls)
    options = cls.__dataclass_params__
    options.frozen, options.eq, options.repr = frozen, eq, True
    cls.__repr__ = _shown
    if eq:
        _compare(cls, every, frozen=frozen)
    if frozen:
        _freeze(cls, frozenset(f.name for f in every))


@recursive_repr()
def _shown(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _compare(cls: Any, every: Sequence[Field[Any]], *, frozen: bool) -> None:
    """Add comparisons by fields, and hashes if instances do not change."""
    compared = _getter([f.name for f in every if f.compare])
    hashed = _getter([f.name for f in every if (f.compare if f.hash is None else f.hash)])

    def __eq__(self: Any, other: Any) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    cls.__eq__, cls.__hash__ = __eq__, __hash__ if frozen else None


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns attributes in a tuple, which compares an object with itself by identity."""
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple([getattr(self, name) for name in names])


def _freeze(cls: Any, names: Collection[str]) -> None:
    """Let fields be neither assigned nor deleted; plain subclasses may have more attributes."""
    inherited_set, inherited_delete = cls.__setattr__, cls.__delattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        inherited_set(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        inherited_delete(self, name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


def _initializer(cls: type, *, frozen: bool) -> Any:
    """Return the `__init__` of a data class, which assigns its fields and calls `__post_init__`."""
    scope: dict[str, Any] = {"_missing": MISSING, "_assign": object.__setattr__, "__name__": cls.__module__}
    parameters, lines = ["self"], list[str]()
    for f in sorted(dataclasses.fields(cls), key=lambda f: bool(f.kw_only)):
        value = f.name
        if f.default_factory is not MISSING:
            scope[f"_new_{f.name}"] = f.default_factory
            value = f"_new_{f.name}() if {f.name} is _missing else {f.name}" if f.init else f"_new_{f.name}()"
        if f.init:
            parameters += ["*"] if f.kw_only and "*" not in parameters else []
            parameters.append(_parameter(f, scope))
        if f.init or f.default_factory is not MISSING:
            lines.append(f"_assign(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n    " + "\n    ".join(lines or ["pass"]), scope)
    made = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(f: Field[Any], scope: dict[str, Any]) -> str:
    """Return the parameter of a field, with its default."""
    if f.default is not MISSING:
        scope[f"_default_{f.name}"] = f.default
        return f"{f.name}=_default_{f.name}"
    return f.name if f.default_factory is MISSING else f"{f.name}=_missing"
